//! The owner's frame around the pages: an HTML file with places for what the gate puts there.
//!
//! Invariant: what is put in stays what it is. The places for texts take escaped text, which is sound in an element and in a quoted
//! attribute; the place for the content must lie where elements can stand.

/// Longer than any frame.
const BYTES_MAX: usize = 256 << 10;
const CONTENT: &str = "content";
/// The places, and what each is for.
const PLACES: [(&str, &str); 4] = [
    ("lang", "<html lang=\"{{lang}}\">, the page's language"),
    ("title", "<title>{{title}}</title>, the page's title"),
    (
        "style",
        "<link rel=\"stylesheet\" href=\"{{style}}\">, the gate's style sheet",
    ),
    (CONTENT, "{{content}} in the body, the page itself"),
];
/// What the pages' content security policy would block, or what would turn the content into something else.
const FORBIDDEN: [(&str, &str); 5] = [
    (
        "<script",
        "the pages allow no scripts but the gate's: remove it",
    ),
    (
        "<style",
        "the pages allow no inline styles: link a style sheet of your site instead",
    ),
    (
        "<base",
        "it would change where the page's links lead: remove it",
    ),
    ("<iframe", "the pages allow no frames: remove it"),
    ("<form", "the content holds forms of its own: remove it"),
];
/// Elements in which a tag is not a tag, or a page cannot stand.
const RAW: [&str; 5] = ["title", "textarea", "noscript", "select", "template"];

/// A frame, in pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Text, and the place behind it.
    pieces: Vec<(String, &'static str)>,
    end: String,
}

/// What a page puts into its frame. All but the content is escaped.
#[derive(Debug)]
pub(super) struct Filling<'a> {
    pub(super) lang: &'a str,
    pub(super) title: &'a str,
    pub(super) style: &'a str,
    pub(super) content: &'a str,
}

impl Template {
    /// Reads a frame, and says what is wrong with it and what to do.
    pub fn parse(text: &str) -> Result<Template, String> {
        if text.len() > BYTES_MAX {
            return Err(format!("it is longer than {} KiB", BYTES_MAX >> 10));
        }
        let lower = text.to_ascii_lowercase();
        for (word, cure) in FORBIDDEN {
            if let Some(at) = lower.find(word) {
                return Err(format!("line {}: '{word}': {cure}", line(text, at)));
            }
        }
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let at = text.len() - after.len();
            let Some((name, after)) = after.split_once("}}") else {
                return Err(format!("line {}: '{{{{' without '}}}}'", line(text, at)));
            };
            let Some((name, _)) = PLACES.iter().find(|(known, _)| *known == name.trim()) else {
                let names = PLACES.map(|(name, _)| format!("{{{{{name}}}}}")).join(", ");
                return Err(format!(
                    "line {}: there is no placeholder '{{{{{}}}}}'; there are {names}",
                    line(text, at),
                    name.escape_default()
                ));
            };
            pieces.push((before.to_owned(), *name));
            rest = after;
        }
        let template = Template {
            pieces,
            end: rest.to_owned(),
        };
        template.check(&lower)?;
        Ok(template)
    }

    /// All places are there, and the content can stand where its place is.
    fn check(&self, lower: &str) -> Result<(), String> {
        for (name, purpose) in PLACES {
            let count = self
                .pieces
                .iter()
                .filter(|(_, place)| *place == name)
                .count();
            if count == 0 {
                return Err(format!(
                    "the placeholder {{{{{name}}}}} is missing: add {purpose}"
                ));
            }
            if name == CONTENT && count > 1 {
                return Err("the placeholder {{content}} stands there twice: keep one".to_owned());
            }
        }
        let before = lower
            .split_once("{{content")
            .or_else(|| lower.split_once("{{ content"));
        let before = before.map_or("", |(before, _)| before);
        let is_open = |open: &str, close: &str| before.rfind(open) > before.rfind(close);
        let in_raw = RAW
            .iter()
            .find(|name| is_open(&format!("<{name}"), &format!("</{name}")));
        match in_raw {
            Some(name) => Err(format!(
                "the placeholder {{{{content}}}} stands in <{name}>: put it into the body"
            )),
            _ if !before.contains("<body") => {
                Err("the placeholder {{content}} stands before <body>: put it behind".to_owned())
            }
            _ if is_open("<!--", "-->") => Err(
                "the placeholder {{content}} stands in a comment: put it into the body".to_owned(),
            ),
            _ if is_open("<", ">") => Err(
                "the placeholder {{content}} stands in a tag: put it between two tags of the body"
                    .to_owned(),
            ),
            _ => Ok(()),
        }
    }

    /// A page in this frame.
    pub(super) fn fill(&self, filling: &Filling<'_>) -> String {
        let mut page = String::with_capacity(filling.content.len() + 4096);
        for (text, place) in &self.pieces {
            page.push_str(text);
            page.push_str(match *place {
                "lang" => filling.lang,
                "title" => filling.title,
                "style" => filling.style,
                _ => filling.content,
            });
        }
        page.push_str(&self.end);
        page
    }
}

fn line(text: &str, at: usize) -> usize {
    1 + text.get(..at).unwrap_or("").matches('\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: &str = "<!doctype html>\n<html lang=\"{{lang}}\">\n<head><title>{{ title }}</title>\n<link rel=\"stylesheet\" href=\"{{style}}\"></head>\n<body><header>Shop</header>\n{{content}}\n</body></html>\n";

    #[test]
    fn a_page_stands_in_its_frame() {
        let page = Template::parse(SOUND).unwrap().fill(&Filling {
            lang: "de",
            title: "T {{content}}",
            style: "/s.css",
            content: "<main>{{title}}</main>",
        });
        assert_eq!(
            page,
            "<!doctype html>\n<html lang=\"de\">\n<head><title>T {{content}}</title>\n<link rel=\"stylesheet\" href=\"/s.css\"></head>\n<body><header>Shop</header>\n<main>{{title}}</main>\n</body></html>\n"
        );
    }

    #[test]
    fn the_example_in_the_manual_is_sound() {
        let manual = include_str!("../../../../docs/gate.md");
        let (_, rest) = manual.split_once("```html\n").unwrap();
        let (example, _) = rest.split_once("```").unwrap();
        Template::parse(example).unwrap();
    }

    fn check(from: &str, to: &str, expected: &str) {
        assert!(SOUND.contains(from), "{from}");
        let error = Template::parse(&SOUND.replace(from, to)).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn what_is_missing_or_cannot_work_is_said_with_its_cure() {
        check("{{lang}}", "de", "{{lang}} is missing: add <html lang=");
        check("{{ title }}", "Shop", "{{title}} is missing");
        check("{{style}}", "/my.css", "{{style}} is missing");
        check("{{content}}", "", "{{content}} is missing");
        check("Shop", "{{content}}", "twice");
        check(
            "Shop",
            "{{name}}",
            "line 5: there is no placeholder '{{name}}'; there are {{lang}}",
        );
        check("Shop", "{{lang", "there is no placeholder");
        check("\n</body></html>\n", "{{x", "line 6: '{{' without");
        check(
            "Shop",
            "<SCRIPT src=/x.js>",
            "line 5: '<script': the pages allow no scripts",
        );
        check(
            "Shop",
            "<style>p{}</style>",
            "link a style sheet of your site",
        );
        check("Shop", "<base href=/x/>", "'<base'");
        check("{{content}}", "<!-- {{content}} -->", "in a comment");
        check("{{content}}", "<p title=\"{{content}}\">", "in a tag");
        check(
            "{{content}}",
            "<textarea>{{content}}</textarea>",
            "in <textarea>",
        );
        check("<body>", "", "before <body>");
        let long = SOUND.replace("Shop", &"x".repeat(BYTES_MAX));
        assert!(Template::parse(&long).unwrap_err().contains("longer"));
        assert!(Template::parse("").is_err());
    }
}
