//! Signed-in people: their own pace and their own pages of a day, from wherever they come.
//!
//! What counts is the person, not the address: all devices of one person share a budget, and so does a fleet that shares an account. Requests
//! that must wait take nothing out of it, so that the time they are told is the time after which they pass.

use super::Asked;
use super::DAY;
use super::Decided;
use super::Decision;
use super::Policy;
use super::Reason;
use super::Tally;
use super::rates::Draw;
use super::rates::Pace;
use crate::paths::UserStanding;
use crate::profile::Content;
use crate::request::Source;

/// Sign-ins of one source that the site may refuse at once, and the time in which one of them is forgotten: a household with old cookies
/// stays below it, and a flood of made-up ones costs the site an occasional request.
const REFUSED: Pace = Pace {
    each_ms: 2000,
    room_ms: 60_000,
};

/// New sessions of one person that are taken for good at once, and the time in which there is room for another. Without it, one account could
/// push the sessions of all others out of their table, by spelling one cookie in ever new ways.
const NEW_SESSIONS: Pace = Pace {
    each_ms: 2000,
    room_ms: 60_000,
};

/// Forged tokens of one source that are checked: a check of a signature takes as long as ten requests.
const FORGED: Pace = Pace {
    each_ms: 10,
    room_ms: 2000,
};

/// Answers of one suspect to questions that are looked at, right or wrong: nobody gets through by trying all numbers at once.
const ANSWERS: Pace = Pace {
    each_ms: 10_000,
    room_ms: 30_000,
};

/// What a person may have.
struct Share {
    /// Pages in a day.
    pages: u32,
    pace: Pace,
    /// Why more must wait.
    reason: Reason,
}

impl Policy {
    /// A person who is signed in.
    pub(super) fn signed_in(&self, user: u64, asked: &Asked) -> Decided {
        let limits = &self.limits;
        let share = match asked.standing {
            UserStanding::Suspect(_) if asked.content != Content::Part => {
                return Decided::by(Decision::Challenge, Reason::SuspectUser);
            }
            UserStanding::Throttled(_) => Share {
                pages: limits.throttled_user_pages,
                pace: limits.throttled_pace(),
                reason: Reason::ThrottledUser,
            },
            UserStanding::Normal | UserStanding::Suspect(_) => Share {
                pages: limits.user_pages,
                pace: limits.user_pace(),
                reason: Reason::SignedInTooFast,
            },
        };
        self.within(user, asked, &share)
    }

    /// A person who passes within a share.
    fn within(&self, user: u64, asked: &Asked, share: &Share) -> Decided {
        let time = asked.time;
        let must_wait = |seconds: u32, pages: u32| Decided {
            pages,
            retry_after: seconds.max(1),
            ..Decided::by(Decision::Throttle, share.reason)
        };
        let pages = self.counters.look(Tally::user(user), time);
        let passed = |pages: u32| Decided {
            pages,
            ..Decided::by(Decision::Pass, Reason::SignedIn)
        };
        let spare = match asked.content {
            Content::Page | Content::Document => 1,
            // They belong to pages that were counted before.
            Content::Part => 0,
        };
        if pages + spare > share.pages {
            return must_wait(self.seconds_until_page(user, time, share.pages), pages);
        }
        if asked.content == Content::Part {
            return passed(pages);
        }
        let draw = |draw: Draw| self.draw(user, time, share.pace, draw);
        if let Err(seconds) = draw(Draw::Look) {
            return must_wait(seconds, pages);
        }
        let new = self.weigh_for_user(user, asked);
        if new == 0 {
            return passed(pages);
        }
        // Of two threads with the last page of a burst only one passes.
        match draw(Draw::Take) {
            Err(seconds) => must_wait(seconds, pages),
            Ok(()) => passed(self.counters.count(Tally::user(user), time, new)),
        }
    }

    fn draw(&self, user: u64, time: u32, pace: Pace, draw: Draw) -> Result<(), u32> {
        // A bucket for each pace: who is no longer throttled does not wait for what was drawn before.
        let key = self.counters.hash((pace.each_ms, Tally::user(user)));
        self.counters.rates.draw(key, time, pace, draw)
    }

    /// Pages that a request counts as for its person. Documents of others behind the same address do not matter.
    fn weigh_for_user(&self, user: u64, asked: &Asked) -> u16 {
        match asked.content {
            _ if !asked.is_counted => 0,
            Content::Page => 1,
            Content::Document => {
                u16::from(self.fills_a_page(Tally::user_documents(user), asked.time))
            }
            Content::Part => 0,
        }
    }

    /// Seconds until a person who has had the pages of a day may have another.
    fn seconds_until_page(&self, user: u64, time: u32, pages: u32) -> u32 {
        let is_free = |seconds: u32| {
            let then = time.saturating_add(seconds);
            self.counters.look(Tally::user(user), then) < pages
        };
        // Pages leave the count as time passes and never come back: the first second without too many is between these two.
        let (mut still, mut free) = (0, 2 * DAY);
        while free - still > 1 {
            let middle = still + (free - still) / 2;
            match is_free(middle) {
                true => free = middle,
                false => still = middle,
            }
        }
        free
    }

    /// Takes the turn of a suspect to answer a question; where it has not come, gives the seconds until it does.
    pub fn take_answer_of(&self, user: u64, time: u32) -> Result<(), u32> {
        let key = self.counters.hash(("answer", Tally::user(user)));
        self.counters.rates.draw(key, time, ANSWERS, Draw::Take)
    }

    /// Counts a page of a person that nobody foresaw.
    pub fn count_page_of_user(&self, user: u64, time: u32) {
        self.counters.count(Tally::user(user), time, 1);
    }

    /// Counts a document of a person that nobody foresaw.
    pub fn count_document_of_user(&self, user: u64, time: u32) {
        if self.fills_a_page(Tally::user_documents(user), time) {
            self.count_page_of_user(user, time);
        }
    }

    /// Counts a part of a page that was answered with an error page.
    pub fn count_broken_part_of_user(&self, user: u64, time: u32) {
        let broken = self.counters.count(Tally::user_broken_parts(user), time, 1);
        if broken > self.limits.broken_parts {
            self.count_page_of_user(user, time);
        }
    }

    /// True where the site may be asked whether a cookie of this source is that of somebody who is signed in.
    pub fn may_ask_for(&self, source: Source, time: u32) -> bool {
        self.refused_sign_in(source, time, Draw::Look).is_ok()
    }

    /// Notes that the site knew nothing of a cookie of this source.
    pub fn count_refused_sign_in(&self, source: Source, time: u32) {
        // Beyond what there is room for it makes no difference.
        let _ = self.refused_sign_in(source, time, Draw::Take);
    }

    /// True where the tokens of a source are worth a check.
    pub fn may_check_for(&self, source: Source, time: u32) -> bool {
        self.forged_sign_in(source, time, Draw::Look).is_ok()
    }

    /// Notes that nobody who may has signed a token of this source.
    pub fn count_forged_sign_in(&self, source: Source, time: u32) {
        // Beyond what there is room for it makes no difference.
        let _ = self.forged_sign_in(source, time, Draw::Take);
    }

    fn forged_sign_in(&self, source: Source, time: u32, draw: Draw) -> Result<(), u32> {
        let key = self.counters.hash(("token", Tally::source(source)));
        self.counters.rates.draw(key, time, FORGED, draw)
    }

    /// Counts a session of a person that was not known before; false where there are too many.
    pub fn takes_session_of(&self, user: u64, time: u32) -> bool {
        let key = self.counters.hash(("session", Tally::user(user)));
        let drawn = self
            .counters
            .rates
            .draw(key, time, NEW_SESSIONS, Draw::Take);
        drawn.is_ok()
    }

    fn refused_sign_in(&self, source: Source, time: u32, draw: Draw) -> Result<(), u32> {
        let key = self.counters.hash(("sign-in", Tally::source(source)));
        self.counters.rates.draw(key, time, REFUSED, draw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Limits;
    use crate::policy::Standing;

    const START: u32 = 1_900_000_000;

    fn policy(user_pages: u32) -> Policy {
        let limits = Limits {
            user_pages,
            ..Limits::default()
        };
        Policy::new(limits, 10_000, 7)
    }

    fn page(number: u8, time: u32) -> Asked {
        let source = Source::from_address(format!("192.0.2.{number}").as_bytes()).unwrap();
        Asked {
            user: Some(9),
            ..Asked::page(source, time)
        }
    }

    #[test]
    fn new_sessions_and_forged_tokens_are_limited_each_by_its_own() {
        let policy = policy(5000);
        let taken = (0..1000).filter(|_| policy.takes_session_of(9, START));
        assert_eq!(taken.count(), 30);
        assert!(policy.takes_session_of(8, START), "another person");
        assert!(policy.takes_session_of(9, START + 2), "later");
        let source = page(1, START).source;
        let checked = (0..1000).filter(|_| {
            let may = policy.may_check_for(source, START);
            policy.count_forged_sign_in(source, START);
            may
        });
        assert_eq!(checked.count(), 200);
        assert!(policy.may_check_for(page(2, START).source, START));
        assert!(policy.may_check_for(source, START + 1), "a second later");
        assert!(policy.may_ask_for(source, START));
    }

    #[test]
    fn suspects_are_challenged_and_throttled_people_get_little() {
        let policy = policy(5000);
        let cause = crate::paths::Cause::Oddities;
        let asked = |standing: UserStanding, time: u32| Asked {
            standing,
            ..page(1, time)
        };
        let decide = |asked: &Asked| policy.decide(asked, &Standing::default());
        let suspect = asked(UserStanding::Suspect(cause), START);
        let decided = decide(&suspect);
        assert_eq!(
            (decided.decision, decided.reason),
            (Decision::Challenge, Reason::SuspectUser)
        );
        let image = Asked {
            content: Content::Part,
            ..suspect
        };
        assert_eq!(decide(&image).decision, Decision::Pass);
        let throttled = UserStanding::Throttled(cause);
        let passed = |time: u32| decide(&asked(throttled, time)).decision == Decision::Pass;
        let at_once = (0..100).filter(|_| passed(START)).count();
        assert_eq!(at_once, 5);
        let refused = decide(&asked(throttled, START));
        assert_eq!(refused.reason, Reason::ThrottledUser);
        assert_eq!(refused.retry_after, 30);
        assert!(passed(START + refused.retry_after));
        // The day slides by steps of three hours: what was taken first may come back three hours before its end.
        let hours = (1..20 * 120).filter(|step| passed(START + 30 * step + 30));
        assert_eq!(6 + hours.count(), 200);
        let answers = (0..100).filter(|_| policy.take_answer_of(9, START).is_ok());
        assert_eq!(answers.count(), 3);
    }

    #[test]
    fn a_fleet_shares_the_budget_of_its_account() {
        let policy = policy(5000);
        let passed = (0..1000_u32).filter(|number| {
            let asked = page((number % 200) as u8, START);
            policy.decide(&asked, &Standing::default()).decision == Decision::Pass
        });
        assert_eq!(passed.count() as u32, policy.limits.user_burst);
        // Nothing of this was counted for its addresses: an unknown visitor there passes.
        let other = Asked {
            user: None,
            ..page(3, START)
        };
        let decided = policy.decide(&other, &Standing::default());
        assert_eq!((decided.reason, decided.pages), (Reason::FewPages, 1));
    }

    #[test]
    fn retry_after_is_the_second_in_which_it_passes() {
        for (user_pages, step) in [(5000, 0), (100, 30), (7, 3600)] {
            let policy = policy(user_pages);
            let mut time = START;
            for round in 0..3 {
                let waits = loop {
                    let decided = policy.decide(&page(1, time), &Standing::default());
                    if decided.decision == Decision::Throttle {
                        break decided.retry_after;
                    }
                    time += step;
                };
                // Asking meanwhile changes nothing.
                for early in [0, waits / 2, waits - 1] {
                    let decided = policy.decide(&page(1, time + early), &Standing::default());
                    assert_eq!(decided.decision, Decision::Throttle, "{round} {early}");
                    assert_eq!(decided.retry_after, waits - early, "{round} {early}");
                }
                time += waits;
                let decided = policy.decide(&page(1, time), &Standing::default());
                assert_eq!(decided.decision, Decision::Pass, "{user_pages} {round}");
            }
        }
    }

    #[test]
    fn parts_of_pages_always_come_and_documents_count_for_their_person() {
        let policy = policy(2);
        let with = |content, user| {
            let asked = Asked {
                content,
                user: Some(user),
                ..page(1, START)
            };
            policy.decide(&asked, &Standing::default()).decision
        };
        for _ in 0..50 {
            assert_eq!(with(Content::Document, 1), Decision::Pass);
        }
        assert_eq!(with(Content::Document, 1), Decision::Throttle);
        assert_eq!(with(Content::Part, 1), Decision::Pass);
        assert_eq!(with(Content::Document, 2), Decision::Pass);
    }

    #[test]
    fn sites_are_not_asked_about_floods_of_cookies() {
        let policy = policy(1);
        let source = Source::from_address(b"192.0.2.1").unwrap();
        let other = Source::from_address(b"192.0.2.2").unwrap();
        let asked = (0..1000)
            .take_while(|_| {
                let may = policy.may_ask_for(source, START);
                policy.count_refused_sign_in(source, START);
                may
            })
            .count();
        assert_eq!(asked, 30);
        assert!(policy.may_ask_for(other, START));
        assert!(policy.may_ask_for(source, START + 2));
    }
}
