//! The site that is visited: sections with pages in order, and what a browser loads with each.

use crate::random::Random;

/// What differs from site to site.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) sections: u64,
    /// Pages of each section.
    pub(super) pages: u64,
    /// Style sheets and scripts that all pages share, and those that a section has for itself.
    pub(super) shared_parts: u64,
    pub(super) section_parts: u64,
    pub(super) fonts: u64,
    pub(super) has_icon: bool,
    /// Pictures of a page on average.
    pub(super) images: f64,
    /// Share of pictures that come when somebody scrolls down.
    pub(super) lazy: f64,
    /// Parts may be kept without asking; else a browser asks whether its copy is still good.
    pub(super) keeps_parts: bool,
    /// Seconds between calls of the pages' own scripts; 0 for none.
    pub(super) call_seconds: f64,
    /// Milliseconds of an answer on average.
    pub(super) answer_ms: f64,
    /// Parts of pages are in this log. They are not where another server has them.
    pub(super) logs_parts: bool,
    /// Referrers are in this log.
    pub(super) logs_referrers: bool,
    /// Share of links that lead nowhere.
    pub(super) broken: f64,
    /// Share of links that lead to a document.
    pub(super) documents: f64,
}

/// A page: its section and its number there; number 0 lists the others. Section 0 with number 0 is the start page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) section: u64,
    pub(super) number: u64,
}

impl Page {
    pub(super) const START: Page = Page {
        section: 0,
        number: 0,
    };

    pub(super) fn is_listing(self) -> bool {
        self.number == 0
    }

    pub(super) fn target(self) -> String {
        match self {
            Page::START => "/".to_owned(),
            Page { section, number: 0 } => format!("/topic-{section}/"),
            Page { section, number } => format!("/topic-{section}/text-{number}.html"),
        }
    }
}

impl Site {
    pub(super) fn draw(random: &mut Random) -> Site {
        Site {
            sections: 3 + random.below(12),
            pages: 5 + random.below(60),
            shared_parts: 1 + random.below(10),
            section_parts: random.below(4),
            fonts: random.below(4),
            has_icon: random.chance(0.85),
            images: random.between(0.0, 2.5).exp() - 1.0,
            lazy: random.unit(),
            keeps_parts: random.chance(0.6),
            call_seconds: match random.chance(0.4) {
                true => random.between(0.7, 3.5).exp(),
                false => 0.0,
            },
            answer_ms: random.between(3.0, 6.5).exp(),
            logs_parts: random.chance(0.8),
            logs_referrers: random.chance(0.85),
            broken: random.between(0.0, 0.04),
            documents: random.between(0.0, 0.05),
        }
    }

    /// True for what another server may have: all but pages and calls.
    pub(super) fn is_part(target: &str) -> bool {
        target.starts_with("/static/") || target.starts_with("/images/")
    }

    /// A page of the site, listings seldom.
    pub(super) fn any(&self, random: &mut Random) -> Page {
        Page {
            section: random.below(self.sections),
            number: random.below(self.pages),
        }
    }

    /// Where somebody goes by a link of this page.
    pub(super) fn link(&self, random: &mut Random, from: Page) -> Page {
        let near = match from.is_listing() {
            true => 0.9,
            false => 0.45,
        };
        match random.unit() {
            share if share < near => Page {
                section: from.section,
                number: 1 + random.below(self.pages - 1),
            },
            share if share < near + 0.3 => Page {
                section: from.section,
                number: 0,
            },
            share if share < 0.9 => Page {
                section: random.below(self.sections),
                number: 0,
            },
            _ => Page::START,
        }
    }

    /// The page that stands next in the order of listings.
    pub(super) fn next(&self, page: Page) -> Page {
        match page.number + 1 < self.pages {
            true => Page {
                number: page.number + 1,
                ..page
            },
            false => Page {
                section: (page.section + 1) % self.sections,
                number: 0,
            },
        }
    }

    /// Style sheets and scripts of a page.
    pub(super) fn parts(&self, page: Page) -> impl Iterator<Item = String> {
        let name = |number: u64| match number % 2 {
            0 => format!("/static/style-{number}.css"),
            _ => format!("/static/script-{number}.js"),
        };
        let section = page.section;
        let shared = (0..self.shared_parts).map(name);
        let own =
            (0..self.section_parts).map(move |number| format!("/static/{section}-{number}.js"));
        let fonts = (0..self.fonts).map(|number| format!("/static/font-{number}.woff2"));
        shared.chain(own).chain(fonts)
    }

    /// Pictures of a page, the same at every visit: fewer on some pages than on others.
    pub(super) fn pictures(&self, page: Page) -> impl Iterator<Item = String> {
        let spread = (page.section * 31 + page.number * 17) % 20;
        let many = (self.images * spread as f64 / 10.0) as u64;
        (0..many)
            .map(move |number| format!("/images/{}-{}-{number}.jpg", page.section, page.number))
    }
}
