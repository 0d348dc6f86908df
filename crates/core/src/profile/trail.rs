//! The last page of a source, to which the next request is compared.

use super::Record;
use super::flag;

/// The last page of the source in one stream of the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trail {
    pub(super) order: u64,
    pub(super) page: u32,
    pub(super) agent: u16,
    pub(super) stream: u16,
    pub(super) group: u16,
    pub(super) opener: Opener,
    /// [`Trail::LATER`] and the like, and above them the language.
    pub(super) bits: u8,
    /// The last page or form that was answered with a redirect, if nothing came after it: lower half of its hash.
    pub(super) moved: u16,
}

/// The page that led to another.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Opener {
    /// Lower half of its hash; 0 for none. Bytes, so that a trail stays small.
    page: [u8; 2],
    /// Pages opened from there so far, one after the other.
    opened: u8,
}

impl Opener {
    fn new(page: u16, opened: u8) -> Opener {
        Opener {
            page: page.to_le_bytes(),
            opened,
        }
    }

    fn page(self) -> u16 {
        u16::from_le_bytes(self.page)
    }

    /// The opener that a page request names, which is not the page before: no link from there counts.
    pub(super) fn of(record: &Record) -> Opener {
        match record.has(flag::REFERRER_LINK) {
            true => Opener::new(record.from, OPENED_MAX),
            false => Opener::default(),
        }
    }

    fn with_another(self) -> Opener {
        Opener {
            opened: (self.opened + 1).min(OPENED_MAX),
            ..self
        }
    }
}

/// Pages opened from one that count as followed links. Whoever names the same page for hundreds has not been there each time.
const OPENED_MAX: u8 = 6;

impl Trail {
    /// The page before it was of the same folder.
    pub(super) const LATER: u8 = 1;
    /// Parts of it came.
    pub(super) const PARTS: u8 = 2;
    /// Pictures of it came.
    pub(super) const IMAGES: u8 = 4;

    const LANGUAGE_AT: u32 = 3;

    /// The bits for a language, as [`Signs`](super::signs::Signs) tell it.
    pub(super) fn bits_of(language: u8) -> u8 {
        language << Trail::LANGUAGE_AT
    }

    /// The language with which the page was asked for.
    pub(super) fn language(&self) -> u8 {
        self.bits >> Trail::LANGUAGE_AT
    }

    pub(super) fn has(&self, bit: u8) -> bool {
        self.bits & bit != 0
    }

    /// True where the record names this page, or the one from which this was opened.
    pub(super) fn leads_to(&self, record: &Record) -> bool {
        let (from, opener) = (record.from, self.opener);
        let is_opener = from != 0 && from == opener.page() && opener.opened < OPENED_MAX;
        from == self.page as u16 || is_opener && record.is_page()
    }

    /// The opener of the page that follows this one and names an opener.
    pub(super) fn opener_of(&self, named: Opener) -> Opener {
        match named.page() {
            0 => named,
            page if page == self.page as u16 => Opener::new(page, 1),
            page if page == self.opener.page() => self.opener.with_another(),
            _ => named,
        }
    }
}

/// What a request tells about how the pages of a folder are loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Viewing {
    /// The folder.
    pub folder: usize,
    /// A page was asked for by somebody who loads parts.
    pub view: bool,
    /// The page before it was of the same folder, so that what they have in common is in the cache.
    pub is_later: bool,
    /// The first part of the page came.
    pub with_parts: bool,
    /// Its first picture came.
    pub with_images: bool,
    /// The link that led to it, by somebody who loads pictures.
    pub link: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::super::Profile;
    use super::*;

    /// Links followed by a visitor: the second of each page request, its page, and the page that it names.
    fn chain(requests: &[(u32, u32, u16)]) -> u32 {
        let mut profile = Profile::default();
        for (time, page, from) in requests {
            let mut record = Record::page_for_tests(1, *time);
            (record.page, record.from) = (*page, *from);
            if *from != 0 {
                record.flags |= flag::REFERRER_LINK;
            }
            profile.observe(&record, 0, 0, 240);
        }
        profile.chain
    }

    #[test]
    fn pages_opened_from_one_are_links_up_to_a_number() {
        assert_eq!(
            chain(&[(7, 10, 0), (7, 11, 10), (8, 12, 10), (9, 13, 12)]),
            3
        );
        let many = (11..100).map(|page| (7, page, 10));
        let opened: Vec<_> = std::iter::once((7, 10, 0)).chain(many).collect();
        assert_eq!(chain(&opened), u32::from(OPENED_MAX));
    }

    #[test]
    fn whoever_names_a_page_before_going_there_follows_no_link() {
        assert_eq!(chain(&[(7, 11, 10), (8, 10, 0), (9, 12, 0)]), 0);
        let many: Vec<_> = (11..100).map(|page| (7, page, 10)).collect();
        assert_eq!(chain(&many), 0);
    }
}
