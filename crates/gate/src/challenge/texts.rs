//! What the pages say, one file for each language. A text that is missing in one of them does not compile.

mod cs;
mod de;
mod en;
mod es;
mod fr;
mod it;
mod ja;
mod nl;
mod pl;
mod pt;
mod ru;
mod zh;

use super::language::Language;

/// All texts of one language. `{n}` stands for a number of seconds.
pub(super) struct Texts {
    pub(super) challenge_title: &'static str,
    /// Why the page appears.
    pub(super) challenge_why: &'static str,
    /// That nothing is to be done; not shown without JavaScript.
    pub(super) challenge_calm: &'static str,
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
    /// The same where the owner said so, and not the traffic.
    pub(super) rule_why: &'static str,
    pub(super) rule_cure: &'static str,
    /// The button that leads to a harder challenge.
    pub(super) block_back: &'static str,
    pub(super) throttle_title: &'static str,
    pub(super) throttle_why: &'static str,
    pub(super) throttle_cure: &'static str,
    pub(super) upstream_title: &'static str,
    pub(super) upstream_unreachable: &'static str,
    pub(super) upstream_late: &'static str,
    pub(super) upstream_cure: &'static str,
    pub(super) question_title: &'static str,
    /// Why a question is asked. The page before it speaks of a calculation.
    pub(super) question_why: &'static str,
    pub(super) question_hint: &'static str,
    /// Why a signed-in person is asked.
    pub(super) suspect_why: &'static str,
    /// How long there is to answer.
    pub(super) suspect_hint: &'static str,
    pub(super) question_send: &'static str,
    pub(super) question_wrong: &'static str,
    pub(super) question_early: &'static str,
    /// The last question expired.
    pub(super) question_new: &'static str,
    pub(super) question_other: &'static str,
    /// Where the calculation failed.
    pub(super) question_instead: &'static str,
    pub(super) cookies_title: &'static str,
    /// What to do for those who do not want cookies.
    pub(super) cookies_cure: &'static str,
    /// The link of a trap, for those whose browser shows it all the same.
    pub(super) trap_link: &'static str,
    pub(super) trap_title: &'static str,
    /// What the page behind it is, and what follows from going on.
    pub(super) trap_why: &'static str,
    /// Leads to the site's first page.
    pub(super) trap_back: &'static str,
    pub(super) ask: Ask,
}

/// What questions are made of. All answers are numbers, and the same in all languages.
pub(super) struct Ask {
    /// The names of 0 to 20.
    pub(super) numbers: [&'static str; 21],
    /// Between the words of a list.
    pub(super) comma: &'static str,
    /// `{a}` and `{b}` stand for numbers.
    pub(super) plus: &'static str,
    pub(super) minus: &'static str,
    /// `{list}` stands for numbers.
    pub(super) largest: &'static str,
    /// Animals, fruits, clothes.
    pub(super) groups: [Group; 3],
}

/// Words that everybody would put together, and that are not in the other groups.
pub(super) struct Group {
    pub(super) words: [&'static str; 6],
    /// Asks for the number before the word of this group; `{list}` stands for words with numbers.
    pub(super) place: &'static str,
    /// Asks how many words are of this group.
    pub(super) count: &'static str,
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
            Language::Czech => &cs::TEXTS,
            Language::Russian => &ru::TEXTS,
            Language::Japanese => &ja::TEXTS,
            Language::Chinese => &zh::TEXTS,
        }
    }
}
