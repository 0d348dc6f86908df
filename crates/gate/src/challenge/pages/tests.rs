//! Tests of the pages.

use super::super::challenger::Earned;
use super::*;

const HOSTILE: [&str; 8] = [
    "<script>alert(1)</script>",
    "\"onload=\"alert(1)",
    "' onerror='alert(1)",
    "</title><script>",
    "</main></body><!--",
    "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    "&lt;script&gt; `x` \0\x1b[31m\u{202e}gnp",
    "https://x.example/\"onclick=\"alert(1)",
];

fn pages(contact: &str) -> Pages {
    Pages {
        prefix: "/.cattlegrid/".to_owned(),
        contact: contact.to_owned(),
        template: None,
    }
}

fn puzzle(token: &str) -> Puzzle {
    Puzzle {
        token: token.to_owned(),
        seed: "0123456789abcdef0123456789abcdef".to_owned(),
        bits: 15,
        question: Question::of(7),
        set_cookie: None,
    }
}

/// All pages in a language with the same text wherever one can be put.
fn all(language: Language, text: &str) -> Vec<Page> {
    let (pages, reader) = (pages(text), Reader::Person(language));
    vec![
        pages.challenge(language, &puzzle(text), Some(10), ""),
        pages.challenge(language, &puzzle(text), None, ""),
        pages.question(language, (text, Question::of(3)), 10, Note::None),
        pages.question(language, (text, Question::of(4)), 10, Note::Wrong),
        pages.question(language, (text, Question::of(5)), 20, Note::Early),
        pages.question(language, (text, Question::of(6)), 10, Note::New),
        pages.suspect(language, (text, Question::of(3)), 30, Note::None),
        pages.suspect(language, (text, Question::of(4)), 300, Note::New),
        pages.cookies_needed(language, text),
        pages.block(reader, BlockedBy::Traffic, text, None, ""),
        pages.throttle(reader, 30, "K7QX-29FM"),
        pages.upstream_failed(reader, Upstream::Unreachable, text),
        pages.upstream_failed(reader, Upstream::Late, text),
    ]
}

/// All answers for programs.
fn all_json(text: &str) -> Vec<Page> {
    let (pages, reader) = (pages(text), Reader::Program);
    let solved = Solved {
        earned: Earned::New,
        id: 1,
        set_cookie: String::new(),
        return_to: text.to_owned(),
    };
    vec![
        pages.challenge_needed(),
        pages.block(reader, BlockedBy::Traffic, text, None, ""),
        pages.throttle(reader, 30, "K7QX-29FM"),
        pages.upstream_failed(reader, Upstream::Unreachable, text),
        pages.upstream_failed(reader, Upstream::Late, text),
        pages.puzzle(&puzzle(text)),
        pages.solved(&solved),
        pages.cleared(text),
        pages.refused(Refusal::Spent),
    ]
}

fn header<'a>(page: &'a Page, name: &str) -> &'a str {
    let mut values = page.headers.iter().filter(|(given, _)| *given == name);
    let value = &values.next().unwrap_or_else(|| panic!("no {name}")).1;
    assert!(values.next().is_none(), "{name} twice");
    value
}

/// The tags of a page, and what stands between them.
fn skeleton(page: &str) -> Vec<&str> {
    page.split('<')
        .skip(1)
        .map(|tag| tag.split_once('>').unwrap().0.split(' ').next().unwrap())
        .collect()
}

#[test]
fn h080_whatever_is_put_on_a_page_stays_text() {
    for language in Language::ALL {
        let plain = all(language, "plain words");
        for text in HOSTILE {
            for (page, plain) in all(language, text).iter().zip(&plain) {
                // A link for an address of a page is the one tag that a text adds.
                let tags = [page, plain].map(|page| {
                    let tags = skeleton(&page.body).into_iter();
                    tags.filter(|tag| !matches!(*tag, "a" | "/a"))
                        .collect::<Vec<&str>>()
                });
                assert_eq!(tags[0], tags[1], "{text}");
                assert_eq!(page.body.matches('"').count() % 2, 0);
                for bad in [
                    "<script>",
                    "onload=\"",
                    "onclick=\"",
                    "' onerror",
                    "\0",
                    "\x1b",
                    "\u{202e}",
                ] {
                    assert!(!page.body.contains(bad), "{text} gives {bad}");
                }
            }
        }
    }
    // Without escaping the same texts do get through.
    assert!(
        HOSTILE
            .iter()
            .any(|text| skeleton(&format!("<p>{text}</p>")) != ["p", "/p"])
    );
}

#[test]
fn h080_headers_forbid_what_escaping_may_miss() {
    for page in all(Language::English, "x") {
        assert_eq!(header(&page, "content-type"), "text/html; charset=utf-8");
        let policy = header(&page, "content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'; "),
            "{policy}"
        );
        assert!(
            !policy.contains("unsafe")
                && !policy.contains('*')
                && policy.contains("frame-ancestors 'none'")
        );
        for foreign in ["http:", "//", "style=", " onclick", "<style", "<script>"] {
            assert!(!page.body.contains(foreign), "{foreign}");
        }
    }
    for page in all_json("x") {
        assert_eq!(header(&page, "content-type"), "application/json");
    }
    for page in all(Language::English, "x").iter().chain(&all_json("x")) {
        for (name, value) in [
            ("cache-control", "no-store"),
            ("vary", "*"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("x-robots-tag", "noindex"),
        ] {
            assert_eq!(header(page, name), value);
        }
        assert!(
            page.headers
                .iter()
                .all(|(_, value)| value.bytes().all(|byte| (b' '..=b'~').contains(&byte)))
        );
    }
}

#[test]
fn programs_get_json_that_can_be_read() {
    for text in HOSTILE {
        for page in all_json(text) {
            let value: Value = serde_json::from_str(&page.body).unwrap();
            assert!(value.is_object(), "{}", page.body);
        }
    }
    let block: Value = serde_json::from_str(
        &pages("mail")
            .block(Reader::Program, BlockedBy::Traffic, "a-1", None, "")
            .body,
    )
    .unwrap();
    assert_eq!(
        (&block["error"], &block["incident"]),
        (&json!("blocked"), &json!("a-1"))
    );
}

#[test]
fn each_page_has_its_status() {
    let statuses = |pages: Vec<Page>| pages.iter().map(|page| page.status).collect::<Vec<_>>();
    assert_eq!(
        statuses(all(Language::German, "x")),
        [
            403, 403, 403, 403, 429, 403, 403, 403, 403, 403, 429, 502, 504
        ]
    );
    let back = pages("").led_back("/page?x");
    assert_eq!((back.status, header(&back, "location")), (303, "/page?x"));
    let early = pages("").question(Language::Dutch, ("", Question::of(1)), 17, Note::Early);
    assert_eq!(header(&early, "retry-after"), "17");
    assert_eq!(
        statuses(all_json("x")),
        [403, 403, 429, 502, 504, 200, 200, 200, 403]
    );
    assert_eq!(
        header(
            &pages("").throttle(Reader::Program, 7, "K7QX-29FM"),
            "retry-after"
        ),
        "7"
    );
}

#[test]
fn pages_are_small_in_every_language_and_say_it_in_that_language() {
    // The longest token, made for a target of 2,048 bytes.
    let token = "A".repeat(crate::challenge::token::TEXT_BYTES_MAX);
    for language in Language::ALL {
        let page = pages("mail@example.org").challenge(language, &puzzle(&token), Some(10), "");
        assert!(
            page.body.len() < 11 << 10,
            "{language:?} {}",
            page.body.len()
        );
        assert!(
            page.body
                .contains(&format!("<html lang=\"{}\">", language.code()))
        );
        assert_eq!(header(&page, "content-language"), language.code());
        assert!(page.body.contains("<noscript>") && page.body.contains("aria-live"));
        assert!(page.body.contains("mailto:mail@example.org"));
        let texts = Texts::of(language);
        assert!(texts.left.contains("{n}") && texts.throttle_cure.contains("{n}"));
        assert!(
            language == Language::English
                || texts.noscript != Texts::of(Language::English).noscript
        );
        let question = puzzle(&token).question.text(texts);
        assert!(page.body.contains(&format!(
            "<label for=\"answer\">{}</label>",
            escape(&question)
        )));
        let without = pages("").challenge(language, &puzzle(&token), None, "");
        assert!(without.body.contains(&escape(texts.noscript)) && !without.body.contains("<form"));
        let cookies = pages("").cookies_needed(language, "/wanted?a=1&b=2");
        assert!(cookies.body.contains("<a href=\"/wanted?a=1&amp;b=2\">"));
        let wait = pages("").throttle(Reader::Person(language), 45, "K7QX-29FM");
        assert!(wait.body.contains("45") && !wait.body.contains("{n}"));
        let block = pages("").block(
            Reader::Person(language),
            BlockedBy::Traffic,
            "2f9c-11",
            None,
            "",
        );
        assert!(block.body.contains("2f9c-11") && block.body.contains(&escape(texts.no_contact)));
    }
}

#[test]
fn a_frame_of_the_owner_holds_every_page() {
    let frame = "<!doctype html><html lang=\"{{lang}}\"><head><title>{{title}} - Shop</title><link rel=\"stylesheet\" href=\"{{style}}\"></head><body><header>Shop</header>{{content}}</body></html>";
    let framed = Pages {
        template: Some(Template::parse(frame).unwrap()),
        ..pages("x")
    };
    let language = Language::French;
    for page in [
        framed.challenge(language, &puzzle("x"), Some(10), ""),
        framed.block(
            Reader::Person(language),
            BlockedBy::Traffic,
            "<b>",
            None,
            "",
        ),
        framed.cookies_needed(language, "/"),
    ] {
        assert!(page.body.starts_with("<!doctype html><html lang=\"fr\">"));
        assert!(page.body.contains(" - Shop</title>") && page.body.contains("</header><main"));
        assert!(page.body.contains("style.") && !page.body.contains("{{"));
        assert!(!page.body.contains("<b>"));
        assert_eq!(header(&page, "cache-control"), "no-store");
    }
}

#[test]
fn only_addresses_become_links() {
    let foot = |contact: &str| {
        pages(contact)
            .block(
                Reader::Person(Language::English),
                BlockedBy::Traffic,
                "1",
                None,
                "",
            )
            .body
    };
    assert!(
        foot("https://example.org/contact").contains("<a href=\"https://example.org/contact\">")
    );
    for text in [
        "javascript:alert(1)",
        "http://example.org",
        "Call 555-0100",
        "ask me @ work",
        "data:text/html,x",
    ] {
        assert!(!foot(text).contains("<a "), "{text}");
    }
}

#[test]
fn a_trap_says_in_every_language_that_it_is_for_robots() {
    let mut said = std::collections::HashSet::new();
    for language in Language::ALL {
        let link = pages("").trap_link(language, "token");
        assert!(link.starts_with("<a href=\"/.cattlegrid/more/token\" rel=\"nofollow\" hidden inert aria-hidden=\"true\" tabindex=\"-1\">"), "{link}");
        assert!(said.insert(link.clone()), "{link}");
        let challenge = pages("").challenge(language, &puzzle("x"), Some(10), &link);
        let block = pages("").block(
            Reader::Person(language),
            BlockedBy::Traffic,
            "1",
            None,
            &link,
        );
        for page in [challenge, block] {
            let (before, behind) = page.body.split_once(&link).unwrap();
            assert!(before.contains("<main") && behind.contains("</main>"));
        }
        let program = pages("").block(Reader::Program, BlockedBy::Traffic, "1", None, &link);
        assert!(!program.body.contains("more/token"));
    }
}

#[test]
fn who_is_refused_by_the_owner_is_not_called_a_program() {
    for language in Language::ALL {
        let page = |by| pages("").block(Reader::Person(language), by, "1", None, "");
        let texts = Texts::of(language);
        let by_owner = page(BlockedBy::Owner).body;
        assert!(by_owner.contains(&*escape(texts.rule_why)));
        assert!(!by_owner.contains(&*escape(texts.block_why)));
        assert!(
            page(BlockedBy::Traffic)
                .body
                .contains(&*escape(texts.block_why))
        );
    }
}
