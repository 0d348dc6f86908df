//! The user table: who is a suspect and why, and the entries of each user that wait to be judged.
//!
//! A suspect meets a challenge made for people. Who solves it is normal again; who is suspected a second time is throttled until the time
//! is over or the owner says otherwise.

use std::collections::HashMap;

use super::Cut;
use super::Entry;
use super::Judge;
use super::Parents;
use super::PathKind;
use super::oddities::Day;
use super::oddities::Oddity;
use super::oddities::OddityLimits;
use super::oddities::UserRequest;

/// Why somebody is a suspect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A long session like that of a crawler of this kind.
    Path(PathKind),
    /// Too many requests on one day that links do not explain.
    Oddities,
}

impl Cause {
    /// The identity that the paper gives such a user.
    pub fn identity(self) -> usize {
        match self {
            Cause::Path(kind) => kind.number(),
            Cause::Oddities => 4,
        }
    }
}

/// How a user is to be treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserStanding {
    /// As everybody.
    Normal,
    /// With a challenge made for people.
    Suspect(Cause),
    /// Slowly, and the owner is told.
    Throttled(Cause),
}

/// How much is remembered, and how much is too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserLimits {
    /// Requests that links do not explain.
    pub oddities: OddityLimits,
    /// Users in the table; those silent for longest go first.
    pub users: usize,
    /// Milliseconds after which everything is forgotten: what somebody did, and what somebody is suspected of. A second suspicion within this
    /// time throttles.
    pub memory_ms: u64,
}

impl Default for UserLimits {
    fn default() -> UserLimits {
        UserLimits {
            oddities: OddityLimits::default(),
            users: 100_000,
            memory_ms: 30 * 86_400_000,
        }
    }
}

/// What became of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted {
    /// What was odd about it.
    pub odd: Vec<Oddity>,
    /// How its user is treated from now on.
    pub standing: UserStanding,
    /// The user is treated otherwise than before.
    pub is_new: bool,
    /// The long session that was completed by it, if it looks like a person's.
    pub session: Option<Vec<Entry>>,
}

/// A user who is treated otherwise than others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The number of the user.
    pub user: u64,
    /// The name, where it is kept.
    pub name: String,
    /// How the user is treated.
    pub standing: UserStanding,
    /// Since when, in milliseconds since 1970.
    pub since_ms: u64,
    /// Odd requests of the day of each kind, at that time.
    pub odd: [u32; Oddity::ALL.len()],
}

#[derive(Debug)]
pub(super) struct User {
    /// Empty where names are not kept.
    pub(super) name: String,
    pub(super) standing: UserStanding,
    pub(super) day: Day,
    /// Entries since the last judgement: fewer than a long session.
    pub(super) pending: Vec<Entry>,
    pub(super) last_ms: u64,
    pub(super) suspected_ms: Option<u64>,
    /// Odd requests of each kind at the last suspicion.
    pub(super) blamed: [u32; Oddity::ALL.len()],
}

/// All users who came lately.
#[derive(Debug, Default)]
pub struct Users {
    pub(super) limits: UserLimits,
    pub(super) users: HashMap<u64, User>,
}

impl Users {
    /// A table that has seen nobody yet.
    pub fn new(limits: UserLimits) -> Users {
        Users {
            limits,
            users: HashMap::new(),
        }
    }

    /// The number of users in it.
    pub fn len(&self) -> usize {
        self.users.len()
    }

    /// True where nobody is in it.
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// How a user is to be treated.
    pub fn standing(&self, user: u64) -> UserStanding {
        let known = self.users.get(&user);
        known.map_or(UserStanding::Normal, |user| user.standing)
    }

    /// Odd requests of a user today, of each kind.
    pub fn odd(&self, user: u64) -> [u32; Oddity::ALL.len()] {
        let known = self.users.get(&user);
        known.map_or_else(Default::default, |user| user.day.counts)
    }

    /// Those who are treated otherwise than others, the latest first.
    pub fn suspects(&self) -> Vec<Listed> {
        let list = |(number, user): (&u64, &User)| Listed {
            user: *number,
            name: user.name.clone(),
            standing: user.standing,
            since_ms: user.suspected_ms.unwrap_or(0),
            odd: user.blamed,
        };
        let all = self.users.iter().map(list);
        let mut listed: Vec<Listed> = all
            .filter(|listed| listed.standing != UserStanding::Normal)
            .collect();
        listed.sort_by_key(|listed| (std::cmp::Reverse(listed.since_ms), listed.user));
        listed
    }

    /// The number of a user by name.
    pub fn named(&self, name: &str) -> Option<u64> {
        let known = self.users.iter();
        known
            .filter(|(_, user)| !user.name.is_empty() && user.name == name)
            .map(|(number, _)| *number)
            .min()
    }

    /// Keeps the name of a user who is in the table.
    pub fn introduce(&mut self, user: u64, name: &str) {
        if let Some(user) = self.users.get_mut(&user)
            && user.name != name
        {
            name.clone_into(&mut user.name);
        }
    }

    /// Other limits, from now on.
    pub fn set_limits(&mut self, limits: UserLimits) {
        self.limits = limits;
    }

    /// Forgets all names.
    pub fn forget_names(&mut self) {
        self.users.values_mut().for_each(|user| user.name.clear());
    }

    /// Forgets what is older than the limits say, also that somebody is a suspect.
    pub fn forget_old(&mut self, now_ms: u64) {
        let limits = self.limits;
        let is_old = |at_ms: u64| now_ms.saturating_sub(at_ms) >= limits.memory_ms;
        self.users.retain(|_, user| {
            user.pending.retain(|entry| !is_old(entry.at_ms));
            user.current(now_ms, &limits) != UserStanding::Normal || !is_old(user.last_ms)
        });
    }

    /// Takes in a page request, and judges its user's path where a long session is complete.
    pub fn observe(&mut self, request: &UserRequest, judge: &Judge) -> Noted {
        self.observe_by(request, judge.cut(), |entries| {
            judge.judge(entries, Parents::Markers)?.kind
        })
    }

    fn observe_by(
        &mut self,
        request: &UserRequest,
        cut: Cut,
        kind: impl FnOnce(&[Entry]) -> Option<PathKind>,
    ) -> Noted {
        self.make_room(request.user);
        let limits = self.limits;
        let user = self.users.entry(request.user).or_insert_with(User::new);
        let before = user.standing;
        let current = user.current(request.at_ms, &limits);
        user.last_ms = user.last_ms.max(request.at_ms);
        let mut noted = Noted {
            odd: Vec::new(),
            standing: current,
            is_new: current != before,
            session: None,
        };
        if current != UserStanding::Normal {
            // What a suspect does is no evidence of what it will do once it is normal again.
            return noted;
        }
        let seen = user.day.observe(request, &limits.oddities);
        noted.odd = seen.odd;
        if seen.is_entry {
            user.pending.push(request.entry());
        }
        let is_complete = user.pending.len() >= cut.entries;
        let session = is_complete.then(|| user.take_session());
        let path = session.as_deref().and_then(kind).map(Cause::Path);
        let is_odd = user.day.odd() >= limits.oddities.a_day;
        match is_odd.then_some(Cause::Oddities).or(path) {
            Some(cause) => {
                user.suspect(cause, request.at_ms, &limits);
                noted.standing = user.standing;
                noted.is_new = true;
            }
            None => noted.session = session,
        }
        noted
    }

    /// A suspect has solved the challenge. True where that makes the user normal again.
    pub fn solved(&mut self, user: u64) -> bool {
        match self.users.get_mut(&user) {
            Some(user) if matches!(user.standing, UserStanding::Suspect(_)) => {
                user.standing = UserStanding::Normal;
                true
            }
            _ => false,
        }
    }

    /// The owner's word: the user is normal, and was never suspected.
    pub fn forgive(&mut self, user: u64) -> bool {
        let known = self.users.get_mut(&user);
        known.is_some_and(|user| {
            let was = std::mem::replace(&mut user.standing, UserStanding::Normal);
            user.suspected_ms = None;
            user.day.clear();
            user.pending.clear();
            was != UserStanding::Normal
        })
    }

    /// Forgets a sixteenth of the users, those silent for longest, where one more would be too many. Suspects are forgotten last: a
    /// crawler must not come free by a crowd of accounts.
    fn make_room(&mut self, user: u64) {
        if self.users.len() < self.limits.users.max(1) || self.users.contains_key(&user) {
            return;
        }
        let age = |user: &User| (user.standing != UserStanding::Normal, user.last_ms);
        let mut ages: Vec<(bool, u64)> = self.users.values().map(age).collect();
        let last = ages.len() / 16;
        let (_, newest, _) = ages.select_nth_unstable(last);
        let newest = *newest;
        self.users.retain(|_, user| age(user) > newest);
    }
}

impl User {
    pub(super) fn new() -> User {
        User {
            name: String::new(),
            standing: UserStanding::Normal,
            day: Day::default(),
            pending: Vec::new(),
            last_ms: 0,
            suspected_ms: None,
            blamed: Default::default(),
        }
    }

    /// The entries that wait, in order of time: slow responses are noted late.
    fn take_session(&mut self) -> Vec<Entry> {
        let mut entries = std::mem::take(&mut self.pending);
        entries.sort_by_key(|entry| entry.at_ms);
        entries
    }

    /// The standing at this time: a suspicion ends by and by.
    fn current(&mut self, now_ms: u64, limits: &UserLimits) -> UserStanding {
        let is_over = self
            .suspected_ms
            .is_some_and(|since| now_ms.saturating_sub(since) >= limits.memory_ms);
        if is_over {
            self.standing = UserStanding::Normal;
        }
        self.standing
    }

    fn suspect(&mut self, cause: Cause, now_ms: u64, limits: &UserLimits) {
        let is_second = self
            .suspected_ms
            .is_some_and(|since| now_ms.saturating_sub(since) < limits.memory_ms);
        self.standing = match is_second {
            true => UserStanding::Throttled(cause),
            false => UserStanding::Suspect(cause),
        };
        self.suspected_ms = Some(now_ms);
        self.blamed = self.day.counts;
        // A person who has solved the challenge starts anew.
        self.day.clear();
        self.pending.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::Browser;
    use crate::paths::Link;
    use crate::paths::Loaded;

    const HOUR: u64 = 3_600_000;

    fn request(user: u64, number: u64, link: Link) -> UserRequest {
        UserRequest {
            at_ms: 60_000 * number,
            day: (number / 1440) as u32,
            user,
            page: number,
            link,
            referrer: None,
            client: Browser {
                agent: 1,
                session: 1,
            },
            loaded: Loaded::Page,
        }
    }

    /// Takes in a request of a user whose complete sessions look like this.
    fn observe(users: &mut Users, request: &UserRequest, kind: Option<PathKind>) -> Noted {
        users.observe_by(request, Cut::default(), |entries| {
            assert_eq!(entries.len(), 60);
            kind
        })
    }

    #[test]
    fn thirty_odd_requests_make_a_suspect_and_a_solved_challenge_a_normal_user() {
        let mut users = Users::new(UserLimits::default());
        for number in 0..29 {
            let noted = observe(&mut users, &request(1, number, Link::OtherUser), None);
            assert_eq!((noted.odd.len(), noted.is_new), (1, false));
        }
        let noted = observe(&mut users, &request(1, 29, Link::OtherUser), None);
        let suspect = UserStanding::Suspect(Cause::Oddities);
        assert_eq!((noted.standing, noted.is_new), (suspect, true));
        assert_eq!(Cause::Oddities.identity(), 4);
        assert_eq!(
            users.standing(2),
            UserStanding::Normal,
            "whose links they were"
        );
        assert!(users.solved(1) && !users.solved(1));
        let noted = observe(&mut users, &request(1, 30, Link::OtherUser), None);
        assert_eq!(noted.standing, UserStanding::Normal, "from the beginning");
    }

    #[test]
    fn midnight_forgets_what_was_odd() {
        let mut users = Users::new(UserLimits::default());
        for day in 0..10 {
            for number in 0..29 {
                let request = request(1, 1440 * day + number, Link::Broken);
                assert_eq!(
                    observe(&mut users, &request, None).standing,
                    UserStanding::Normal
                );
            }
        }
    }

    #[test]
    fn a_path_is_judged_by_sixty_entries_and_a_second_suspicion_throttles() {
        let mut users = Users::new(UserLimits::default());
        let kind = Some(PathKind::ALL[0]);
        let mut became = Vec::new();
        for number in 0..130_u64 {
            let link = Link::Own(number.saturating_sub(1));
            let noted = observe(&mut users, &request(1, number, link), kind);
            if noted.is_new {
                became.push((number, noted.standing));
                users.solved(1);
            }
        }
        let cause = Cause::Path(PathKind::ALL[0]);
        let expected = [
            (59, UserStanding::Suspect(cause)),
            (119, UserStanding::Throttled(cause)),
        ];
        assert_eq!(became, expected);
        assert!(!users.solved(1), "throttled until the time is over");
        let month = 31 * 24 * 60;
        let later = observe(&mut users, &request(1, 119 + month, Link::Own(1)), None);
        assert_eq!(later.standing, UserStanding::Normal);
    }

    #[test]
    fn the_owner_forgives() {
        let mut users = Users::new(UserLimits::default());
        for number in 0..30 {
            observe(&mut users, &request(1, number, Link::Broken), None);
        }
        users.introduce(1, "alice");
        let listed = users.suspects();
        assert_eq!((listed.len(), listed[0].odd), (1, [0, 30, 0, 0, 0, 0]));
        assert_eq!(listed[0].name, "alice");
        assert_eq!((users.named("alice"), users.named("")), (Some(1), None));
        assert!(users.forgive(1) && !users.forgive(1));
        assert_eq!(users.standing(1), UserStanding::Normal);
        assert_eq!(users.odd(1), [0; 6]);
    }

    #[test]
    fn what_is_old_is_forgotten() {
        let mut users = Users::new(UserLimits::default());
        observe(&mut users, &request(2, 0, Link::Unmarked), None);
        for number in 0..30 {
            observe(&mut users, &request(1, number, Link::Broken), None);
        }
        let month = 30 * 24 * HOUR;
        users.forget_old(month - 1);
        assert_eq!(users.len(), 2);
        users.forget_old(month);
        assert_eq!((users.len(), users.suspects().len()), (1, 1));
        users.forget_old(month + HOUR);
        assert!(users.is_empty());
    }

    #[test]
    fn a_session_is_judged_in_order_of_time_and_kept_if_it_is_a_persons() {
        let mut users = Users::new(UserLimits::default());
        for number in 0..60 {
            // Each second response takes longer than the next one.
            let request = request(1, number ^ 1, Link::Own(0));
            let noted = users.observe_by(&request, Cut::default(), |entries| {
                assert!(entries.is_sorted_by_key(|entry| entry.at_ms));
                None
            });
            assert_eq!(noted.session.is_some(), number == 59);
        }
    }

    #[test]
    fn the_table_is_bounded_and_suspects_stay() {
        let limits = UserLimits {
            users: 160,
            ..UserLimits::default()
        };
        let mut users = Users::new(limits);
        for number in 0..30 {
            observe(&mut users, &request(1, number, Link::Broken), None);
        }
        for user in 2..5000 {
            observe(
                &mut users,
                &request(user, HOUR + user, Link::Unmarked),
                None,
            );
            assert!(users.len() <= 160);
        }
        assert_eq!(users.standing(1), UserStanding::Suspect(Cause::Oddities));
    }
}
