//! Verdicts on sources of whose single request no rule says anything: most sources are such, and equal requests have equal verdicts.

use crate::profile::OnlyRequest;
use crate::table::Window;
use crate::verdict::Verdict;

/// Verdicts that are remembered; a later one takes the place of an earlier one.
const PLACES: usize = 256;

/// What was judged lately without any evidence. As shipped, no rule finds anything in a single request for its time, its size, its page or
/// its address alone; in debug builds every remembered verdict is checked.
#[derive(Debug)]
pub(super) struct Silence(Vec<Option<(Window, OnlyRequest, Verdict)>>);

impl Default for Silence {
    fn default() -> Silence {
        Silence(vec![None; PLACES])
    }
}

impl Silence {
    /// The verdict on a source that belongs to no campaign: remembered, or from `judge`.
    pub(super) fn verdict(
        &mut self,
        window: Window,
        request: OnlyRequest,
        judge: impl Fn() -> Verdict,
    ) -> Verdict {
        let place = &mut self.0[request.hash() as usize % PLACES];
        if let Some((known_window, known, verdict)) = place
            && (*known_window, *known) == (window, request)
        {
            debug_assert_eq!(*verdict, judge(), "{request:?}");
            return verdict.clone();
        }
        let verdict = judge();
        if verdict.evidence.is_empty() {
            *place = Some((window, request, verdict.clone()));
        }
        verdict
    }
}
