//! The checks that hostile cases are held against, each of which can be switched off in test builds.
//!
//! A test of a defence counts only if the same attack succeeds without it. A release build has no such switch.

/// One check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defence {
    /// Only what the gate signed is read from a challenge.
    Signature,
    /// A challenge from before this process began is void.
    Start,
    /// A challenge is good for some minutes.
    Expiry,
    /// The answer comes from the browser that was asked.
    Asker,
    /// The answer comes with the same agent, on the same site.
    Visitor,
    /// All of the work was done.
    Difficulty,
    /// A challenge is answered once.
    SingleUse,
    /// A clearance is signed for this agent and site, and for this network where the owner wants that.
    Clearance,
    /// A clearance ends.
    ClearanceExpiry,
    /// Nobody is led to another site.
    ReturnTo,
    /// At most eight cookies of one name are looked at.
    CookiesTried,
    /// Cookies have the names and attributes that protect them.
    CookieAttributes,
    /// Challenges that nobody answers leave nothing behind.
    Stateless,
    /// An answer is judged without doing its work again.
    CheapAnswers,
    /// The answer to a question counts after a wait.
    Wait,
    /// Work does not make a suspect a normal user again.
    PersonalAnswer,
}

/// Which checks are on: all of them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Guards {
    #[cfg(any(test, debug_assertions))]
    off: Option<Defence>,
}

impl Guards {
    #[cfg(any(test, debug_assertions))]
    pub(super) fn without(defence: Defence) -> Guards {
        Guards { off: Some(defence) }
    }

    #[cfg(any(test, debug_assertions))]
    pub(super) fn has(self, defence: Defence) -> bool {
        self.off != Some(defence)
    }

    #[cfg(not(any(test, debug_assertions)))]
    pub(super) fn has(self, _: Defence) -> bool {
        true
    }
}
