//! Questions of web servers as they put them, and as somebody would who means no good.

use std::net::SocketAddr;
use std::process::Command;

use crate::front::asked;
use crate::harness::Answer;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Victim;
use crate::harness::Wanted;
use crate::harness::free_port;
use crate::harness::get;
use crate::harness::get_from;
use crate::harness::wait_for;
use crate::solve::Puzzle;

/// A gate that is asked, and one more listener through which a victim reaches the site.
struct Stand {
    gate: Gate,
    victims: SocketAddr,
    _origin: Origin,
}

impl Stand {
    fn start(role: &str) -> Stand {
        Stand::with(role, "")
    }

    fn with(role: &str, line: &str) -> Stand {
        let origin = Origin::start();
        let victims: SocketAddr = format!("127.0.0.1:{}", free_port()).parse().unwrap();
        let mut wanted = asked(role);
        wanted.gate.push('\n');
        wanted.gate.push_str(line);
        let listener = format!("[[gate.listen]]\naddress = \"{victims}\"\n");
        wanted.parts.insert_str(0, &listener);
        Stand {
            gate: Gate::with(&origin, wanted),
            victims,
            _origin: origin,
        }
    }

    fn ask(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        get(self.gate.address, path, headers)
    }
}

/// What Traefik sends to its ForwardAuth server: the client's headers, and these in place of the client's.
const TRAEFIK: [(&str, &str); 12] = [
    ("Host", "127.0.0.1:9080"),
    (
        "User-Agent",
        "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    ),
    ("Accept", "text/html,application/xhtml+xml"),
    ("Accept-Encoding", "gzip, deflate"),
    ("X-Forwarded-For", "198.51.100.7"),
    ("X-Forwarded-Host", "www.example.org"),
    ("X-Forwarded-Method", "GET"),
    ("X-Forwarded-Port", "443"),
    ("X-Forwarded-Proto", "https"),
    ("X-Forwarded-Server", "edge-1"),
    ("X-Forwarded-Uri", "/news?page=2"),
    ("X-Real-Ip", "198.51.100.7"),
];

/// What Envoy's ext_authz sends over HTTP: the client's method and path below the prefix, and the headers it was told to pass on.
const ENVOY: [(&str, &str); 9] = [
    ("Host", "www.example.org"),
    (
        "User-Agent",
        "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    ),
    ("Accept", "text/html,application/xhtml+xml"),
    ("Content-Length", "0"),
    ("X-Forwarded-For", "198.51.100.7"),
    ("X-Forwarded-Proto", "https"),
    ("X-Request-Id", "6b0f2c1e-8f3a-4b53-9d3e-2f4a5b6c7d8e"),
    ("X-Envoy-Internal", "true"),
    ("X-Envoy-Expected-Rq-Timeout-Ms", "500"),
];

/// What nginx sends, by the shipped configuration.
const NGINX: [(&str, &str); 6] = [
    ("Host", "www.example.org"),
    ("X-Forwarded-For", "198.51.100.7"),
    ("X-Forwarded-Proto", "https"),
    ("X-Original-URI", "/news?page=2"),
    ("X-Original-Method", "GET"),
    ("X-Original-Host", "www.example.org"),
];

/// The same with one header changed, or without it.
fn changed<'a>(
    headers: &[(&'a str, &'a str)],
    name: &str,
    value: Option<&'a str>,
) -> Vec<(&'a str, &'a str)> {
    let headers = headers.iter();
    headers
        .filter_map(|(key, old)| match *key == name {
            true => value.map(|value| (*key, value)),
            false => Some((*key, *old)),
        })
        .collect()
}

/// Asks until a challenge comes, and checks what the log says.
fn check_shape(path: &str, role: &str, headers: &[(&str, &str)], challenge: u16) {
    let stand = Stand::start(role);
    for page in 0..20 {
        let answer = stand.ask(path, headers);
        assert_eq!(answer.status, 200, "question {page}: {}", answer.text());
        assert_eq!(answer.values("x-cattlegrid-decision"), ["pass"]);
        assert_eq!(answer.body, b"");
    }
    let answer = stand.ask(path, headers);
    assert_eq!(answer.status, challenge, "{}", answer.text());
    assert_eq!(answer.values("x-cattlegrid-decision"), ["challenge"]);
    if challenge == 403 {
        assert!(Puzzle::of(&answer.text()).is_some(), "{}", answer.text());
        let cookie = answer.header("set-cookie").unwrap();
        assert!(cookie.starts_with("__Host-cattlegrid-ask="), "{cookie}");
    }
    wait_for("all lines are in the log", || stand.gate.log().len() == 21);
    let lines = stand.gate.log();
    let count = |status: u16| lines.iter().filter(|line| line["status"] == status).count();
    assert_eq!((count(100), count(403)), (20, 1));
    for line in &lines {
        assert_eq!(line["source"], "198.51.100.7");
        assert_eq!(line["host"], "www.example.org");
        assert_eq!(line["target"], "/news?page=2");
        assert_eq!(line["method"], "GET");
    }
    // A block and a wait, by the owner's rules.
    for (target, status) in [("/forbidden", 403), ("/slow", 429)] {
        let status = if challenge == 401 { 403 } else { status };
        let asked = path.replace("/news?page=2", target);
        let headers = changed(headers, "X-Forwarded-Uri", Some(target));
        let headers = changed(&headers, "X-Original-URI", Some(target));
        let answer = stand.ask(&asked, &headers);
        assert_eq!(answer.status, status, "{target}: {}", answer.text());
    }
}

#[test]
fn traefik_and_caddy_get_the_whole_page() {
    check_shape("/auth", "forward_auth", &TRAEFIK, 403);
}

#[test]
fn envoy_gets_the_whole_page() {
    check_shape("/auth/envoy/news?page=2", "envoy", &ENVOY, 403);
}

#[test]
fn nginx_gets_a_status_that_it_knows() {
    check_shape("/auth/nginx", "forward_auth", &NGINX, 401);
}

#[test]
fn a_page_is_shown_without_counting_again() {
    let stand = Stand::start("forward_auth");
    for _ in 0..20 {
        assert_eq!(stand.ask("/auth/nginx", &NGINX).status, 200);
        // Who passes has nothing to be shown: nginx has refused him itself, or it was decided anew.
        assert_eq!(stand.ask("/auth/show", &NGINX).status, 403);
        let again = [&NGINX[..], &[("X-Cattlegrid-Show", "challenge")]].concat();
        let answer = stand.ask("/auth/show", &again);
        assert_eq!(
            (answer.status, answer.values("retry-after")),
            (503, vec!["1".to_owned()])
        );
    }
    assert_eq!(stand.ask("/auth/nginx", &NGINX).status, 401);
    for _ in 0..3 {
        let answer = stand.ask("/auth/show", &NGINX);
        assert_eq!(answer.status, 403);
        assert!(Puzzle::of(&answer.text()).is_some(), "{}", answer.text());
    }
    let slow = changed(&NGINX, "X-Original-URI", Some("/slow"));
    assert_eq!(stand.ask("/auth/show", &slow).status, 429);
    wait_for("21 lines are in the log", || stand.gate.log().len() >= 21);
    assert_eq!(stand.gate.log().len(), 21);
}

#[test]
fn only_what_the_gate_answers_itself_is_its_own() {
    let stand = Stand::start("forward_auth");
    for page in 0..25 {
        let own = changed(&TRAEFIK, "X-Forwarded-Uri", Some("/.cattlegrid/answer"));
        assert_eq!(stand.ask("/auth", &own).status, 200);
        let other = changed(&TRAEFIK, "X-Forwarded-Uri", Some("/.cattlegrid/../news"));
        let status = stand.ask("/auth", &other).status;
        assert_eq!(status, if page < 20 { 200 } else { 403 }, "{page}");
    }
}

#[test]
fn the_last_address_that_is_no_proxy_is_the_client() {
    let stand = Stand::with("forward_auth", "");
    let source = |chain: &str| {
        let target = format!("/chain?{}", chain.replace([' ', ','], "_"));
        let headers = changed(&TRAEFIK, "X-Forwarded-For", Some(chain));
        let headers = changed(&headers, "X-Forwarded-Uri", Some(&target));
        assert_eq!(stand.ask("/auth", &headers).status, 200);
        let mut found = None;
        wait_for("the line", || {
            let lines = stand.gate.log();
            found = lines
                .into_iter()
                .find(|line| line["target"] == target.as_str());
            found.is_some()
        });
        found.unwrap()["source"].as_str().unwrap().to_owned()
    };
    assert_eq!(source("198.51.100.7"), "198.51.100.7");
    assert_eq!(source("203.0.113.1, 198.51.100.7"), "198.51.100.7");
    assert_eq!(
        source("203.0.113.1, 198.51.100.8, 127.0.0.1"),
        "198.51.100.8"
    );
    assert_eq!(source("::ffff:198.51.100.9"), "198.51.100.9");
    assert_eq!(source("[2001:db8::1]:443"), "2001:db8::1");
    assert_eq!(source("198.51.100.7, unknown"), "127.0.0.1");
}

/// True where a question is refused, and the gate says which header is at fault.
fn refuses(stand: &Stand, path: &str, headers: &[(&str, &str)], named: &str) -> bool {
    let said = stand.gate.stderr().len();
    let answer = stand.ask(path, headers);
    if answer.status != 403 || answer.header("x-cattlegrid-decision").is_some() {
        return false;
    }
    wait_for("a message", || {
        let all = stand.gate.stderr();
        all[said..].contains(&format!("cannot be answered: {named} "))
    });
    true
}

#[test]
fn h048_what_is_missing_in_a_question_is_not_guessed() {
    let mut stand = Stand::start("forward_auth");
    let before = stand.gate.before();
    let victim = Victim::start(stand.victims);
    let weak = Stand::with("forward_auth", "without = [\"missing\"]");
    for (path, headers, names) in [
        ("/auth", &TRAEFIK[..], FORWARDED),
        ("/auth/nginx", &NGINX[..], ORIGINAL),
        ("/auth/show", &NGINX[..], ORIGINAL),
    ] {
        check_missing(&stand, &weak, path, headers, names);
        check_wrong(&stand, path, headers, names);
    }
    // No question at all, and the headers of another server's question.
    for path in ["/", "/auth/", "/auth/other", "/auth/envoy/x", "/robots.txt"] {
        assert!(refuses(&stand, path, &TRAEFIK, "the path"), "{path}");
    }
    assert!(refuses(&stand, "/auth/nginx", &TRAEFIK, ORIGINAL[1]));
    assert!(refuses(&stand, "/auth", &NGINX, FORWARDED[1]));
    let lines = stand.gate.log();
    let mut targets = lines.iter().map(|line| &line["target"]);
    assert!(targets.all(|target| target == "/victim" || target == "/warm"));
    victim.check();
    stand.gate.check_after_at(&before, stand.victims);
}

/// Headers that tell the path, the method and the host.
const FORWARDED: [&str; 3] = ["X-Forwarded-Uri", "X-Forwarded-Method", "X-Forwarded-Host"];
const ORIGINAL: [&str; 3] = ["X-Original-URI", "X-Original-Method", "X-Original-Host"];

/// A question without one of its headers, with an empty one, or with two.
fn check_missing(
    stand: &Stand,
    weak: &Stand,
    path: &str,
    headers: &[(&'static str, &'static str)],
    names: [&'static str; 3],
) {
    // A gate that guesses has no page to show, whatever it guesses.
    let has_teeth =
        |headers: &[(&str, &str)]| path == "/auth/show" || !refuses_at_all(weak, path, headers);
    for name in names {
        let missing = changed(headers, name, None);
        assert!(refuses(stand, path, &missing, name), "no {name}");
        assert!(has_teeth(&missing), "no {name}: no teeth");
        let empty = changed(headers, name, Some(""));
        assert!(refuses(stand, path, &empty, name), "empty {name}");
        let twice = [headers, &[(name, "/robots.txt")]].concat();
        assert!(refuses(stand, path, &twice, name), "{name} twice");
        assert!(has_teeth(&twice), "{name} twice: no teeth");
    }
    let nobody = changed(headers, "X-Forwarded-For", None);
    assert!(refuses(stand, path, &nobody, "X-Forwarded-For"));
    assert!(has_teeth(&nobody), "no teeth");
}

/// A question about what is no path, or no host.
fn check_wrong(
    stand: &Stand,
    path: &str,
    headers: &[(&'static str, &'static str)],
    names: [&'static str; 3],
) {
    let address = "http://www.example.org/news";
    for target in ["news", "?page=2", "?", "*", address, "/a b", "/a\tb"] {
        let wrong = changed(headers, names[0], Some(target));
        assert!(refuses(stand, path, &wrong, names[0]), "{target}");
    }
    let wrong = changed(headers, names[1], Some("GET /"));
    assert!(refuses(stand, path, &wrong, names[1]));
    for host in ["a@b", "a,b", "..", "a/b"] {
        let wrong = changed(headers, names[2], Some(host));
        assert!(refuses(stand, path, &wrong, names[2]), "{host}");
    }
}

fn refuses_at_all(stand: &Stand, path: &str, headers: &[(&str, &str)]) -> bool {
    let answer = stand.ask(path, headers);
    answer.status != 200
}

/// True where a question from an address that nobody named is refused.
fn refuses_strangers(stand: &Stand) -> bool {
    let shapes = [("/auth", &TRAEFIK[..]), ("/auth/nginx", &NGINX[..])];
    shapes.iter().all(|(path, headers)| {
        get_from("127.0.0.66", stand.gate.address, path, headers).status == 403
    })
}

#[test]
fn h047_only_a_trusted_server_may_ask() {
    let mut stand = Stand::start("forward_auth");
    let before = stand.gate.before();
    let victim = Victim::start(stand.victims);
    assert!(refuses_strangers(&stand));
    assert!(
        stand
            .gate
            .log()
            .iter()
            .all(|line| line["source"] != "198.51.100.7")
    );
    // Before the site itself these headers mean nothing.
    let headers = [
        ("X-Original-URI", "/robots.txt"),
        ("X-Forwarded-Uri", "/robots.txt"),
        ("X-Original-Method", "OPTIONS"),
        ("X-Cattlegrid-Show", "challenge"),
    ];
    let answer = get_from("127.0.0.5", stand.victims, "/forbidden", &headers);
    assert_eq!(answer.status, 403);
    for page in 0..21 {
        let answer = get_from("127.0.0.5", stand.victims, "/page", &headers);
        assert_eq!(answer.status, if page < 20 { 200 } else { 403 });
    }
    victim.check();
    stand.gate.check_after_at(&before, stand.victims);
    let weak = Stand::with("forward_auth", "without = [\"trust\"]");
    assert!(!refuses_strangers(&weak), "no teeth");
}

/// What the program says to settings, and whether it takes them.
fn checked(gate: &str, role: &str) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gate.toml");
    let text = format!(
        "[gate]\n{gate}\n[[gate.listen]]\naddress = \"127.0.0.1:9080\"\nrole = \"{role}\"\n"
    );
    std::fs::write(&file, text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
        .args(["check", "--config"])
        .arg(file)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.success(), said)
}

#[test]
fn h045_trust_in_everybody_is_refused_unless_it_is_meant() {
    for role in ["forward_auth", "envoy"] {
        for gate in [
            "",
            "trusted_proxies = []",
            "trusted_proxies = [\"0.0.0.0/0\"]",
            "trusted_proxies = [\"::/0\"]",
            "trusted_proxies = [\"127.0.0.1\", \"0.0.0.0/0\"]",
        ] {
            let (is_taken, said) = checked(gate, role);
            assert!(!is_taken, "{gate}");
            assert!(said.contains("line "), "{said}");
            assert!(
                said.contains("trusted_proxies") || said.contains("trust_everybody"),
                "{said}"
            );
        }
        let (is_taken, said) = checked("trusted_proxies = [\"127.0.0.1\"]", role);
        assert!(is_taken, "{said}");
        let (is_taken, said) = checked("trust_everybody = true", role);
        assert!(is_taken, "{said}");
    }
    let origin = Origin::start();
    let wanted = Wanted {
        gate: "trust_everybody = true".to_owned(),
        listen: "role = \"forward_auth\"".to_owned(),
        ..Wanted::default()
    };
    let gate = Gate::with(&origin, wanted);
    assert!(
        gate.stderr().contains("WARN trust_everybody"),
        "{}",
        gate.stderr()
    );
    assert_eq!(
        get_from("127.0.0.66", gate.address, "/auth", &TRAEFIK).status,
        200
    );
}

#[test]
fn a_prefix_where_servers_ask_is_refused() {
    let gate = "trusted_proxies = [\"127.0.0.1\"]\nprefix = \"/auth/pages/\"";
    let (is_taken, said) = checked(gate, "forward_auth");
    assert!(!is_taken && said.contains("prefix"), "{said}");
}

#[test]
fn the_shipped_settings_are_sound() {
    let shipped = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/gate/forward-auth.toml"
    );
    let output = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
        .args(["check", "--config", shipped])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
}
