//! As much of the tree of elements as the reading of tags depends on.
//!
//! What stands behind a start tag is markup or raw text, depending on its name, and in some places on the elements around it: in `svg` and
//! `math`, in `select`, in templates. Where that depends on more than is followed here, or browsers differ, the page is given up.

use crate::tag::Short;
use crate::tag::Tag;

/// Deeper nesting in `svg` or `math` is given up.
const DEPTH_MAX: usize = 256;

/// Why the rest of a page passes as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GaveUp {
    /// `<plaintext>`: the rest is text.
    Plaintext,
    /// `<frameset>`: the rest is ignored by rules of its own.
    Frameset,
    /// Raw text or foreign elements in `<select>`, which browsers read in two ways.
    Select,
    /// Tags in `svg` or `math` that do not match.
    Foreign,
    /// Table columns in a template.
    Template,
    /// An encoding in which markup is not ASCII.
    Encoding,
}

/// What stands behind a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    Markup,
    /// Text up to the end tag of this name.
    Raw(&'static [u8]),
    Script,
    GiveUp(GaveUp),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Svg,
    Math,
    /// An element of these in which HTML stands.
    Island,
    /// HTML on an island.
    Html,
}

/// The open elements that matter.
#[derive(Debug, Default)]
pub(crate) struct Nesting {
    /// From the outermost `svg` or `math` on. Empty nearly always.
    open: Vec<(Short, Kind)>,
    templates: usize,
    /// The number of templates around an open `select`.
    select: Option<usize>,
}

impl Nesting {
    /// Whether links here are links of the page.
    #[inline]
    pub(crate) fn takes_links(&self) -> bool {
        self.open.is_empty() && self.templates == 0
    }

    /// Whether `<![CDATA[` begins a section here.
    pub(crate) fn takes_cdata(&self) -> bool {
        self.open
            .last()
            .is_some_and(|(_, kind)| *kind != Kind::Html)
    }

    /// Takes a tag in.
    #[inline]
    pub(crate) fn tag(&mut self, tag: &Tag) -> Then {
        let top = self.open.last().map(|(_, kind)| *kind);
        match (tag.is_end, top) {
            (true, None) => self.end(tag),
            (true, Some(Kind::Html)) => self.island_end(tag),
            (true, Some(_)) => self.foreign_end(tag),
            (false, None) => self.start(tag),
            (false, Some(Kind::Html | Kind::Island)) => self.island_start(tag),
            (false, Some(Kind::Math)) => self.foreign_start(tag, Kind::Math),
            (false, Some(Kind::Svg)) => self.foreign_start(tag, Kind::Svg),
        }
    }

    fn start(&mut self, tag: &Tag) -> Then {
        let is_select = self.select.is_some();
        if let Some(name) = raw_text(tag.name.text()) {
            return match name {
                b"textarea" => {
                    self.leave_select();
                    Then::Raw(name)
                }
                _ if is_select => Then::GiveUp(GaveUp::Select),
                _ => Then::Raw(name),
            };
        }
        match tag.name.text() {
            b"script" => return Then::Script,
            b"plaintext" => return Then::GiveUp(GaveUp::Plaintext),
            b"frameset" => return Then::GiveUp(GaveUp::Frameset),
            b"svg" | b"math" if is_select => return Then::GiveUp(GaveUp::Select),
            b"svg" => self.push(tag, Kind::Svg),
            b"math" => self.push(tag, Kind::Math),
            // Columns make a template ignore what follows them, and with it the start tags of raw text.
            b"col" if self.templates > 0 => return Then::GiveUp(GaveUp::Template),
            b"template" => self.templates += 1,
            b"select" if !is_select => self.select = Some(self.templates),
            b"select" | b"input" | b"keygen" => self.leave_select(),
            _ => {}
        }
        Then::Markup
    }

    /// These start tags end an open `select`, unless a template stands between.
    fn leave_select(&mut self) {
        self.select = self.select.filter(|templates| *templates != self.templates);
    }

    fn end(&mut self, tag: &Tag) -> Then {
        match tag.name.text() {
            b"select"
                if self
                    .select
                    .is_some_and(|templates| templates != self.templates) =>
            {
                return Then::GiveUp(GaveUp::Select);
            }
            b"select" => self.select = None,
            b"template" => {
                self.templates = self.templates.saturating_sub(1);
                self.select = self.select.filter(|templates| *templates <= self.templates);
            }
            _ => {}
        }
        Then::Markup
    }

    fn push(&mut self, tag: &Tag, kind: Kind) {
        if !tag.is_self_closing {
            self.open.push((tag.name, kind));
        }
    }

    fn foreign_start(&mut self, tag: &Tag, kind: Kind) -> Then {
        let name = tag.name.text();
        if ends_foreign(name) || name.is_empty() || self.open.len() >= DEPTH_MAX {
            return Then::GiveUp(GaveUp::Foreign);
        }
        let is_island = match kind {
            Kind::Svg => matches!(name, b"title" | b"desc" | b"foreignobject"),
            _ => matches!(name, b"mi" | b"mo" | b"mn" | b"ms" | b"mtext"),
        };
        if matches!(name, b"annotation-xml" | b"mglyph" | b"malignmark") {
            return Then::GiveUp(GaveUp::Foreign);
        }
        self.push(tag, if is_island { Kind::Island } else { kind });
        Then::Markup
    }

    /// An end tag among foreign elements closes all up to its element. If there is none, it may close an element around them.
    fn foreign_end(&mut self, tag: &Tag) -> Then {
        let is_foreign = |(_, kind): &&(Short, Kind)| *kind != Kind::Html;
        let mut foreign = self.open.iter().rev().take_while(is_foreign);
        let found = foreign.position(|(name, _)| *name == tag.name);
        match found {
            Some(above) if !tag.name.text().is_empty() => {
                self.open.truncate(self.open.len() - above - 1);
                Then::Markup
            }
            _ => Then::GiveUp(GaveUp::Foreign),
        }
    }

    /// HTML within foreign elements is followed only as long as its tags match.
    fn island_start(&mut self, tag: &Tag) -> Then {
        let name = tag.name.text();
        if let Some(name) = raw_text(name) {
            return Then::Raw(name);
        }
        match name {
            b"script" => return Then::Script,
            b"plaintext" => return Then::GiveUp(GaveUp::Plaintext),
            b"" | b"frameset" | b"select" | b"template" | b"mglyph" | b"malignmark" | b"html"
            | b"head" | b"body" | b"table" => {
                return Then::GiveUp(GaveUp::Foreign);
            }
            _ if self.open.len() >= DEPTH_MAX => return Then::GiveUp(GaveUp::Foreign),
            b"svg" => self.push(tag, Kind::Svg),
            b"math" => self.push(tag, Kind::Math),
            _ if is_void(name) => {}
            _ => self.open.push((tag.name, Kind::Html)),
        }
        Then::Markup
    }

    fn island_end(&mut self, tag: &Tag) -> Then {
        let is_top = self.open.last().is_some_and(|(name, _)| *name == tag.name);
        if !is_top || tag.name.text().is_empty() {
            return Then::GiveUp(GaveUp::Foreign);
        }
        self.open.pop();
        Then::Markup
    }
}

/// The elements whose content is text, in browsers that run scripts.
#[inline]
fn raw_text(name: &[u8]) -> Option<&'static [u8]> {
    Some(match name {
        b"style" => b"style",
        b"title" => b"title",
        b"textarea" => b"textarea",
        b"iframe" => b"iframe",
        b"xmp" => b"xmp",
        b"noembed" => b"noembed",
        b"noframes" => b"noframes",
        b"noscript" => b"noscript",
        _ => return None,
    })
}

/// Start tags that end foreign content (HTML Standard, 13.2.6.5). `font` does so only with some attributes.
fn ends_foreign(name: &[u8]) -> bool {
    matches!(
        name,
        b"b" | b"big"
            | b"blockquote"
            | b"body"
            | b"br"
            | b"center"
            | b"code"
            | b"dd"
            | b"div"
            | b"dl"
            | b"dt"
            | b"em"
            | b"embed"
            | b"font"
            | b"h1"
            | b"h2"
            | b"h3"
            | b"h4"
            | b"h5"
            | b"h6"
            | b"head"
            | b"hr"
            | b"i"
            | b"img"
            | b"li"
            | b"listing"
            | b"menu"
            | b"meta"
            | b"nobr"
            | b"ol"
            | b"p"
            | b"pre"
            | b"ruby"
            | b"s"
            | b"small"
            | b"span"
            | b"strong"
            | b"strike"
            | b"sub"
            | b"sup"
            | b"table"
            | b"tt"
            | b"u"
            | b"ul"
            | b"var"
    )
}

fn is_void(name: &[u8]) -> bool {
    matches!(
        name,
        b"area"
            | b"base"
            | b"basefont"
            | b"bgsound"
            | b"br"
            | b"col"
            | b"embed"
            | b"frame"
            | b"hr"
            | b"image"
            | b"img"
            | b"input"
            | b"keygen"
            | b"link"
            | b"meta"
            | b"param"
            | b"source"
            | b"track"
            | b"wbr"
    )
}
