//! What the pages say, one file for each language. A text that is missing in one of them does not compile.

mod de;
mod en;
mod es;
mod fr;
mod it;
mod nl;
mod pl;
mod pt;

use super::language::Language;

/// All texts of one language. `{n}` stands for a number of seconds.
pub(super) struct Texts {
    pub(super) challenge_title: &'static str,
    /// Why the page appears.
    pub(super) challenge_why: &'static str,
    pub(super) working: &'static str,
    pub(super) left: &'static str,
    pub(super) done: &'static str,
    pub(super) progress: &'static str,
    /// The first attempt was refused.
    pub(super) repeated: &'static str,
    pub(super) no_cookies: &'static str,
    pub(super) failed: &'static str,
    pub(super) again: &'static str,
    pub(super) noscript: &'static str,
    /// Before the operator's contact.
    pub(super) contact: &'static str,
    /// Where the operator named none.
    pub(super) no_contact: &'static str,
    pub(super) incident: &'static str,
    pub(super) block_title: &'static str,
    pub(super) block_why: &'static str,
    /// What to do about it.
    pub(super) block_cure: &'static str,
    pub(super) throttle_title: &'static str,
    pub(super) throttle_why: &'static str,
    pub(super) throttle_cure: &'static str,
    pub(super) upstream_title: &'static str,
    pub(super) upstream_unreachable: &'static str,
    pub(super) upstream_late: &'static str,
    pub(super) upstream_cure: &'static str,
}

impl Texts {
    pub(super) fn of(language: Language) -> &'static Texts {
        match language {
            Language::English => &en::TEXTS,
            Language::German => &de::TEXTS,
            Language::French => &fr::TEXTS,
            Language::Spanish => &es::TEXTS,
            Language::Italian => &it::TEXTS,
            Language::Dutch => &nl::TEXTS,
            Language::Polish => &pl::TEXTS,
            Language::Portuguese => &pt::TEXTS,
        }
    }
}
