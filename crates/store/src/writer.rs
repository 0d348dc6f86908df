//! One thread that writes for all others: changes that arrive while the disk is busy go into one transaction, for a disk confirms only a
//! few hundred writes a second.

use std::sync::mpsc;
use std::thread;
use std::thread::JoinHandle;

use crate::base::Applied;
use crate::base::Base;
use crate::base::Change;
use crate::fault::Fault;

/// Changes that wait at most; then who brings more must wait.
const WAITING_MAX: usize = 1024;
/// Changes that are written together at most.
const TOGETHER_MAX: usize = 10_000;

/// Answers to whoever brought changes: whether they lie on the disk.
type Answer = mpsc::SyncSender<Result<Applied, String>>;

struct Job {
    changes: Vec<Change>,
    now: u32,
    answer: Answer,
}

/// A base that is written by a thread of its own.
#[derive(Debug)]
pub struct Writer {
    jobs: Option<mpsc::SyncSender<Job>>,
    thread: Option<JoinHandle<Base>>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} changes", self.changes.len())
    }
}

impl Writer {
    /// Starts the thread. `by` is written down as who made the changes.
    pub fn start(mut base: Base, by: &str) -> std::io::Result<Writer> {
        let (jobs, arrived) = mpsc::sync_channel::<Job>(WAITING_MAX);
        let by = by.to_owned();
        let thread = thread::Builder::new()
            .name("knowledge base".to_owned())
            .spawn(move || {
                while let Ok(first) = arrived.recv() {
                    let mut together = vec![first];
                    let mut many = together[0].changes.len();
                    while many < TOGETHER_MAX
                        && let Ok(next) = arrived.try_recv()
                    {
                        many += next.changes.len();
                        together.push(next);
                    }
                    write(&mut base, &by, together);
                }
                base
            })?;
        Ok(Writer {
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    /// Brings changes. The answer comes once they lie on the disk, or are refused.
    pub fn submit(
        &self,
        changes: Vec<Change>,
        now: u32,
    ) -> mpsc::Receiver<Result<Applied, String>> {
        let (answer, receiver) = mpsc::sync_channel(1);
        let job = Job {
            changes,
            now,
            answer,
        };
        // A thread that has ended answers nothing, and its channel says so to who waits.
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(job);
        }
        receiver
    }

    /// Writes what is waiting, and gives the base back.
    pub fn finish(mut self) -> Option<Base> {
        self.jobs = None;
        self.thread.take()?.join().ok()
    }
}

fn write(base: &mut Base, by: &str, jobs: Vec<Job>) {
    let now = jobs.iter().map(|job| job.now).max().unwrap_or(0);
    let (changes, answers): (Vec<Vec<Change>>, Vec<Answer>) = jobs
        .into_iter()
        .map(|job| (job.changes, job.answer))
        .unzip();
    let applied = base.apply(&changes.concat(), by, now);
    let result = applied.map_err(|fault: Fault| fault.to_string());
    for answer in answers {
        // Who no longer waits does not want to know.
        let _ = answer.send(result.clone());
    }
}
