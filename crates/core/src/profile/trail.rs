//! The last page of a source, to which the next request is compared.

use super::Record;

/// The last page of the source in one stream of the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trail {
    pub(super) order: u64,
    pub(super) page: u32,
    pub(super) agent: u16,
    pub(super) stream: u16,
    pub(super) group: u16,
    /// The page that led to it, where that was fetched, too: lower half of its hash.
    pub(super) opener: u16,
    /// Pages opened from there so far.
    pub(super) opened: u8,
    /// [`Trail::LATER`] and the like, and above them the language.
    pub(super) bits: u8,
    /// The last page or form that was answered with a redirect, if nothing came after it: lower half of its hash.
    pub(super) moved: u16,
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
        let from = record.from;
        from == self.page as u16
            || from != 0 && from == self.opener && self.opened < OPENED_MAX && record.is_page()
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
}
