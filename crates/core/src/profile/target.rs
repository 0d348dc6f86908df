//! A request's target, and where its parts end.

use wide::u8x16;

/// Bytes of a target that one look covers. Of a longer one each mark is searched for.
const LOOK: usize = 64;
const SIXTEEN: usize = 16;

/// A target with its marks, one bit each. They are found at once: a search for each takes twice the instructions, and its end a
/// mispredicted branch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) text: &'a [u8],
    /// The text without query and fragment.
    pub(super) path: &'a [u8],
    slashes: u64,
    dots: u64,
    equals: u64,
    dashes: u64,
}

impl<'a> Target<'a> {
    #[inline]
    pub(super) fn of(text: &'a [u8]) -> Target<'a> {
        let mut target = Target {
            text,
            path: text,
            slashes: 0,
            dots: 0,
            equals: 0,
            dashes: 0,
        };
        if target.is_long() {
            target.path = path(text);
            return target;
        }
        let mut ends = 0;
        let mut at = 0;
        while at < text.len() {
            // The last look may cover bytes of the one before again: the marks are the same.
            let place = at.min(text.len().saturating_sub(SIXTEEN));
            let bytes = sixteen(text, place);
            let marks = |marks: u8x16| u64::from(marks.to_bitmask()) << place;
            let is = |byte: u8| bytes.simd_eq(u8x16::splat(byte));
            ends |= marks(is(b'?') | is(b'#'));
            target.slashes |= marks(is(b'/'));
            target.dots |= marks(is(b'.'));
            target.equals |= marks(is(b'='));
            target.dashes |= marks(is(b'-'));
            at += SIXTEEN;
        }
        target.path = &text[..text.len().min(ends.trailing_zeros() as usize)];
        target
    }

    /// Behind the path's last slash.
    #[inline]
    pub(super) fn name(&self) -> usize {
        self.behind(self.slashes, |byte| byte == b'/', self.path.len())
    }

    /// Behind the path's last dot.
    #[inline]
    pub(super) fn extension(&self) -> usize {
        self.behind(self.dots, |byte| byte == b'.', self.path.len())
    }

    /// The path's second slash, or the path's end.
    #[inline]
    pub(super) fn second_slash(&self) -> usize {
        let found = if self.is_long() {
            let mut later = self.path.iter().skip(1);
            later.position(|byte| *byte == b'/').map(|at| at + 1)
        } else {
            Some((self.slashes & !1).trailing_zeros() as usize)
        };
        found.map_or(self.path.len(), |at| at.min(self.path.len()))
    }

    /// Behind the last mark before `end` at which the number of a page may begin.
    #[inline]
    pub(super) fn number(&self, end: usize) -> usize {
        let marks = self.slashes | self.equals | self.dashes;
        self.behind(marks, |byte| matches!(byte, b'/' | b'=' | b'-'), end)
    }

    /// Behind the last mark before `end` at which the name of a page may begin.
    #[inline]
    pub(super) fn value(&self, end: usize) -> usize {
        let marks = self.slashes | self.equals;
        self.behind(marks, |byte| matches!(byte, b'/' | b'='), end)
    }

    fn is_long(&self) -> bool {
        self.text.len() > LOOK
    }

    /// Behind the last of some marks before `end`; the beginning where there is none.
    #[inline]
    fn behind(&self, marks: u64, is_mark: impl Fn(u8) -> bool, end: usize) -> usize {
        if self.is_long() {
            let last = self.text[..end].iter().rposition(|byte| is_mark(*byte));
            return last.map_or(0, |at| at + 1);
        }
        let before = !u64::MAX.unbounded_shl(end as u32);
        64 - (marks & before).leading_zeros() as usize
    }
}

/// Sixteen bytes from `at` on; of a shorter text all, and zeros behind them. Put together in registers: bytes that were just copied cannot
/// be read sixteen at a time without waiting for each of the copies.
#[inline]
fn sixteen(text: &[u8], at: usize) -> u8x16 {
    if let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk) {
        return u8x16::new(*bytes);
    }
    let length = text.len() as u32;
    let word = match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) => {
            let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
            let behind = last.unbounded_shr(8 * (16 - length));
            u128::from(first) | u128::from(behind) << 64
        }
        _ => {
            let bytes = text.iter().rev();
            u128::from(bytes.fold(0_u64, |word, byte| word << 8 | u64::from(*byte)))
        }
    };
    u8x16::new(word.to_le_bytes())
}

/// The target without query and fragment.
pub(crate) fn path(target: &[u8]) -> &[u8] {
    &target[..memchr::memchr2(b'?', b'#', target).unwrap_or(target.len())]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn short_and_long_targets_are_read_alike(text in "[/.=?#a-]{0,64}", end in 0_usize..=64) {
            let short = Target::of(text.as_bytes());
            let end = end.min(text.len());
            let behind = |part: &str, marks: &[char]| part.rfind(marks).map_or(0, |at| at + 1);
            let path = text.split(['?', '#']).next().unwrap_or_default();
            prop_assert_eq!(short.path, path.as_bytes());
            prop_assert_eq!(short.name(), behind(path, &['/']));
            prop_assert_eq!(short.extension(), behind(path, &['.']));
            prop_assert_eq!(short.number(end), behind(&text[..end], &['/', '=', '-']));
            prop_assert_eq!(short.value(end), behind(&text[..end], &['/', '=']));
            let second = path.char_indices().skip(1).find(|(_, mark)| *mark == '/');
            prop_assert_eq!(short.second_slash(), second.map_or(path.len(), |(at, _)| at));
            // The same with a tail that makes it too long for one look.
            let tail = "a".repeat(LOOK);
            let longer = format!("{path}#{tail}");
            let long = Target::of(longer.as_bytes());
            prop_assert_eq!(long.path, short.path);
            prop_assert_eq!((long.name(), long.extension()), (short.name(), short.extension()));
            prop_assert_eq!(long.second_slash(), short.second_slash());
            let end = end.min(path.len());
            prop_assert_eq!((long.number(end), long.value(end)), (short.number(end), short.value(end)));
        }
    }
}
