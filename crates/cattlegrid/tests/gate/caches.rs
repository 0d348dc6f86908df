//! A cache before the gate: what one visitor is told is never told to another.

use std::fs;
use std::net::SocketAddr;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;

use tempfile::TempDir;

use crate::challenge::challenged;
use crate::challenge::must;
use crate::challenge::strict;
use crate::challenge::withstands;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::free_port;
use crate::harness::try_get;
use crate::harness::wait_for;
use crate::skip::has;
use crate::solve::Browser;
use crate::solve::Puzzle;

/// nginx with a cache that keeps all it may keep, before a gate that trusts it.
pub(crate) struct Cache {
    child: Child,
    pub(crate) address: SocketAddr,
    _folder: TempDir,
}

impl Cache {
    pub(crate) fn start(gate: SocketAddr) -> Cache {
        let folder = tempfile::tempdir().unwrap();
        let address: SocketAddr = format!("127.0.0.1:{}", free_port()).parse().unwrap();
        let place = folder.path().display();
        let settings = format!(
            "daemon off; pid {place}/pid; error_log {place}/error.log; worker_processes 1;
            events {{}}
            http {{
                access_log off;
                client_body_temp_path {place}/body; proxy_temp_path {place}/proxy;
                fastcgi_temp_path {place}/f; uwsgi_temp_path {place}/u; scgi_temp_path {place}/s;
                proxy_cache_path {place}/cache keys_zone=pages:1m;
                server {{
                    listen {address};
                    location / {{
                        proxy_pass http://{gate};
                        proxy_bind 127.0.0.60;
                        proxy_set_header Host www.example.org;
                        proxy_set_header X-Forwarded-For $remote_addr;
                        proxy_cache pages;
                        proxy_cache_valid any 10m;
                        add_header X-Cache $upstream_cache_status always;
                    }}
                }}
            }}"
        );
        fs::write(folder.path().join("nginx.conf"), settings).unwrap();
        let child = Command::new("nginx")
            .arg("-c")
            .arg(folder.path().join("nginx.conf"))
            .arg("-p")
            .arg(folder.path())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for("nginx answers", || {
            try_get(address, "/robots.txt", &[]).is_ok()
        });
        Cache {
            child,
            address,
            _folder: folder,
        }
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        // Asked to end, it takes its workers with it; killed, it would leave them.
        let _ = Command::new("kill")
            .arg(self.child.id().to_string())
            .status();
        let _ = self.child.wait();
    }
}

/// Three visitors ask for the same pages in every order: one is challenged, one is cleared, one is denied.
fn mixes_up(gate: &Gate, cache: &Cache) -> Result<(), String> {
    let (mut unknown, _) = challenged(gate, "127.0.3.1", "/x");
    let (mut person, challenge) = challenged(gate, "127.0.3.2", "/x");
    person.clear(&challenge)?;
    let through = |browser: &mut Browser, path: &str| {
        let mut sender = Browser::new(&browser.source, cache.address);
        sender.cookies.clone_from(&browser.cookies);
        let answer = sender.get(path);
        browser.cookies = sender.cookies;
        answer
    };
    let mut denied = Browser::new("127.0.3.3", gate.address);
    let orders = [
        [0, 1, 2],
        [1, 0, 2],
        [2, 0, 1],
        [1, 2, 0],
        [0, 2, 1],
        [2, 1, 0],
    ];
    for (number, order) in orders.iter().enumerate() {
        let path = format!("/page{number}");
        let mut tokens = Vec::new();
        for who in order.iter().chain(order) {
            let (browser, name) = match who {
                0 => (&mut unknown, "unknown"),
                1 => (&mut person, "cleared"),
                _ => (&mut denied, "denied"),
            };
            let answer = through(browser, &path);
            let text = answer.text();
            let puzzle = Puzzle::of(&text);
            let is_right = match who {
                0 => answer.status == 403 && puzzle.is_some(),
                1 => answer.status == 200 && text.contains(&path),
                _ => answer.status == 403 && puzzle.is_none() && text.contains("number"),
            };
            must(
                is_right,
                &format!("{name} at {path}: {} {text}", answer.head),
            )?;
            tokens.extend(puzzle.map(|puzzle| puzzle.token));
        }
        must(
            tokens.len() == 2 && tokens[0] != tokens[1],
            "a challenge twice",
        )?;
    }
    // A challenge through the cache can be solved there, and leads to the page.
    let challenge = through(&mut unknown, "/last");
    let mut solver = Browser::new("127.0.3.1", cache.address);
    solver.cookies.clone_from(&unknown.cookies);
    must(solver.clear(&challenge)? == "/last", "the page asked for")?;
    must(solver.get("/last").status == 200, "and it comes")
}

fn behind_a_cache(origin: &Origin, more: &str) -> Gate {
    let mut wanted = strict(&format!("trusted_proxies = [\"127.0.0.60\"]\n{more}"));
    wanted
        .parts
        .push_str("[[gate.rule]]\nnetworks = [\"127.0.3.3\"]\naction = \"block\"\n");
    Gate::with(origin, wanted)
}

#[test]
fn h096_a_cache_gives_nobody_what_another_was_told() {
    if !has("nginx", 1) {
        return;
    }
    let origin = Origin::start();
    let mut gate = behind_a_cache(&origin, "");
    let cache = Cache::start(gate.address);
    withstands(&mut gate, |gate| mixes_up(gate, &cache));
    drop(cache);
    let gate = behind_a_cache(&origin, "without = [\"no_store\"]");
    let cache = Cache::start(gate.address);
    assert!(mixes_up(&gate, &cache).is_err());
}

/// A site that lets caches keep all it sends.
fn lasting(kind: &'static str, body: &'static str) -> Origin {
    Origin::answering(Box::new(move |_| {
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nCache-Control: max-age=600\r\n");
        Some(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes())
    }))
}

/// The site alone knows which of its pages are the same for everybody. The manual says so.
#[test]
fn h096_pages_that_the_site_lets_caches_keep_are_kept() {
    if !has("nginx", 1) {
        return;
    }
    let origin = lasting("text/html", "page");
    let gate = behind_a_cache(&origin, "");
    let cache = Cache::start(gate.address);
    let (mut person, refusal) = challenged(&gate, "127.0.3.10", "/kept");
    person.clear(&refusal).unwrap();
    let mut through = Browser::new("127.0.3.10", cache.address);
    through.cookies = person.cookies;
    assert_eq!(through.get("/kept").text(), "page");
    let mut denied = Browser::new("127.0.3.3", cache.address);
    assert_eq!(denied.get("/kept").text(), "page");
    assert_eq!(denied.get("/other").status, 403);
}

#[test]
fn h096_parts_of_pages_are_kept_where_the_site_allows_it() {
    if !has("nginx", 1) {
        return;
    }
    let origin = lasting("text/css", "p {}");
    let gate = behind_a_cache(&origin, "");
    let cache = Cache::start(gate.address);
    let mut person = Browser::new("127.0.3.9", cache.address);
    let states: Vec<String> = (0..2)
        .filter_map(|_| person.part("/style.css").header("x-cache"))
        .collect();
    assert_eq!(states, ["MISS", "HIT"]);
}
