//! What a request's target is: a page a person reads, a part of one, or something else.

use super::record::File;
use super::target::Target;

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
    #[inline]
    pub(super) fn of(target: &Target<'_>) -> Resource {
        let path = target.path;
        // Some sites send all paths on to one with a slash at its end.
        if matches!(path, b"/robots.txt" | b"/robots.txt/") {
            return Resource::Robots;
        }
        let extension = target.extension();
        let name = target.name();
        if extension > name && extension < path.len() {
            return match of_extension(&path[extension..]) {
                Resource::Image if is_icon(&path[name..]) => Resource::Icon,
                resource => resource,
            };
        }
        match is_program_interface(target) {
            true => Resource::Other,
            false => Resource::Page,
        }
    }

    /// What kind of file the target names, if it is neither a page nor a part of one.
    #[inline]
    pub(super) fn file(self, target: &Target<'_>) -> File {
        match self {
            Resource::Other => file(&target.path[target.extension().min(target.path.len())..]),
            _ => File::None,
        }
    }

    /// True where a request with this method is one for a page.
    pub(super) fn is_page(self, method: &[u8]) -> bool {
        self == Resource::Page && method == b"GET"
    }
}

/// What a request asks for, as limits count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Content a person reads.
    Page,
    /// Other text and files: interfaces for programs, feeds, downloads.
    Document,
    /// Parts of pages, pictures, sound and film, and every request that does not read.
    Part,
}

impl Content {
    /// What a request asks for, as far as its method and target tell.
    pub fn of(method: &[u8], target: &[u8]) -> Content {
        let target = Target::of(target);
        let resource = Resource::of(&target);
        match resource {
            _ if method != b"GET" => Content::Part,
            Resource::Page => Content::Page,
            Resource::Other
                if is_media(&target.path[target.extension().min(target.path.len())..]) =>
            {
                Content::Part
            }
            Resource::Other => Content::Document,
            Resource::Asset
            | Resource::Font
            | Resource::Image
            | Resource::Icon
            | Resource::Robots => Content::Part,
        }
    }
}

/// True for the names of sound, film and their pieces: a film comes in hundreds of requests.
fn is_media(extension: &[u8]) -> bool {
    const MEDIA: [&[u8]; 18] = [
        b"mp4", b"m4v", b"m4s", b"webm", b"ogv", b"mov", b"mpd", b"m3u8", b"ts", b"vtt", b"mp3",
        b"m4a", b"aac", b"ogg", b"opus", b"wav", b"flac", b"wasm",
    ];
    MEDIA
        .iter()
        .any(|known| extension.eq_ignore_ascii_case(known))
}

/// Kinds of files by extension.
fn file(extension: &[u8]) -> File {
    const ARCHIVES: [&[u8]; 8] = [b"zip", b"gz", b"tgz", b"bz2", b"xz", b"7z", b"rar", b"tar"];
    const TEXTS: [&[u8]; 10] = [
        b"pdf", b"ps", b"txt", b"doc", b"docx", b"odt", b"rtf", b"csv", b"md", b"epub",
    ];
    const BINARIES: [&[u8]; 8] = [
        b"exe", b"msi", b"dmg", b"apk", b"deb", b"rpm", b"iso", b"bin",
    ];
    let is_one = |known: &[&[u8]]| known.iter().any(|one| extension.eq_ignore_ascii_case(one));
    match extension {
        _ if is_one(&TEXTS) => File::Text,
        _ if is_one(&ARCHIVES) => File::Archive,
        _ if is_one(&BINARIES) => File::Binary,
        _ if is_media(extension) => File::Media,
        _ => File::None,
    }
}

/// True for a request for a page, as far as that is known before it is answered: what a [`Record`](super::Record) of it will say.
pub fn is_page(method: &[u8], target: &[u8]) -> bool {
    Resource::of(&Target::of(target)).is_page(method)
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

/// True for the usual names of a site's icon, which programs fetch to tell which software the site runs. Icons for home screens are
/// fetched by people's devices alone.
fn is_icon(name: &[u8]) -> bool {
    name.starts_with(b"favicon")
}

/// Feeds and interfaces for programs, at the top of the site or one folder below it.
#[inline]
fn is_program_interface(target: &Target<'_>) -> bool {
    let path = target.path;
    starts_interface(path)
        || starts_interface(&path[target.second_slash()..])
        || path.ends_with(b"/feed/")
        || path.ends_with(b"/feed")
}

/// True for the beginning of a feed's or an interface's path. Hardly a path has the first letter of one.
#[inline]
fn starts_interface(path: &[u8]) -> bool {
    match path.get(1) {
        Some(b'a') => path.starts_with(b"/api/") || path.starts_with(b"/atom"),
        Some(b'f') => path.starts_with(b"/feed"),
        Some(b'g') => path.starts_with(b"/graphql"),
        Some(b'o') => path.starts_with(b"/oai"),
        Some(b'r') => path.starts_with(b"/rss"),
        Some(b'w') => path.starts_with(b"/wp-json") || path.starts_with(b"/ws/"),
        Some(b'.') => path.starts_with(b"/.well-known/"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Gathered;
    use super::super::Recorder;
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
            ("/favicon.ico", Icon),
            ("/media/favicon-32x32.png", Icon),
            ("/apple-touch-icon.png", Image),
            ("/favicons", Page),
            ("/static/a.woff2", Font),
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
            let found = Resource::of(&Target::of(target.as_bytes()));
            assert_eq!(found, expected, "{target}");
        }
    }

    #[test]
    fn what_limits_count() {
        for (method, target, expected) in [
            ("GET", "/a", Content::Page),
            ("POST", "/a", Content::Part),
            ("GET", "/t/7.json", Content::Document),
            ("GET", "/paper.PDF", Content::Document),
            ("GET", "/feed/?paged=7", Content::Document),
            ("GET", "/api/x", Content::Document),
            ("GET", "/a.css", Content::Part),
            ("GET", "/film/7.TS", Content::Part),
            ("GET", "/robots.txt", Content::Part),
        ] {
            let found = Content::of(method.as_bytes(), target.as_bytes());
            assert_eq!(found, expected, "{method} {target}");
        }
    }

    #[test]
    fn what_is_a_page_is_known_before_it_is_answered() {
        let knowledge = Knowledge::new("[]", Vec::new()).unwrap();
        let recorder = Recorder::new(1, &[]).unwrap();
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
                let record = recorder.record(&request, &knowledge, &mut Gathered::default());
                assert_eq!(record.is_page(), is_page(method, target));
            }
        }
        assert!(is_page(b"GET", b"/"));
    }
}
