//! A limit of time that is moved with every request. Its timer is not: one that rings too early is wound up again, and that happens once
//! in many requests.

use std::future::Future;
use std::pin::Pin;
use std::task::Context;
use std::task::Poll;
use std::task::ready;
use std::time::Instant;

use tokio::time::Sleep;

/// A limit of time.
#[derive(Debug)]
pub(crate) struct Deadline {
    at: tokio::time::Instant,
    timer: Pin<Box<Sleep>>,
}

impl Deadline {
    pub(crate) fn new(at: Instant) -> Deadline {
        let at = tokio::time::Instant::from_std(at);
        Deadline {
            at,
            timer: Box::pin(tokio::time::sleep_until(at)),
        }
    }

    /// Moves it.
    pub(crate) fn set(&mut self, at: Instant) {
        self.at = tokio::time::Instant::from_std(at);
        if self.timer.deadline() > self.at || self.timer.is_elapsed() {
            self.timer.as_mut().reset(self.at);
        }
    }

    /// Ready once it is past.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.timer.as_mut().poll(context));
            if tokio::time::Instant::now() >= self.at {
                return Poll::Ready(());
            }
            self.timer.as_mut().reset(self.at);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use super::*;

    #[test]
    fn it_is_past_when_it_is_and_never_before() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let begun = Instant::now();
            let after = |ms| begun + Duration::from_millis(ms);
            let mut deadline = Deadline::new(after(20));
            // Later, earlier, and once more after it was past.
            for ms in [60, 90, 75, 100, 110] {
                deadline.set(after(ms));
                if ms != 60 && ms != 90 {
                    poll_fn(|context| deadline.poll(context)).await;
                    assert!(Instant::now() >= after(ms));
                }
            }
            assert!(begun.elapsed() < Duration::from_secs(5));
        });
    }
}
