//! What a request's target is: a page a person reads, a part of one, or something else.

/// Kinds of resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resource {
    /// Content a person reads.
    Page,
    /// Style sheets and scripts: what a browser fetches by itself to show a page.
    Asset,
    /// Fonts, which style sheets name.
    Font,
    /// Pictures, which it fetches likewise.
    Image,
    /// The site's icon. Browsers ask for it whether its pages have parts or not: it belongs to no page.
    Icon,
    /// `/robots.txt`
    Robots,
    /// Feeds, interfaces for programs, downloads.
    Other,
}

impl Resource {
    /// The kind of a target, by its path.
    pub(super) fn of(path: &[u8]) -> Resource {
        // Some sites send all paths on to one with a slash at its end.
        if matches!(path, b"/robots.txt" | b"/robots.txt/") {
            return Resource::Robots;
        }
        // Names are short: a loop beats a search.
        let name = &path[path
            .iter()
            .rposition(|byte| *byte == b'/')
            .map_or(0, |slash| slash + 1)..];
        match name.iter().rposition(|byte| *byte == b'.') {
            Some(dot) if dot + 1 < name.len() => of_extension(&name[dot + 1..]),
            _ if is_program_interface(path) => Resource::Other,
            _ => Resource::Page,
        }
    }

    /// True where a request with this method is one for a page.
    pub(super) fn is_page(self, method: &[u8]) -> bool {
        self == Resource::Page && method == b"GET"
    }
}

/// True for a request for a page, as far as that is known before it is answered: what a [`Record`](super::Record) of it will say.
pub fn is_page(method: &[u8], target: &[u8]) -> bool {
    Resource::of(path(target)).is_page(method)
}

/// The target without query and fragment.
pub(crate) fn path(target: &[u8]) -> &[u8] {
    &target[..memchr::memchr2(b'?', b'#', target).unwrap_or(target.len())]
}

fn of_extension(extension: &[u8]) -> Resource {
    let mut lower = [0_u8; 8];
    let Some(lower) = lower.get_mut(..extension.len()) else {
        return Resource::Page;
    };
    lower.copy_from_slice(extension);
    lower.make_ascii_lowercase();
    match &*lower {
        b"html" | b"htm" | b"xhtml" | b"shtml" | b"php" | b"php3" | b"php5" | b"phtml" | b"jsp"
        | b"jspx" | b"asp" | b"aspx" | b"do" | b"cgi" | b"pl" | b"cfm" => Resource::Page,
        b"css" | b"js" | b"mjs" | b"map" => Resource::Asset,
        b"woff" | b"woff2" | b"ttf" | b"eot" | b"otf" => Resource::Font,
        b"png" | b"jpg" | b"jpeg" | b"gif" | b"svg" | b"webp" | b"avif" | b"bmp" => Resource::Image,
        b"ico" => Resource::Icon,
        // A dot inside a page's name: /release-2.0, /john.smith
        _ if lower.iter().all(u8::is_ascii_digit) => Resource::Page,
        _ => Resource::Other,
    }
}

/// Feeds and interfaces for programs, at the top of the site or one folder below it.
fn is_program_interface(path: &[u8]) -> bool {
    const STARTS: [&[u8]; 9] = [
        b"/api/",
        b"/graphql",
        b"/wp-json",
        b"/feed",
        b"/rss",
        b"/atom",
        b"/ws/",
        b"/.well-known/",
        b"/oai",
    ];
    // Hardly a path has the first letter of one.
    let is_start = |path: &[u8]| {
        matches!(
            path,
            [_, b'a' | b'g' | b'w' | b'f' | b'r' | b'.' | b'o', ..]
        ) && STARTS.iter().any(|start| path.starts_with(start))
    };
    let below = path
        .iter()
        .skip(1)
        .position(|byte| *byte == b'/')
        .map_or(path.len(), |at| at + 1);
    is_start(path)
        || is_start(&path[below..])
        || path.ends_with(b"/feed/")
        || path.ends_with(b"/feed")
}

#[cfg(test)]
mod tests {
    use super::super::Gathered;
    use super::super::Lens;
    use super::*;
    use crate::knowledge::Knowledge;
    use crate::request::Client;
    use crate::request::Request;

    #[test]
    fn kinds() {
        use Resource::*;
        for (target, expected) in [
            ("/", Page),
            ("/index.php?id=3", Page),
            ("/product/17", Page),
            ("/release-2.0", Page),
            ("/a.PNG", Image),
            ("/favicon.ico", Other),
            ("/static/app.3fa1.js?v=1", Asset),
            ("/robots.txt", Robots),
            ("/robots.txt/", Robots),
            ("/feed", Other),
            ("/shop/api/v1/stock?ids=1", Other),
            ("/paper.pdf", Other),
            ("/sitemap.xml", Other),
            ("*", Page),
            ("/x.", Page),
        ] {
            assert_eq!(Resource::of(path(target.as_bytes())), expected, "{target}");
        }
    }

    #[test]
    fn what_is_a_page_is_known_before_it_is_answered() {
        let knowledge = Knowledge::new("[]", Vec::new()).unwrap();
        let lens = Lens::new(1, &[]).unwrap();
        let methods: [&[u8]; 4] = [b"GET", b"HEAD", b"POST", b"get"];
        let targets =
            "/ /a?b=/x.css /index.php#a /a.CSS /robots.txt /feed /x/api/y /v2.0 /a.pdf * x";
        for (method, status) in methods.into_iter().zip([200, 404, 500, 304]) {
            for target in targets.split(' ').map(str::as_bytes) {
                let request = Request {
                    client: Client::Written(b"192.0.2.1"),
                    method,
                    target,
                    status,
                    ..Request::default()
                };
                let record = lens.record(&request, &knowledge, &mut Gathered::default());
                assert_eq!(record.is_page(), is_page(method, target));
            }
        }
        assert!(is_page(b"GET", b"/"));
    }
}
