//! What becomes of robots by their names, addresses and the owner's wishes.

use super::*;
use crate::networks::Documentation;
use crate::policy::Asked;
use crate::policy::Decision;
use crate::policy::Limits;
use crate::policy::Policy;
use crate::policy::Reason;
use crate::policy::Standing;
use crate::profile::Content;

const LIST: &str = include_str!("../../../../../data/crawler-user-agents.json");
const GOOGLE: &str = include_str!("../../../../../data/operators/google.toml");
const NOW: u32 = 1_900_000_000;

const SEARCH: &[u8] = b"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";

fn source(text: &str) -> Source {
    Source::from_address(text.as_bytes()).unwrap()
}

fn crawlers_with(wishes: Wishes, published: Option<&str>) -> Crawlers {
    let mut google = Operator::parse("google", GOOGLE).unwrap();
    if let Some(text) = published {
        google.set_published(text, Documentation::Allowed).unwrap();
    }
    let facts = [
        (
            "openai",
            include_str!("../../../../../data/operators/openai.toml"),
        ),
        (
            "slack",
            include_str!("../../../../../data/operators/slack.toml"),
        ),
    ];
    let others = facts.map(|(key, text)| Operator::parse(key, text).unwrap());
    let operators = std::iter::once(google).chain(others).collect();
    Crawlers::new(Knowledge::new(LIST, operators).unwrap(), wishes, 7).unwrap()
}

fn proof(crawlers: &Crawlers, agent: &[u8], address: &str, looked: Looked) -> Proof {
    match crawlers.named(agent) {
        Some(Named::Robot(number)) => crawlers.proof(number, source(address), NOW, looked),
        Some(Named::Tool) => Proof::Declared(Treatment::Limit),
        None => Proof::None,
    }
}

#[test]
fn a_search_engine_is_proven_by_its_network_or_its_name_and_disproved_only_for_sure() {
    let crawlers = crawlers_with(Wishes::default(), None);
    let check = |address, looked| proof(&crawlers, SEARCH, address, looked);
    assert!(matches!(
        check("66.249.66.1", Looked::Unknown),
        Proof::Proven { pages: 100_000, .. }
    ));
    assert!(matches!(
        check("192.0.2.1", Looked::Confirmed),
        Proof::Proven { .. }
    ));
    assert_eq!(check("192.0.2.1", Looked::Denied), Proof::Disproved);
    assert_eq!(check("192.0.2.1", Looked::Unknown), Proof::None);
    // A list of today lacks the networks of tomorrow: the name decides, as long as there is one to ask for.
    let day = "# date 2030-03-15\n198.51.100.0/24\n";
    let crawlers = crawlers_with(Wishes::default(), Some(day));
    let check = |address, looked| proof(&crawlers, SEARCH, address, looked);
    assert!(matches!(
        check("198.51.100.7", Looked::Unknown),
        Proof::Proven { .. }
    ));
    assert_eq!(check("192.0.2.1", Looked::Unknown), Proof::None);
    assert!(matches!(
        check("192.0.2.1", Looked::Confirmed),
        Proof::Proven { .. }
    ));
}

#[test]
fn code_that_runs_at_google_is_not_its_search_engine() {
    let crawlers = crawlers_with(Wishes::default(), None);
    for agent in [
        &b"Googlebot/2.1 AppEngine-Google; (+http://code.google.com/appengine; appid: s~x)"[..],
        b"Mozilla/5.0 (compatible; Google-Apps-Script; beanserver) Googlebot/2.1",
    ] {
        let found = proof(&crawlers, agent, "66.249.66.1", Looked::Confirmed);
        assert_eq!(found, Proof::None, "{}", String::from_utf8_lossy(agent));
    }
    // Machines that anybody rents there have names in googleusercontent.com, which proves nothing about Googlebot.
    let Some(Named::Robot(number)) = crawlers.named(SEARCH) else {
        panic!("Googlebot is a robot");
    };
    let domains = crawlers.domains(number, source("192.0.2.1"), NOW);
    assert_eq!(domains, ["googlebot.com"]);
    // Nobody is asked about an address that proves itself.
    assert!(
        crawlers
            .domains(number, source("66.249.66.1"), NOW)
            .is_empty()
    );
}

#[test]
fn presets_and_wishes() {
    let training = b"Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)";
    let search = b"Mozilla/5.0 (compatible; OAI-SearchBot/1.0)";
    let check = |preset, agent: &[u8]| {
        let wishes = Wishes {
            preset,
            ..Wishes::default()
        };
        proof(
            &crawlers_with(wishes, None),
            agent,
            "192.0.2.1",
            Looked::Unknown,
        )
    };
    use Treatment::*;
    assert_eq!(check(Preset::Standard, training), Proof::Declared(Limit));
    assert_eq!(check(Preset::NoTraining, training), Proof::Declared(Refuse));
    assert_eq!(check(Preset::NoTraining, search), Proof::Declared(Limit));
    assert_eq!(check(Preset::SearchOnly, search), Proof::Declared(Refuse));
    assert_eq!(check(Preset::Closed, SEARCH), Proof::Declared(Challenge));
    assert_eq!(
        check(Preset::Closed, b"curl/8.0"),
        Proof::Declared(Challenge)
    );
    assert_eq!(check(Preset::Standard, b"curl/8.0"), Proof::None);
    let wishes = Wishes {
        purposes: BTreeMap::from([("search".to_owned(), Challenge)]),
        robots: BTreeMap::from([("openai".to_owned(), Refuse), ("GPTBot".to_owned(), Limit)]),
        ..Wishes::default()
    };
    let crawlers = crawlers_with(wishes, None);
    let check = |agent: &[u8]| proof(&crawlers, agent, "192.0.2.1", Looked::Unknown);
    assert_eq!(check(SEARCH), Proof::Declared(Challenge));
    assert_eq!(check(search), Proof::Declared(Refuse));
    assert_eq!(check(training), Proof::Declared(Limit));
}

#[test]
fn names_that_nobody_has_are_refused_and_tokens_of_robots_txt_explained() {
    let wishes = Wishes {
        purposes: BTreeMap::from([("serach".to_owned(), Treatment::Allow)]),
        robots: ["Google-Extended", "Gogglebot"]
            .map(|name| (name.to_owned(), Treatment::Refuse))
            .into(),
        ..Wishes::default()
    };
    let knowledge = Knowledge::new(LIST, Vec::new()).unwrap();
    let errors = Crawlers::new(knowledge, wishes, 7).unwrap_err();
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert!(errors[0].contains("'serach' is no purpose; known: search, ai,"));
    assert!(errors[1].contains("'Gogglebot' is neither an operator nor a robot"));
    assert!(errors[2].contains("only robots.txt can say it"));
}

#[test]
fn robots_txt_says_what_the_owner_wants() {
    let wishes = Wishes {
        preset: Preset::NoTraining,
        ..Wishes::default()
    };
    let crawlers = crawlers_with(wishes, None);
    let site = "# ours\nUser-agent: *\nDisallow: /admin/\n\nUser-Agent: gptbot\nAllow: /\nSitemap: https://example.org/s.xml\n\nUser-agent: GPTBot\nUser-agent: Googlebot\nDisallow: /x\n";
    let merged = crawlers.robots_txt(site);
    assert!(
        merged
            .starts_with("# ours\nUser-agent: *\nContent-Usage: / train-ai=n\nDisallow: /admin/\n"),
        "{merged}"
    );
    assert!(merged.contains("Sitemap: https://example.org/s.xml\n"));
    assert!(merged.contains("User-agent: Googlebot\nDisallow: /x\n"));
    // The group that allowed a refused robot is gone; it stands once, with those that only robots.txt knows.
    assert_eq!(
        merged
            .to_ascii_lowercase()
            .matches("user-agent: gptbot\n")
            .count(),
        1
    );
    for token in ["GPTBot", "Google-Extended", "Applebot-Extended"] {
        assert!(
            merged.contains(&format!("User-agent: {token}\n")),
            "{token}"
        );
    }
    assert!(merged.ends_with("Disallow: /\n"));
    // Read by another program: GPTBot may read nothing, others what the site said.
    let read =
        |agent: &str, path: &str| robotxt::Robots::parse(merged.as_bytes(), agent).is_allowed(path);
    assert!(!read("GPTBot", "/page") && !read("Google-Extended", "/page"));
    assert!(read("Googlebot", "/page") && !read("Googlebot", "/x"));
    assert!(read("OtherBot", "/page") && !read("OtherBot", "/admin/x"));
    // Groups without rules, and comments between agents, do not run into the next group.
    let reads = |site: &str, agent: &str, path: &str| {
        let merged = crawlers.robots_txt(site);
        robotxt::Robots::parse(merged.as_bytes(), agent).is_allowed(path)
    };
    let bare = "User-agent: *\nSitemap: https://example.org/s.xml\n";
    assert!(reads(bare, "OtherBot", "/page") && !reads(bare, "GPTBot", "/page"));
    let noted = "User-agent: bingbot\n# as agreed\nUser-agent: GPTBot\nDisallow: /private\n";
    assert!(reads(noted, "bingbot", "/page") && !reads(noted, "bingbot", "/private"));
    assert!(!reads(noted, "GPTBot", "/page"));
    // Merging again changes nothing more, and without a file there is one.
    assert_eq!(
        crawlers
            .robots_txt(&merged)
            .matches("Content-Usage")
            .count(),
        1
    );
    assert!(
        crawlers
            .robots_txt("")
            .contains("User-agent: *\nContent-Usage: / train-ai=n\nAllow: /\n")
    );
    let said = "User-agent: *\nContent-Usage: / train-ai=y\n";
    assert!(!crawlers.robots_txt(said).contains("train-ai=n"));
    assert_eq!(
        crawlers_with(Wishes::default(), None).robots_txt("User-agent: *\nDisallow:\n"),
        "User-agent: *\nDisallow:\n"
    );
}

#[test]
fn previews_from_telephones_are_limited_and_not_disproved() {
    let crawlers = crawlers_with(Wishes::default(), None);
    let check = |looked| proof(&crawlers, b"Google Web Preview", "192.0.2.1", looked);
    assert_eq!(check(Looked::Denied), Proof::Declared(Treatment::Limit));
}

#[test]
fn programs_may_read_a_few_pages_again_and_again_and_no_others() {
    let policy = Policy::new(Limits::default(), 1000, 0);
    let nothing = Standing::default();
    let ask = |target: u64, content| {
        let decided = policy.decide(
            &Asked {
                proof: Proof::Declared(Treatment::Limit),
                target,
                content,
                ..Asked::page(source("192.0.2.1"), NOW)
            },
            &nothing,
        );
        (decided.decision, decided.reason)
    };
    // A monitor that looks at five pages every minute.
    for _ in 0..1440 {
        for page in 1..=5 {
            assert_eq!(ask(page, Content::Page), (Decision::Pass, Reason::Tool));
        }
    }
    let others = (6..1000).filter(|page| ask(*page, Content::Page).0 == Decision::Pass);
    assert_eq!(others.count(), 15);
    assert_eq!(
        ask(2000, Content::Page),
        (Decision::Throttle, Reason::ToolTooMany)
    );
    // What it was refused it does not get by asking twice.
    let again = (6..1000).filter(|page| ask(*page, Content::Page).0 == Decision::Pass);
    assert_eq!(again.count(), 15);
    // What it reads already goes on; what turns out to be a page counts, so other requests end with the pages.
    assert_eq!(ask(3, Content::Page), (Decision::Pass, Reason::Tool));
    assert_eq!(
        ask(3000, Content::Part),
        (Decision::Throttle, Reason::ToolTooMany)
    );
    let again = (0..3000).filter(|_| ask(3, Content::Page).0 == Decision::Pass);
    assert!(again.count() < 2000);
}

#[test]
fn a_proven_robot_passes_from_anywhere_up_to_its_cap() {
    let policy = Policy::new(Limits::default(), 1000, 0);
    let nothing = Standing::default();
    let passed = (0..12_000_u32).filter(|page| {
        let asked = Asked {
            proof: Proof::Proven {
                crawler: 5,
                pages: 10_000,
            },
            ..Asked::page(source(&format!("192.0.2.{}", page % 200)), NOW + page)
        };
        policy.decide(&asked, &nothing).decision == Decision::Pass
    });
    assert_eq!(passed.count(), 10_000);
}

#[test]
fn agents_are_remembered_without_being_mixed_up() {
    let crawlers = crawlers_with(Wishes::default(), None);
    for round in 0..2 {
        for number in 0..20_000 {
            let agent = format!(
                "Mozilla/5.0 (X11; Linux x86_64; rv:{number}.0) Gecko/20100101 Firefox/{number}.0"
            );
            assert_eq!(crawlers.named(agent.as_bytes()), None, "{round}");
        }
        assert!(matches!(crawlers.named(SEARCH), Some(Named::Robot(_))));
        assert_eq!(crawlers.named(b"git/2.43.0"), Some(Named::Tool));
    }
}
