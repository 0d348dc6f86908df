//! What a gate did to one visitor, page by page.

use super::Answered;
use crate::policy::Decision;
use crate::policy::Reason;

/// What a gate did to one visitor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Treated {
    /// Page requests.
    pub pages: u32,
    /// Pages that it got.
    pub passed: u32,
    /// Challenges that it solved.
    pub solved: u32,
    /// Why it met its first challenge; nothing where it met none.
    pub challenged: Option<Reason>,
    /// Pages that it got before the first one that it did not get; nothing where it got all.
    pub leaked: Option<u32>,
    /// It was refused at least once.
    pub is_refused: bool,
}

impl Treated {
    /// Adds a page request.
    pub fn note(&mut self, answered: &Answered) {
        let before = self.passed;
        self.pages = self.pages.saturating_add(1);
        self.passed = self.passed.saturating_add(u32::from(answered.has_passed));
        self.solved = self.solved.saturating_add(u32::from(answered.has_solved));
        if !answered.has_passed {
            self.leaked.get_or_insert(before);
        }
        match answered.decided.decision {
            Decision::Challenge => {
                self.challenged.get_or_insert(answered.decided.reason);
            }
            Decision::Block => self.is_refused = true,
            Decision::Pass | Decision::Throttle => {}
        }
    }
}
