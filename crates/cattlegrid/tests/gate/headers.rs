//! Headers: those that only the gate may set, those that are sent twice, and those that are too large.

use std::net::SocketAddr;

use crate::harness::Gate;
use crate::harness::Got;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::each;
use crate::harness::get;
use crate::harness::get_from;
use crate::harness::naive;
use crate::harness::raw;
use crate::harness::request;
use crate::harness::try_get_from;
use crate::harness::wait_for;
use crate::harness::watched;

/// What the site got for a target; the victim asks for others.
fn sent_to(origin: &Origin, target: &str) -> Option<Got> {
    let got = origin.got();
    got.into_iter().rev().find(|got| got.target() == target)
}

/// Headers by which a client may want to pass for somebody else, in all spellings.
const SPOOFED: [&str; 24] = [
    "X_Real_IP",
    "X_Forwarded_For",
    "X-Forwarded_Uri",
    "X_Forwarded-Proto",
    "X-Real_IP",
    "X.Real.IP",
    "X~Forwarded-For",
    "x_cattlegrid_user",
    "X-Real-IP",
    "X-Client-IP",
    "X-Cluster-Client-IP",
    "CF-Connecting-IP",
    "CF_Connecting_IP",
    "True-Client-IP",
    "Fastly-Client-IP",
    "Forwarded",
    "X-Forwarded-For",
    "X-Forwarded-Uri",
    "X-Forwarded-User",
    "X-Original-URI",
    "X-Original-URL",
    "X-Rewrite-URL",
    "X-Cattlegrid-Decision",
    "X-Cattlegrid-User",
];

/// None of the headers that a client may not set reaches the site.
fn strips(address: SocketAddr, origin: &Origin) -> Result<(), String> {
    origin.forget();
    let spoofed: Vec<(&str, &str)> = SPOOFED.iter().map(|name| (*name, "192.0.2.66")).collect();
    let answer = get(address, "/spoofed", &spoofed);
    let got = sent_to(origin, "/spoofed").ok_or("nothing came")?;
    match answer.status == 200 && !got.head.contains("192.0.2.66") {
        true => Ok(()),
        false => Err(got.head.clone()),
    }
}

#[test]
fn h009_h049_headers_that_only_the_gate_may_set() {
    let origin = Origin::start();
    let mut guarded = Gate::limitless(&origin, "", "");
    watched(&mut guarded, |gate| {
        strips(gate.address, &origin).unwrap();
        let got = get_head(gate.address, &origin, &[]);
        assert!(!got.to_ascii_lowercase().contains("x-cattlegrid"), "{got}");
    });
    let lax = Gate::limitless(&origin, "without = [\"spoofed_headers\"]", "");
    assert!(strips(lax.address, &origin).is_err());
    // A trusted proxy may say what it knows, but not in a second spelling, and not what we say.
    let proxied = Gate::limitless(&origin, "trusted_proxies = [\"127.0.0.5\"]", "");
    origin.forget();
    let headers = [
        ("X-Forwarded-For", "203.0.113.7"),
        ("X_Forwarded_For", "192.0.2.66"),
        ("X-Cattlegrid-User", "192.0.2.66"),
        ("X-Forwarded-User", "somebody"),
    ];
    get_from("127.0.0.5", proxied.address, "/", &headers);
    let got = &origin.got()[0];
    assert_eq!(got.values("x-forwarded-for"), ["203.0.113.7, 127.0.0.5"]);
    assert_eq!(got.values("x-real-ip"), ["203.0.113.7"]);
    assert_eq!(got.values("x-forwarded-user"), ["somebody"]);
    assert!(!got.head.contains("192.0.2.66"), "{}", got.head);
}

fn get_head(address: SocketAddr, origin: &Origin, headers: &[(&str, &str)]) -> String {
    origin.forget();
    get(address, "/head", headers);
    sent_to(origin, "/head").map_or(String::new(), |got| got.head)
}

#[test]
fn h009_a_length_in_another_spelling_never_reaches_the_site() {
    let origin = Origin::start();
    let mut guarded = Gate::limitless(&origin, "", "");
    let is_dropped = |address: SocketAddr| {
        let head = get_head(
            address,
            &origin,
            &[("Content_Length", "5"), ("Transfer_Encoding", "chunked")],
        );
        head.starts_with("GET /head ")
            && !head.to_ascii_lowercase().contains("content")
            && !head.to_ascii_lowercase().contains("encoding")
    };
    watched(&mut guarded, |gate| assert!(is_dropped(gate.address)));
    let lax = Gate::limitless(&origin, "without = [\"spoofed_headers\"]", "");
    assert!(!is_dropped(lax.address));
}

/// What a client lists as headers of its connection takes out nothing that the gate sets or reads.
fn keeps_ours(address: SocketAddr, origin: &Origin) -> Result<(), String> {
    origin.forget();
    let list = "close, X-Real-IP, X-Forwarded-For, X-Forwarded-Proto, x-forwarded-host, Cookie, Host, X-Cattlegrid-User, X-Mine";
    let headers = [
        ("Connection", list),
        ("Cookie", "a=b"),
        ("X-Mine", "of the connection"),
        ("X-Other", "of the request"),
    ];
    get(address, "/listed", &headers);
    let got = sent_to(origin, "/listed").ok_or("nothing came")?;
    let is_sound = got.values("x-real-ip") == ["127.0.0.1"]
        && got.values("x-forwarded-for") == ["127.0.0.1"]
        && got.values("x-forwarded-proto") == ["http"]
        && got.values("x-forwarded-host") == ["www.example.org"]
        && got.values("host") == ["www.example.org"]
        && got.values("cookie") == ["a=b"]
        && got.values("x-other") == ["of the request"]
        && got.values("x-mine").is_empty()
        && got.values("connection").is_empty();
    match is_sound {
        true => Ok(()),
        false => Err(got.head.clone()),
    }
}

#[test]
fn h010_headers_of_the_connection() {
    let origin = Origin::start();
    let mut guarded = Gate::limitless(&origin, "", "");
    watched(&mut guarded, |gate| {
        keeps_ours(gate.address, &origin).unwrap();
        // The gate itself has seen the cookie: the log does not say that there was none.
        wait_for("the line of the request", || {
            gate.log()
                .iter()
                .any(|line| line["target"] == "/listed" && line.get("session").is_none())
        });
    });
    let lax = Gate::limitless(&origin, "without = [\"hop_by_hop\"]", "");
    assert!(keeps_ours(lax.address, &origin).is_err());
}

/// Heads that are larger than any honest one.
fn large_heads() -> Vec<Vec<u8>> {
    let cookies = format!("{}a=b", "c=d;".repeat(100_000));
    let pairs = format!("/?{}", "a=1&".repeat(10_000));
    let mut many = String::from("GET / HTTP/1.1\r\nHost: www.example.org\r\n");
    (0..10_000).for_each(|number| many.push_str(&format!("X-{number}: a\r\n")));
    many.push_str("\r\n");
    vec![
        request("GET", "/", &[("X-Large", &"a".repeat(1 << 20))]),
        many.into_bytes(),
        request("GET", "/", &[("Cookie", &"a".repeat(64 * 1024))]),
        request("GET", &format!("/{}", "a".repeat(1 << 20)), &[]),
        request("GET", &format!("/{}", "a".repeat(40_000)), &[]),
        request("GET", "/", &[("Cookie", &cookies)]),
        request("GET", &pairs, &[]),
        request("GET", "/", &[(&"X".repeat(100_000), "a")]),
        "\r\n".repeat(1 << 19).into_bytes(),
    ]
}

#[test]
fn h020_heads_that_are_too_large() {
    let origin = Origin::start();
    let mut guarded = Gate::limitless(&origin, "", "");
    let status = |address: SocketAddr, head: &Vec<u8>| {
        let answer = raw(address, head);
        (answer.status(), answer.is_closed)
    };
    watched(&mut guarded, |gate| {
        let rss_kib = gate.rss_kib();
        let heads: Vec<Vec<u8>> = (0..5).flat_map(|_| large_heads()).collect();
        let statuses = each(&heads, |head| status(gate.address, head).0);
        assert!(
            statuses
                .iter()
                .all(|status| [400, 414, 431].contains(status)),
            "{statuses:?}"
        );
        let grown = gate.rss_kib().saturating_sub(rss_kib);
        // Eight at a time, each of which may hold two buffers; the allocator takes memory by four MiB.
        assert!(grown < 12 * 1024, "{grown} KiB");
    });
    let lax = Gate::limitless(&origin, "without = [\"head_size\"]", "");
    let statuses = each(&large_heads(), |head| status(lax.address, head).0);
    assert!(statuses.contains(&200), "{statuses:?}");
    let bare = naive(origin.address);
    assert_eq!(status(bare, &large_heads()[0]).0, 200);
}

#[test]
fn h020_cookies_just_below_the_limit_cost_little() {
    let origin = Origin::start();
    let mut guarded = Gate::limitless(&origin, "", "");
    let cookies = format!("{}a=b", "c=d;".repeat(14_000));
    watched(&mut guarded, |gate| {
        let asked = std::time::Instant::now();
        for _ in 0..10 {
            let answer = get(gate.address, "/", &[("Cookie", &cookies)]);
            assert_eq!(answer.status, 200);
        }
        assert!(asked.elapsed().as_millis() < 2000);
    });
}

/// A header in all forms in which a denied value can be hidden.
fn roles() -> [Vec<(&'static str, &'static str)>; 7] {
    [
        vec![("X-Role", "admin")],
        vec![("X-Role", "user"), ("X-Role", "admin")],
        vec![("X-Role", "admin"), ("X-Role", "user")],
        vec![("X-Role", "user,admin")],
        vec![("X-Role", "admin, user")],
        vec![("x-role", "user ,\tADMIN ,")],
        vec![("X-Role", "a"), ("X-Other", "b"), ("X-ROLE", "b, admin, c")],
    ]
}

#[test]
fn h021_each_value_of_a_header_counts() {
    let origin = Origin::start();
    let rule =
        "[[gate.rule]]\nheader = { name = \"X-Role\", value = \"admin\" }\naction = \"block\"\n";
    let mut guarded = Gate::limitless(&origin, "", rule);
    let statuses = |address: SocketAddr| -> Vec<u16> {
        let forms = roles();
        let forms = forms.iter();
        forms.map(|form| get(address, "/", form).status).collect()
    };
    watched(&mut guarded, |gate| {
        assert_eq!(statuses(gate.address), [403; 7]);
        origin.forget();
        let sent = [("X-Role", "user"), ("X-Role", "guest,other")];
        assert_eq!(get(gate.address, "/role", &sent).status, 200);
        let got = sent_to(&origin, "/role").unwrap();
        assert_eq!(got.values("x-role"), ["user", "guest,other"]);
    });
    let lax = Gate::limitless(&origin, "without = [\"each_value\"]", rule);
    assert!(statuses(lax.address).contains(&200));
}

#[test]
fn h022_no_header_is_picked_by_luck_of_order() {
    let origin = Origin::start();
    let rules = "[[gate.rule]]\nagent = \"^Friend\"\npath = \"/private*\"\naction = \"pass\"\n\
         [[gate.rule]]\npath = \"/private*\"\naction = \"block\"\n\
         [[gate.rule]]\nagent = \"Scraper\"\naction = \"block\"\n";
    let mut guarded = Gate::limitless(&origin, "", rules);
    let (friend, scraper) = (("User-Agent", "Friend/1"), ("User-Agent", "Scraper/1"));
    watched(&mut guarded, |gate| {
        for headers in [vec![friend, scraper], vec![scraper, friend], vec![scraper]] {
            assert_eq!(get(gate.address, "/", &headers).status, 403);
            assert_eq!(get(gate.address, "/private", &headers).status, 403);
        }
        assert_eq!(get(gate.address, "/", &[friend, friend]).status, 200);
        assert_eq!(get(gate.address, "/private", &[friend]).status, 200);
    });
    // The same rules, the passing one for each of the two agents: the oracle notices a pass.
    let lax = Gate::limitless(&origin, "", &rules.replace("^Friend", "Friend|Scraper"));
    assert_eq!(get(lax.address, "/private", &[friend, scraper]).status, 200);
    // Two words of a trusted proxy on how its client came: none is believed.
    let proxied = Gate::limitless(&origin, "trusted_proxies = [\"127.0.0.5\"]", "");
    for (sent, told) in [
        (vec!["https"], "https"),
        (vec!["http", "https"], "http"),
        (vec!["https", "http"], "http"),
    ] {
        origin.forget();
        let headers: Vec<_> = sent
            .iter()
            .map(|value| ("X-Forwarded-Proto", *value))
            .collect();
        get_from("127.0.0.5", proxied.address, "/", &headers);
        assert_eq!(origin.got()[0].values("x-forwarded-proto"), [told]);
    }
}

/// Headers that name no language soundly get the default; `read` gives the language of the page that a header gets.
fn h023_is_withstood(read: impl Fn(&str) -> Option<String>) -> Result<(), String> {
    let (many, long) = ("aa,".repeat(10_000), "a".repeat(8192));
    let odd = [
        "und",
        "",
        "*;q=NaN",
        "*;q=1e309",
        "q=1e309",
        "de;q=NaN",
        "de;q=1e309",
        ";;;",
        "-",
        "de;q=-1",
        &many,
        &long,
    ];
    let expected = odd.map(|header| (header, "en"));
    for (header, language) in expected.into_iter().chain([("de-AT", "de")]) {
        let got = read(header);
        if got.as_deref() != Some(language) {
            return Err(format!("{header:.60}: {got:?}"));
        }
    }
    Ok(())
}

/// Reads weights as any number, and takes the largest.
fn naive_language(header: &str) -> Option<String> {
    let ranges = header.split(',').map(|range| {
        let (tag, weight) = range.split_once(";q=").unwrap_or((range, "1"));
        (tag, weight.parse::<f64>().unwrap_or(1.0))
    });
    let (tag, _) = ranges.max_by(|one, other| one.1.total_cmp(&other.1))?;
    let code = tag.split('-').next()?;
    Some(if code == "de" { "de" } else { "en" }.to_owned())
}

#[test]
fn h023_languages() {
    let origin = Origin::start();
    let wanted = Wanted {
        parts: "[policy]\nk1 = 0\n".to_owned(),
        ..Wanted::default()
    };
    let mut guarded = Gate::with(&origin, wanted);
    watched(&mut guarded, |gate| {
        let read = |header: &str| {
            let answer = get(gate.address, "/", &[("Accept-Language", header)]);
            let text = answer.text();
            let (_, rest) = text.split_once("lang=\"")?;
            let language = rest.split('"').next()?;
            (answer.status == 403).then(|| language.to_owned())
        };
        assert_eq!(h023_is_withstood(read), Ok(()));
    });
    assert!(h023_is_withstood(naive_language).is_err());
}

/// Agents that are none of a browser, and how many pages each of them got of thirty, from an address of its own.
fn pages_of_odd_agents(address: SocketAddr) -> Vec<usize> {
    let long = "a".repeat(40_000);
    let agents: [Option<&[u8]>; 6] = [
        None,
        Some(b""),
        Some(long.as_bytes()),
        Some(b"\xff\xfe\x80"),
        Some(b"curl/8.0"),
        Some(b"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"),
    ];
    let numbered: Vec<_> = agents.iter().enumerate().collect();
    each(&numbered, |(number, agent)| {
        let source = format!("127.24.{number}.1");
        let pages = 0..30;
        pages
            .filter(|page| {
                let mut head =
                    format!("GET /{page} HTTP/1.1\r\nHost: www.example.org\r\n").into_bytes();
                if let Some(agent) = agent {
                    head.extend([&b"User-Agent: "[..], agent, b"\r\n"].concat());
                }
                head.extend(b"\r\n");
                let mut client = crate::harness::Client::connect(&source, address).unwrap();
                client.send(&head).unwrap();
                client.answer(false).unwrap().status == 200
            })
            .count()
    })
}

#[test]
fn h024_no_agent_is_a_way_in() {
    let origin = Origin::start();
    let mut guarded = Gate::start(&origin);
    watched(&mut guarded, |gate| {
        assert_eq!(pages_of_odd_agents(gate.address), [20; 6]);
    });
    let lax = Gate::with(
        &origin,
        Wanted {
            parts: "[[gate.rule]]\nagent = \"^$\"\naction = \"pass\"\n".to_owned(),
            ..Wanted::default()
        },
    );
    assert_eq!(pages_of_odd_agents(lax.address)[..2], [30; 2]);
}

#[test]
fn h103_looking_like_a_browser_is_no_clearance() {
    let perfect = [
        ("Accept-Encoding", "gzip, deflate, br, zstd"),
        ("Connection", "keep-alive"),
        ("Upgrade-Insecure-Requests", "1"),
        ("Sec-Fetch-Dest", "document"),
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-Fetch-Site", "none"),
        ("Sec-Fetch-User", "?1"),
        ("Priority", "u=0, i"),
    ];
    let pages = |address: SocketAddr, source: &str| {
        (0..40)
            .filter(|page| {
                let answer = try_get_from(source, address, &format!("/{page}"), &perfect).unwrap();
                answer.status == 200
            })
            .count()
    };
    let origin = Origin::start();
    let mut guarded = Gate::start(&origin);
    watched(&mut guarded, |gate| {
        assert_eq!(pages(gate.address, "127.0.0.8"), 20);
    });
    assert_eq!(pages(naive(origin.address), "127.0.0.8"), 40);
}
