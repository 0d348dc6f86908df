//! People and crawlers of the simulated forum as HTTP clients: each follows the links of pages that it got through the gate, at the times of the
//! simulation. What the gate's log says of their paths is what the simulation knows.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;

use cattlegrid_core::paths::Cut;
use cattlegrid_core::paths::Entry;
use cattlegrid_core::paths::Measures;
use cattlegrid_core::paths::page_key;
use cattlegrid_marker::Key;
use cattlegrid_marker::Keyring;
use cattlegrid_worlds::forum::Forum;
use cattlegrid_worlds::forum::Links;
use cattlegrid_worlds::forum::View;
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::Client;
use crate::harness::Origin;
use crate::harness::page;
use crate::harness::request;
use crate::harness::say;
use crate::harness::wait_for;
use crate::marking::Marking;

const SEED: u64 = 20;
/// Requests of each person, and of each crawler for each of its accounts: two long sessions.
const REQUESTS: usize = 125;
/// The cookies are valid in the year of the simulation.
const COOKIE_SECONDS: i64 = 20 * 365 * 86_400;

/// What the forum answers next.
#[derive(Debug, Default)]
struct Next {
    target: String,
    links: Vec<String>,
}

/// The forum over HTTP: every page has its links, a form for searches, and one that is sent to the page itself.
struct Site {
    origin: Origin,
    next: Arc<Mutex<Next>>,
}

impl Site {
    fn start() -> Site {
        let next: Arc<Mutex<Next>> = Arc::default();
        let shown = Arc::clone(&next);
        let origin = Origin::answering(Box::new(move |got| {
            let next = shown.lock().unwrap();
            if got.line().starts_with("POST ") {
                let head = "HTTP/1.1 303 See Other\r\nContent-Length: 0\r\nLocation:";
                return Some(format!("{head} {}\r\n\r\n", next.target).into_bytes());
            }
            let escaped = |target: &str| target.replace('&', "&amp;");
            let link = |link: &String| format!("<li><a href=\"{}\">x</a></li>", escaped(link));
            Some(page(&format!(
                "<!doctype html><form action=\"/search.php\"><input name=keywords></form><form method=post action=\"{}\"></form><ul>{}</ul>",
                escaped(got.target()),
                next.links.iter().map(link).collect::<String>()
            )))
        }));
        Site { origin, next }
    }
}

/// A page as a client got it: where its links lead, and their addresses with markers.
#[derive(Debug, Default)]
struct Page {
    links: Vec<(String, String)>,
    search: String,
    post: String,
}

/// How a client gets to a page.
enum Way {
    /// By a link, or by the form for searches.
    Get(String),
    /// It sends the form of the page, and is led on: to the post that was written.
    Post(String),
}

impl Page {
    /// A crawler finds the links of the simulation, in their order. Of sealed ones it sees no more than that.
    fn read(text: &str, targets: Vec<String>) -> Page {
        let values = |name: &str| -> Vec<String> {
            let parts = text.split(name).skip(1);
            let values = parts.filter_map(|part| part.split('"').next());
            values
                .map(|value| value.replace("&amp;", "&").replace("&#59;", ";"))
                .collect()
        };
        let links = values("href=\"");
        assert_eq!(links.len(), targets.len());
        for (link, target) in links.iter().zip(&targets) {
            assert!(
                link.starts_with("/cg:") || unmarked(link) == *target,
                "{link}"
            );
        }
        let mut forms = values("action=\"").into_iter();
        Page {
            links: targets.into_iter().zip(links).collect(),
            search: forms.next().unwrap(),
            post: forms.next().unwrap(),
        }
    }

    fn way_to(&self, target: &str) -> Way {
        let link = self.links.iter().find(|(leads_to, _)| leads_to == target);
        if let Some((_, link)) = link {
            return Way::Get(link.clone());
        }
        match target.strip_prefix("/search.php?keywords=") {
            Some(query) => Way::Get(format!("{}?keywords={query}", self.search)),
            None => Way::Post(self.post.clone()),
        }
    }
}

/// An address without its marker of 68 characters.
fn unmarked(link: &str) -> String {
    let Some(at) = link.find("cg=") else {
        return link.to_owned();
    };
    let end = at + 3 + 68;
    [&link[..at - 1], &link[end..]].concat()
}

/// What became of the requests.
struct Replayed {
    /// For each account of the simulation its entries, as simulated and as logged.
    simulated: BTreeMap<u32, Vec<Entry>>,
    logged: BTreeMap<u32, Vec<Entry>>,
    /// Lines by what their marker is.
    markers: BTreeMap<String, u32>,
}

/// The views of some accounts: one person of each kind, one crawler of each kind, and one that shares links.
fn chosen(forum: &Forum) -> Vec<&View> {
    let mut groups: BTreeMap<&str, &str> = BTreeMap::new();
    let group = |number: u32| {
        let account = &forum.accounts[number as usize];
        match account.campaign.as_str() {
            "" => account.name.as_str(),
            campaign => campaign,
        }
    };
    for (account, number) in forum.accounts.iter().zip(0..) {
        groups.entry(account.kind).or_insert_with(|| group(number));
    }
    let accounts = |name: &str| {
        (0..forum.accounts.len() as u32)
            .filter(|number| group(*number) == name)
            .count()
    };
    let mut left: BTreeMap<&str, usize> = groups
        .values()
        .map(|name| (*name, REQUESTS * accounts(name)))
        .collect();
    let views = forum.views.iter().filter(|view| {
        let Some(left) = left.get_mut(group(view.account)) else {
            return false;
        };
        *left = left.saturating_sub(1);
        *left > 0
    });
    views.collect()
}

/// Lets clients do what the views say.
fn replay(forum: &Forum, style: &str) -> Replayed {
    let site = Site::start();
    let folder = tempfile::tempdir().unwrap();
    let clock = folder.path().join("time");
    let views = chosen(forum);
    fs::write(&clock, views[0].at_ms.to_string()).unwrap();
    // Limits are not what is measured, and a crawler may keep a link for longer than a week.
    let settings = format!(
        "mode = \"shadow\"\nworkers = 1\nclock = {{ file = \"{}\" }}",
        clock.display()
    );
    let marking = Marking::with_markers(&site.origin, style, &settings, "days = 60\n");
    let mut cookies: BTreeMap<u32, String> = BTreeMap::new();
    // A crawler with several accounts has one list of links.
    let mut pages: BTreeMap<(String, String), Page> = BTreeMap::new();
    let mut posts = 0;
    for view in &views {
        let account = &forum.accounts[view.account as usize];
        let cookie = cookies
            .entry(view.account)
            .or_insert_with(|| marking.cookie_for(&account.name, COOKIE_SECONDS));
        // The gate ends connections that are idle for long.
        let mut client = Client::connect("127.0.0.1", marking.gate.address).unwrap();
        let owner = match account.campaign.as_str() {
            "" => account.name.clone(),
            campaign => campaign.to_owned(),
        };
        let target = view.target();
        let parent = view.parent().map(|parent| &pages[&(owner.clone(), parent)]);
        let way = parent.map_or(Way::Get(target.clone()), |page| page.way_to(&target));
        let links = forum.links_of(view);
        *site.next.lock().unwrap() = Next {
            target: target.clone(),
            links: links.clone(),
        };
        set(&clock, view.at_ms);
        let address = match way {
            Way::Get(address) => address,
            Way::Post(form) => {
                posts += 1;
                client
                    .send(&request(
                        "POST",
                        &form,
                        &[("Cookie", cookie), ("Content-Length", "0")],
                    ))
                    .unwrap();
                client.answer(false).unwrap().header("location").unwrap()
            }
        };
        let answer = client
            .get(&address, &[("Cookie", cookie.as_str())])
            .unwrap();
        assert_eq!(answer.status, 200, "{address}");
        pages.insert((owner, target), Page::read(&answer.text(), links));
    }
    say(&format!(
        "{} requests, {posts} after a form was sent",
        views.len()
    ));
    read_back(&views, &marking)
}

/// Sets the clock in one step: the gate may be reading it.
fn set(clock: &Path, at_ms: u64) {
    let next = clock.with_extension("next");
    fs::write(&next, at_ms.to_string()).unwrap();
    fs::rename(&next, clock).unwrap();
}

fn read_back(views: &[&View], marking: &Marking) -> Replayed {
    let pages = || {
        let is_page = |line: &Value| line["method"] == "GET";
        marking
            .gate
            .log()
            .into_iter()
            .filter(is_page)
            .collect::<Vec<Value>>()
    };
    wait_for("all requests are in the log", || {
        pages().len() >= views.len()
    });
    let ring = names(&marking.gate.folder);
    let mut replayed = Replayed {
        simulated: BTreeMap::new(),
        logged: BTreeMap::new(),
        markers: BTreeMap::new(),
    };
    for (view, line) in views.iter().zip(pages()) {
        assert_eq!(line["target"], view.target());
        let kind = line["marker"].as_str().unwrap_or("none").to_owned();
        *replayed.markers.entry(kind).or_default() += 1;
        let user = u64::from(view.account);
        let simulated = replayed.simulated.entry(view.account).or_default();
        simulated.push(Entry {
            at_ms: view.at_ms,
            user,
            page: page_key(view.target().as_bytes()),
            parent: view.parent().map(|parent| page_key(parent.as_bytes())),
        });
        let logged = replayed.logged.entry(view.account).or_default();
        logged.push(Entry {
            at_ms: (1000.0 * line["time"].as_f64().unwrap()).round() as u64,
            user,
            page: ring.page_name(view.target().as_bytes()),
            parent: hexadecimal(&line["parent"]),
        });
    }
    replayed
}

fn hexadecimal(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?, 16).ok()
}

/// What stands in markers for a page, by the keys of a gate.
fn names(folder: &TempDir) -> Keyring {
    let text = fs::read_to_string(folder.path().join("state/marker_keys")).unwrap_or_default();
    let mut secret = [0; 32];
    let line = text.lines().find_map(|line| line.strip_prefix("names "));
    for (byte, digits) in secret
        .iter_mut()
        .zip(line.unwrap_or_default().as_bytes().chunks(2))
    {
        let digits = std::str::from_utf8(digits).unwrap();
        *byte = u8::from_str_radix(digits, 16).unwrap();
    }
    let key = Key {
        id: 1,
        secret: [1; 32],
        since_minutes: 0,
    };
    Keyring::new(&[key], &secret).unwrap()
}

/// The long sessions whose features are the same, and all of them.
fn same_sessions(replayed: &Replayed) -> (usize, usize) {
    let cut = Cut::default();
    let (mut same, mut all) = (0, 0);
    for (account, simulated) in &replayed.simulated {
        let logged = cut.long_sessions(&replayed.logged[account]);
        for (simulated, logged) in cut.long_sessions(simulated).zip(logged) {
            all += 1;
            same += usize::from(Measures::of(simulated, &cut) == Measures::of(logged, &cut));
        }
    }
    (same, all)
}

#[test]
fn the_gates_log_has_the_paths_of_people_and_crawlers() {
    let forum = Forum::new(SEED, Links::Marked);
    for style in ["query", "path", "sealed"] {
        let replayed = replay(&forum, style);
        let (same, all) = same_sessions(&replayed);
        say(&format!(
            "{style}: {same} of {all} long sessions alike, markers {:?}",
            replayed.markers
        ));
        assert!(all >= 30, "{all}");
        assert_eq!(same, all, "{style}");
        // Accounts that share links are given away by links of other accounts, and nobody else is.
        assert!(replayed.markers["other"] > 50);
        assert_eq!(replayed.markers.get("broken"), None);
    }
    let (same, all) = same_sessions(&replay(&forum, "off"));
    assert!(same < all / 2, "{same} of {all} without markers");
}
