//! The way of one signed-in user through a site, and the six features of the PathMarker paper.
//!
//! An [`Entry`] is one page request: when, by whom, which page, and the page whose link led there. Requests that follow each other
//! closely are a short session; a fixed number of requests is a long session, and this is what is judged. A short session that crosses
//! the border of a long one is split there.

mod features;
mod from_log;
mod judge;
mod lengths;
mod oddities;
mod saved;
mod users;

pub use features::FEATURE_NAMES;
pub use features::FEATURES;
pub use features::Features;
pub use features::Measures;
pub use features::VALUE_NAMES;
pub use features::VALUES;
pub use from_log::LogUsers;
pub use from_log::page_key;
pub use judge::CALLED_FROM;
pub use judge::Judge;
pub use judge::Parents;
pub use judge::PathKind;
pub use judge::Rule;
pub use judge::Verdict;
pub use lengths::Lengths;
pub use oddities::Browser;
pub use oddities::Link;
pub use oddities::Loaded;
pub use oddities::Oddity;
pub use oddities::OddityLimits;
pub use oddities::UserRequest;
pub use saved::read_session;
pub use saved::write_session;
pub use users::Cause;
pub use users::Listed;
pub use users::Noted;
pub use users::UserLimits;
pub use users::UserStanding;
pub use users::Users;

/// One page request of one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// Hash of the user's name.
    pub user: u64,
    /// Hash of the page's address, without a marker.
    pub page: u64,
    /// Hash of the address of the page whose link led here; `None` for a typed address or an unknown page.
    pub parent: Option<u64>,
}

/// Where sessions begin and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Milliseconds without a request that end a short session. The paper gives no value; half an hour is what web statistics use.
    pub gap_ms: u64,
    /// Entries of a long session: twice the longest short session of most users (the paper measured 20 to 30).
    pub entries: usize,
}

impl Default for Cut {
    fn default() -> Cut {
        Cut {
            gap_ms: 30 * 60 * 1000,
            entries: 60,
        }
    }
}

impl Cut {
    /// The complete long sessions in the entries of one user, which are in order of time. The rest waits for more entries.
    pub fn long_sessions<'a>(&self, entries: &'a [Entry]) -> impl Iterator<Item = &'a [Entry]> {
        entries.chunks_exact(self.entries.max(1))
    }

    /// The short sessions within a long one.
    pub fn short_sessions<'a>(&self, entries: &'a [Entry]) -> impl Iterator<Item = &'a [Entry]> {
        let gap_ms = self.gap_ms;
        entries.chunk_by(move |earlier, later| later.at_ms.saturating_sub(earlier.at_ms) < gap_ms)
    }

    /// The longest short session within a long one; the earlier of equals.
    pub fn longest<'a>(&self, entries: &'a [Entry]) -> &'a [Entry] {
        let mut longest: &[Entry] = &[];
        for short in self.short_sessions(entries) {
            if short.len() > longest.len() {
                longest = short;
            }
        }
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000;

    /// Entries at these minutes, of one user.
    fn at(minutes: &[u64]) -> Vec<Entry> {
        let entry = |minute: &u64| Entry {
            at_ms: minute * MINUTE,
            user: 1,
            page: *minute,
            parent: None,
        };
        minutes.iter().map(entry).collect()
    }

    fn lengths(minutes: &[u64]) -> Vec<usize> {
        let entries = at(minutes);
        let cut = Cut::default();
        cut.short_sessions(&entries).map(<[Entry]>::len).collect()
    }

    #[test]
    fn a_gap_of_half_an_hour_begins_another_short_session() {
        assert_eq!(lengths(&[0, 29, 58]), [3]);
        assert_eq!(lengths(&[0, 30, 59]), [1, 2]);
        assert_eq!(lengths(&[]), [0; 0]);
    }

    #[test]
    fn of_equal_short_sessions_the_earlier_counts() {
        let entries = at(&[0, 1, 100, 101, 200]);
        let longest = Cut::default().longest(&entries);
        assert_eq!(longest[0].page, 0);
        let entries = at(&[0, 100, 101, 200]);
        assert_eq!(Cut::default().longest(&entries)[0].page, 100);
    }

    #[test]
    fn long_sessions_split_a_short_one_at_their_border() {
        let cut = Cut {
            entries: 4,
            ..Cut::default()
        };
        // One burst of six: four belong to the first long session, two to the second.
        let entries = at(&[0, 1, 2, 3, 4, 5, 100, 200, 201]);
        let long: Vec<&[Entry]> = cut.long_sessions(&entries).collect();
        assert_eq!(long.len(), 2);
        let short = |long: &[Entry]| -> Vec<usize> {
            cut.short_sessions(long).map(<[Entry]>::len).collect()
        };
        assert_eq!(short(long[0]), [4]);
        assert_eq!(short(long[1]), [2, 1, 1]);
    }
}
