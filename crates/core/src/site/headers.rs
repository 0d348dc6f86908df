//! Which header fields the browsers of a site's visitors send: by source, so that one heavy crawler does not set the rule.

use super::Habit;
use crate::profile::Fetch;
use crate::profile::Hints;
use crate::profile::Order;
use crate::profile::Profile;

/// Habits of the sources whose header fields could be judged.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeaderHabits {
    /// They send `Sec-Fetch-*`.
    pub fetch: Habit,
    /// Most of their `Sec-Fetch-*` contradict the referrer, or each other.
    pub fetch_odd: Habit,
    /// They send `Sec-CH-UA`.
    pub hints: Habit,
    /// Most of their `Sec-CH-UA*` contradict the user agent.
    pub hints_odd: Habit,
    /// They send `Accept-Language`.
    pub languages: Habit,
    /// Most of their requests have another order of fields than their browser's.
    pub order_odd: Habit,
}

impl HeaderHabits {
    pub(super) fn observe(&mut self, profile: &Profile) {
        let Some(signs) = profile.signs().filter(|_| profile.declared == 0) else {
            return;
        };
        let (judged, missing) = (signs.fetch_judged(), signs.fetch(Fetch::Missing));
        let odd = judged - missing - signs.fetch(Fetch::Sent);
        self.fetch.observe(judged > 0, missing * 2 < judged);
        self.fetch_odd.observe(judged > 0, odd * 2 > judged);
        let (judged, missing) = (signs.hints_judged(), signs.hints(Hints::Missing));
        let odd = judged - missing - signs.hints(Hints::Sent);
        self.hints.observe(judged > 0, missing * 2 < judged);
        self.hints_odd.observe(judged > 0, odd * 2 > judged);
        let (judged, missing) = (signs.languages, signs.languages_missing);
        self.languages.observe(judged > 0, missing * 2 < judged);
        let (judged, odd) = (signs.order_judged(), signs.order(Order::Other));
        self.order_odd.observe(judged > 0, odd * 2 > judged);
    }

    pub(super) fn absorb(&mut self, other: HeaderHabits) {
        self.fetch.absorb(other.fetch);
        self.fetch_odd.absorb(other.fetch_odd);
        self.hints.absorb(other.hints);
        self.hints_odd.absorb(other.hints_odd);
        self.languages.absorb(other.languages);
        self.order_odd.absorb(other.order_odd);
    }
}
