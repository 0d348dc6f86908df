//! What the gate learns from a request: the target for the site, and what the marker says.

use std::borrow::Cow;

use crate::keys::Keyring;
use crate::seal::Ages;
use crate::seal::Opened;
use crate::seal::Site;
use crate::target;
use crate::target::Found;
use crate::target::Name;
use crate::target::SealedTarget;

/// What reads markers on one site.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    /// The keys.
    pub ring: &'a Keyring,
    /// The name of markers.
    pub name: &'a Name,
    /// The site of the request.
    pub site: &'a Site,
    /// Up to which age markers count.
    pub ages: Ages,
    /// The time of the request, in minutes since 1970.
    pub now_minutes: u32,
}

/// The marker of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marker {
    /// A typed address, a bookmark, a link of another site.
    Absent,
    /// In the format of a marker, but it does not open, or there are several.
    Broken,
    /// Sealed here.
    Genuine(Opened),
}

/// A request target, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading<'a> {
    /// The target as the site gets it; `None` where it was sealed and does not open.
    pub target: Option<Cow<'a, [u8]>>,
    /// What the marker says.
    pub marker: Marker,
}

impl Reader<'_> {
    /// Reads a request target in origin form. Markers of all styles are read, whichever the owner has chosen by now.
    pub fn target<'a>(&self, target: &'a [u8]) -> Reading<'a> {
        let stripped = target::strip(target, self.name);
        let Some(sealed) = SealedTarget::of(&stripped.target, self.name) else {
            return Reading {
                marker: self.marker(stripped.found),
                target: Some(stripped.target),
            };
        };
        let opened = self.open(sealed.text);
        let inner = opened.as_ref().and_then(|opened| opened.target.as_ref());
        let target = inner.map(|inner| Cow::Owned(sealed.restored(inner)));
        let marker = match (stripped.found, opened) {
            (Found::Nothing, Some(opened)) => Marker::Genuine(opened),
            _ => Marker::Broken,
        };
        Reading { target, marker }
    }

    /// Reads an absolute address, as in `Referer`. One of another site stays as it is. A sealed address that does not open becomes that of the
    /// site's front page, so that the site never sees a marker.
    pub fn address<'a>(&self, address: &'a [u8]) -> Reading<'a> {
        let start = target_start(address);
        if !self.is_own(&address[..start]) {
            return Reading {
                target: Some(Cow::Borrowed(address)),
                marker: Marker::Absent,
            };
        }
        let (origin, target) = address.split_at(start);
        let reading = self.target(target);
        let target = match reading.target {
            Some(Cow::Borrowed(_)) => Cow::Borrowed(address),
            Some(Cow::Owned(target)) => Cow::Owned([origin, &target].concat()),
            None => Cow::Owned([origin, b"/"].concat()),
        };
        Reading {
            target: Some(target),
            marker: reading.marker,
        }
    }

    fn is_own(&self, origin: &[u8]) -> bool {
        let host = memchr::memmem::find(origin, b"://").map(|at| &origin[at + 3..]);
        let host = host.and_then(|host| std::str::from_utf8(host).ok());
        host.is_some_and(|host| Site::new(host) == *self.site)
    }

    fn marker(&self, found: Found) -> Marker {
        let text = match found {
            Found::Nothing => return Marker::Absent,
            // An empty text does not open either, and takes as long.
            Found::Several => &[],
            Found::One(text) => text,
        };
        self.open(text).map_or(Marker::Broken, Marker::Genuine)
    }

    fn open(&self, text: &[u8]) -> Option<Opened> {
        let Reader { ring, site, .. } = self;
        ring.open(text, site, self.now_minutes, &self.ages)
    }
}

/// Where the target of an absolute address begins, or of a target itself.
fn target_start(address: &[u8]) -> usize {
    let Some(authority) = memchr::memmem::find(address, b"://") else {
        return 0;
    };
    let rest = &address[authority + 3..];
    let is_end = |byte: &u8| matches!(byte, b'/' | b'?' | b'#');
    let length = rest.iter().position(is_end).unwrap_or(rest.len());
    authority + 3 + length
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Key;
    use crate::seal::Facts;
    use crate::seal::PageMarker;
    use crate::target::Style;
    use crate::target::mark;

    fn ring(id: u16) -> Keyring {
        let key = Key {
            id,
            secret: [id as u8; 32],
            since_minutes: 0,
        };
        Keyring::new(&[key], &[2; 32]).unwrap()
    }

    fn marked(target: &str, style: Style, ring: &Keyring) -> String {
        let facts = Facts {
            parent: ring.page_name(b"/"),
            user: ring.user_name(b"anna"),
            minted_minutes: 10,
        };
        let mut page = PageMarker::new(ring, &Site::new("example.org"), facts, [7; 12]);
        let bytes = mark(target.as_bytes(), style, &Name::default(), &mut page).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    fn reader<'a>(ring: &'a Keyring, name: &'a Name, site: &'a Site) -> Reader<'a> {
        Reader {
            ring,
            name,
            site,
            ages: Ages::default(),
            now_minutes: 20,
        }
    }

    fn check(target: &str, expected: Option<&str>, kind: &str) {
        let (ring, name, site) = (ring(1), Name::default(), Site::new("example.org"));
        let reader = reader(&ring, &name, &site);
        let reading = reader.target(target.as_bytes());
        assert_eq!(
            reading.target.as_deref(),
            expected.map(str::as_bytes),
            "{target}"
        );
        let got = match &reading.marker {
            Marker::Absent => "absent",
            Marker::Broken => "broken",
            Marker::Genuine(opened) => {
                assert_eq!(opened.facts.user, ring.user_name(b"anna"));
                "genuine"
            }
        };
        assert_eq!(got, kind, "{target}");
        let address = format!("https://example.org{target}");
        let referrer = reader.address(address.as_bytes());
        let expected = format!("https://example.org{}", expected.unwrap_or("/"));
        assert_eq!(referrer.target.as_deref(), Some(expected.as_bytes()));
        assert_eq!(referrer.marker, reading.marker);
    }

    #[test]
    fn requests_are_read_in_every_style() {
        let own = ring(1);
        let foreign = ring(2);
        for style in [Style::Query, Style::Path, Style::Sealed] {
            check(
                &marked("/a/b?x=1", style, &own),
                Some("/a/b?x=1"),
                "genuine",
            );
            let expected = (style != Style::Sealed).then_some("/a/b?x=1");
            check(&marked("/a/b?x=1", style, &foreign), expected, "broken");
        }
        check("/a/b?x=1", Some("/a/b?x=1"), "absent");
        check("/?cg=mine", Some("/?cg=mine"), "absent");
    }

    #[test]
    fn two_markers_are_broken_and_both_removed() {
        let own = ring(1);
        let twice = marked(&marked("/a", Style::Query, &own), Style::Path, &own);
        check(&twice, Some("/a"), "broken");
        let both = format!(
            "{}?{}",
            marked("/a", Style::Sealed, &own),
            &marked("/", Style::Query, &own)[2..]
        );
        check(&both, Some("/a"), "broken");
    }

    #[test]
    fn addresses_of_other_sites_stay() {
        let (ring, name, site) = (ring(1), Name::default(), Site::new("example.org"));
        let reader = reader(&ring, &name, &site);
        let target = marked("/a", Style::Query, &ring);
        for origin in ["https://example.com", "https://example.org@example.com", ""] {
            let address = format!("{origin}{target}");
            let reading = reader.address(address.as_bytes());
            assert_eq!(reading.target.as_deref(), Some(address.as_bytes()));
            assert_eq!(reading.marker, Marker::Absent);
        }
    }

    #[test]
    fn addresses_without_a_path_are_left() {
        for (address, start) in [
            ("https://example.org", 19),
            ("https://example.org?x", 19),
            ("/a", 0),
            ("about:blank", 0),
        ] {
            assert_eq!(target_start(address.as_bytes()), start, "{address}");
        }
    }
}
