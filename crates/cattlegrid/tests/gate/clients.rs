//! Who a client is: the address that connected, unless a trusted proxy says otherwise.

use std::fs;
use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::process::Command;

use crate::harness::Client;
use crate::harness::Gate;
use crate::harness::NO_LIMITS;
use crate::harness::Origin;
use crate::harness::WAYS;
use crate::harness::Wanted;
use crate::harness::Way;
use crate::harness::connect_from;
use crate::harness::each;
use crate::harness::free_port;
use crate::harness::get;
use crate::harness::get_from;
use crate::harness::naive;
use crate::harness::request;
use crate::harness::settings;
use crate::harness::wait_for;
use crate::harness::watched;

type Headers<'a> = Vec<(&'a str, &'a str)>;

/// Whom the gate takes a client for that connects from this address with these headers, for each of them.
fn sources(gate: &Gate, peer: &str, all: &[Headers<'_>]) -> Vec<String> {
    let target = |number: usize| format!("/of{}/{number}.txt", peer.replace('.', "-"));
    for (number, headers) in all.iter().enumerate() {
        get_from(peer, gate.address, &target(number), headers);
    }
    let found = || -> Option<Vec<String>> {
        let log = gate.log();
        (0..all.len())
            .map(|number| {
                let line = log.iter().find(|line| line["target"] == target(number))?;
                line["source"].as_str().map(str::to_owned)
            })
            .collect()
    };
    wait_for("all requests are in the log", || found().is_some());
    found().unwrap()
}

const SPOOFS: [(&str, &str); 6] = [
    ("X-Forwarded-For", "192.0.2.1"),
    ("X-Real-IP", "192.0.2.1"),
    ("Forwarded", "for=192.0.2.1"),
    ("CF-Connecting-IP", "192.0.2.1"),
    ("True-Client-IP", "192.0.2.1"),
    ("X-Client-IP", "192.0.2.1"),
];

#[test]
fn h042_nobody_is_believed_without_a_trusted_proxy() {
    let rules = "[[gate.rule]]\npath = \"/private*\"\nnetworks = [\"192.0.2.1\"]\naction = \"pass\"\n\
         [[gate.rule]]\npath = \"/private*\"\naction = \"block\"\n";
    let origin = Origin::start();
    let mut all: Vec<Headers<'_>> = SPOOFS.iter().map(|spoof| vec![*spoof]).collect();
    all.push(SPOOFS.to_vec());
    // Neither a pass that is somebody else's, nor pages on somebody else's account.
    let believes = |gate: &Gate| {
        all.iter()
            .any(|headers| get(gate.address, "/private", headers).status == 200)
            || sources(gate, "127.0.0.1", &all) != vec!["127.0.0.1"; all.len()]
            || (0..30).all(|page| {
                let headers = &all[page % all.len()];
                get(gate.address, &format!("/{page}"), headers).status == 200
            })
    };
    let mut guarded = Gate::set(&origin, "", rules);
    watched(&mut guarded, |gate| assert!(!believes(gate)));
    assert!(believes(&Gate::set(
        &origin,
        "without = [\"trust\"]",
        rules
    )));
}

#[test]
fn h043_the_first_hop_from_the_right_that_is_not_trusted() {
    let origin = Origin::start();
    let trusted = "trusted_proxies = [\"127.0.0.5\", \"127.0.0.6\", \"::9\"]";
    let many = format!("192.0.2.66, {}::9", "::9,".repeat(10_000));
    let chains: Vec<(Headers<'_>, &str)> = [
        ("203.0.113.7", "203.0.113.7"),
        ("192.0.2.66, 203.0.113.7", "203.0.113.7"),
        ("203.0.113.7, 127.0.0.6, 127.0.0.5", "203.0.113.7"),
        ("192.0.2.66, 203.0.113.7,127.0.0.6", "203.0.113.7"),
        ("127.0.0.6, 127.0.0.5", "127.0.0.6"),
        ("203.0.113.7, , 127.0.0.6,,", "203.0.113.7"),
        (",203.0.113.7", "203.0.113.7"),
        ("", "127.0.0.5"),
        (" , ,", "127.0.0.5"),
        (many.as_str(), "::9"),
    ]
    .map(|(chain, client)| (vec![("X-Forwarded-For", chain)], client))
    .into_iter()
    .chain([
        (
            vec![
                ("X-Forwarded-For", "192.0.2.66"),
                ("X-Forwarded-For", "203.0.113.7"),
            ],
            "203.0.113.7",
        ),
        (
            vec![(
                "Forwarded",
                "for=192.0.2.66, for=\"[2001:db8::7]:80\";proto=http",
            )],
            "2001:db8::7",
        ),
        (
            vec![
                ("Forwarded", "for=192.0.2.66"),
                ("X-Forwarded-For", "203.0.113.7"),
            ],
            "203.0.113.7",
        ),
        (vec![], "127.0.0.5"),
    ])
    .collect();
    let headers: Vec<Headers<'_>> = chains.iter().map(|(headers, _)| headers.clone()).collect();
    let clients: Vec<&str> = chains.iter().map(|(_, client)| *client).collect();
    let mut guarded = Gate::set(&origin, trusted, NO_LIMITS);
    watched(&mut guarded, |gate| {
        assert_eq!(sources(gate, "127.0.0.5", &headers), clients);
        // The same from somebody whom nobody trusts.
        assert_eq!(
            sources(gate, "127.0.0.7", &headers),
            vec!["127.0.0.7"; headers.len()]
        );
    });
    let lax = Gate::set(
        &origin,
        &format!("{trusted}\nwithout = [\"trust\"]"),
        NO_LIMITS,
    );
    assert_ne!(sources(&lax, "127.0.0.5", &headers), clients);
}

#[test]
fn h044_an_address_has_one_spelling() {
    let origin = Origin::start();
    let forms: Vec<(&str, &str)> = vec![
        ("203.0.113.7:5678", "203.0.113.7"),
        ("[2001:db8::1]:80", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("2001:0DB8:0:0::1", "2001:db8::1"),
        ("2001:db8::1%eth0", "2001:db8::1"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("[::ffff:203.0.113.7]:80", "203.0.113.7"),
        ("::ffff:cb00:7107", "203.0.113.7"),
        ("203.0.113.7%eth0", "203.0.113.7"),
        ("010.0.0.1", "127.0.0.5"),
        ("0x7f.1", "127.0.0.5"),
        ("127.1", "127.0.0.5"),
        ("2130706433", "127.0.0.5"),
        ("203.0.113.256", "127.0.0.5"),
        ("203.0.113.7 203.0.113.8", "127.0.0.5"),
        ("unknown", "127.0.0.5"),
        ("_x", "127.0.0.5"),
        ("203.0.113.7, unknown", "127.0.0.5"),
    ];
    let headers: Vec<Headers<'_>> = forms
        .iter()
        .map(|(form, _)| vec![("X-Forwarded-For", *form)])
        .collect();
    let clients: Vec<&str> = forms.iter().map(|(_, client)| *client).collect();
    let trusted = "trusted_proxies = [\"127.0.0.5\"]";
    let rule =
        "[[gate.rule]]\npath = \"/private*\"\nnetworks = [\"203.0.113.7\"]\naction = \"block\"\n";
    let mut guarded = Gate::set(&origin, trusted, &format!("{NO_LIMITS}{rule}"));
    watched(&mut guarded, |gate| {
        assert_eq!(sources(gate, "127.0.0.5", &headers), clients);
        for (form, client) in &forms {
            let sent = [("X-Forwarded-For", *form)];
            let status = get_from("127.0.0.5", gate.address, "/private", &sent).status;
            assert_eq!(status == 403, *client == "203.0.113.7", "{form}");
        }
    });
    let lax = Gate::set(
        &origin,
        &format!("{trusted}\nwithout = [\"trust\"]"),
        NO_LIMITS,
    );
    assert_ne!(sources(&lax, "127.0.0.5", &headers), clients);
}

/// How the program ends with these settings, and what it says.
fn refuses_to_start(gate: &str, listen: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let address = |_| -> SocketAddr { format!("127.0.0.1:{}", free_port()).parse().unwrap() };
    let [own, admin, origin] = [(); 3].map(address);
    let wanted = Wanted {
        gate: gate.to_owned(),
        listen: listen.to_owned(),
        ..Wanted::default()
    };
    let path = folder.path().join("gate.toml");
    fs::write(&path, settings(folder.path(), own, admin, origin, &wanted)).unwrap();
    let checked = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
        .arg("check")
        .arg("--config")
        .arg(&path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&checked.stdout).into_owned();
    if checked.status.success() {
        return None;
    }
    let ran = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
        .arg("gate")
        .arg("--config")
        .arg(&path)
        .output()
        .unwrap();
    assert!(!ran.status.success());
    Some(text)
}

#[test]
fn h045_nobody_trusts_everybody_by_accident() {
    for network in [
        "0.0.0.0/0",
        "::/0",
        "0.0.0.0/1",
        "128.0.0.0/1",
        "2000::/3",
        "::/1",
    ] {
        for listen in ["", "role = \"forward_auth\""] {
            let gate = format!("trusted_proxies = [\"127.0.0.1\", \"{network}\"]");
            let said = refuses_to_start(&gate, listen).unwrap_or_else(|| panic!("{network}"));
            assert!(said.contains("line ") && said.contains(network), "{said}");
            assert!(said.contains("trust_everybody"), "{said}");
        }
    }
    let said = refuses_to_start("", "role = \"forward_auth\"").unwrap();
    assert!(said.contains("trusted_proxies"), "{said}");
    // The same with the explicit word, or with a proxy that is one.
    assert_eq!(refuses_to_start("trust_everybody = true", ""), None);
    let own = "trusted_proxies = [\"10.0.0.0/8\", \"fc00::/7\"]";
    assert_eq!(refuses_to_start(own, "role = \"forward_auth\""), None);
    let origin = Origin::start();
    let open = Gate::set(&origin, "trust_everybody = true", "");
    assert!(open.stderr().contains("WARN"), "{}", open.stderr());
    assert!(open.stderr().contains("trust_everybody"));
}

/// A connection is closed without a word.
fn closes_silently(peer: &str, address: SocketAddr, bytes: &[u8]) -> bool {
    let mut stream = connect_from(peer, address).unwrap();
    let _ = stream.write_all(bytes);
    let (mut answer, mut chunk) = (Vec::new(), [0; 4096]);
    while let Ok(length @ 1..) = stream.read(&mut chunk) {
        answer.extend_from_slice(&chunk[..length]);
        if answer.len() > 100 {
            break;
        }
    }
    answer.is_empty()
}

fn binary(command: u8, family: u8, rest: &[u8], length: usize) -> Vec<u8> {
    let mut bytes = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
    bytes.extend([command, family]);
    bytes.extend(u16::try_from(length).unwrap().to_be_bytes());
    bytes.extend(rest);
    bytes
}

#[test]
fn h046_the_proxy_header() {
    let origin = Origin::start();
    let port = free_port();
    let address: SocketAddr = format!("127.0.0.1:{port}").parse().unwrap();
    let listener =
        format!("{NO_LIMITS}[[gate.listen]]\naddress = \"{address}\"\nproxy_protocol = true\n");
    let mut guarded = Gate::set(&origin, "trusted_proxies = [\"127.0.0.5\"]", &listener);
    for way in WAYS {
        check_proxy_header(&mut guarded, &origin, address, way);
    }
}

/// H046 for a request with or without a `Connection` header behind the PROXY header.
fn check_proxy_header(guarded: &mut Gate, origin: &Origin, address: SocketAddr, way: Way) {
    origin.forget();
    let ask = &way.request(b"GET /by-proxy HTTP/1.1\r\nHost: www.example.org\r\n")[..];
    let line = b"PROXY TCP4 203.0.113.7 198.51.100.1 5000 80\r\n";
    let v4 = [203, 0, 113, 7, 198, 51, 100, 1, 19, 136, 0, 80];
    let bad: Vec<Vec<u8>> = vec![
        ask.to_vec(),
        [&b"PROXY TCP4 203.0.113.7\r\n"[..], ask].concat(),
        [&b"PROXY TCP4 1.2.3.400 198.51.100.1 5000 80\r\n"[..], ask].concat(),
        [&[b'P'; 600][..], ask].concat(),
        [&binary(0x21, 0x11, &v4[..8], 8)[..], ask].concat(),
        [&binary(0x21, 0x31, &[0; 216], 216)[..], ask].concat(),
        [&binary(0x21, 0x11, &[0; 65_535], 65_535)[..], ask].concat(),
        [&binary(0x2f, 0x11, &v4, 12)[..], ask].concat(),
        // It announces more than it sends.
        binary(0x21, 0x11, &v4, 400),
        b"PROXY TCP4".to_vec(),
        Vec::new(),
    ];
    watched(guarded, |gate| {
        let closed = each(&bad, |bytes| closes_silently("127.0.0.5", address, bytes));
        assert_eq!(closed, vec![true; bad.len()]);
        let sound = [&line[..], ask].concat();
        assert!(closes_silently("127.0.0.1", address, &sound));
        assert!(!origin.has_seen("/by-proxy"));
        // A plain listener takes none of this for silence.
        assert!(!closes_silently("127.0.0.5", gate.address, &sound));
        let balanced = [
            (sound, "203.0.113.7"),
            (
                [&binary(0x21, 0x11, &v4, 12)[..], ask].concat(),
                "203.0.113.7",
            ),
            ([&binary(0x20, 0, &[], 0)[..], ask].concat(), "127.0.0.5"),
        ];
        for (bytes, client) in balanced {
            origin.forget();
            assert!(!closes_silently("127.0.0.5", address, &bytes));
            let got = origin.got();
            let got = got.iter().find(|got| got.target() == "/by-proxy").unwrap();
            assert_eq!(got.values("x-real-ip"), [client]);
        }
    });
}

#[test]
fn h047_another_path_in_a_header_changes_nothing() {
    let origin = Origin::start();
    let rule = format!("{NO_LIMITS}[[gate.rule]]\npath = \"/secret*\"\naction = \"block\"\n");
    let mut guarded = Gate::set(&origin, "trusted_proxies = [\"127.0.0.5\"]", &rule);
    let headers = [
        ("X-Original-URI", "/.well-known/x"),
        ("X-Forwarded-Uri", "/robots.txt"),
        ("X-Original-URL", "/robots.txt"),
        ("X-Rewrite-URL", "/robots.txt"),
        ("X-Forwarded-Method", "OPTIONS"),
    ];
    let is_stopped = |address: SocketAddr, peer: &str| {
        headers
            .iter()
            .all(|header| get_from(peer, address, "/secret", &[*header]).status == 403)
            && get_from(peer, address, "/secret", &headers).status == 403
    };
    watched(&mut guarded, |gate| {
        assert!(is_stopped(gate.address, "127.0.0.1"));
        assert!(is_stopped(gate.address, "127.0.0.5"));
        assert!(!origin.has_seen("/secret"));
    });
    assert!(!is_stopped(naive(origin.address), "127.0.0.1"));
}

#[test]
fn h050_probes_are_requests_like_others() {
    let origin = Origin::start();
    let agents = ["GoogleHC/1.0", "kube-probe/1.30", "ELB-HealthChecker/2.0"];
    let skips = |address: SocketAddr| {
        agents.iter().any(|agent| {
            ["/", "/ping", "/healthz", "/ready", "/metrics"]
                .iter()
                .any(|path| get(address, path, &[("User-Agent", agent)]).status == 200)
        })
    };
    let none = "[policy]\nk1 = 0\n";
    let mut guarded = Gate::set(&origin, "", none);
    watched(&mut guarded, |gate| {
        assert!(!skips(gate.address));
        assert_eq!(get(gate.admin, "/healthz", &[]).status, 200);
    });
    let rule = format!("{none}[[gate.rule]]\nagent = \"^kube-probe/\"\naction = \"pass\"\n");
    assert!(skips(Gate::set(&origin, "", &rule).address));
}

#[test]
fn h051_all_conditions_of_a_rule_must_hold() {
    let origin = Origin::start();
    let stop = "[[gate.rule]]\npattern = \"private|other\"\naction = \"block\"\n";
    let parts = [
        "agent = \"Friend\"\n",
        "networks = [\"127.51.0.0/16\"]\n",
        "path = \"/private*\"\n",
    ];
    let pass = "action = \"pass\"\n";
    let rule = format!("{NO_LIMITS}[[gate.rule]]\n{}{pass}{stop}", parts.concat());
    let statuses = |address: SocketAddr| -> Vec<u16> {
        let mut all = Vec::new();
        for source in ["127.0.0.1", "127.51.0.1"] {
            for agent in ["Mozilla/5.0", "Friend/1.0"] {
                for path in ["/other", "/private"] {
                    let headers = [("User-Agent", agent)];
                    all.push(get_from(source, address, path, &headers).status);
                }
            }
        }
        all
    };
    let only_all = [403, 403, 403, 403, 403, 403, 403, 200];
    let mut guarded = Gate::set(&origin, "", &rule);
    watched(&mut guarded, |gate| {
        assert_eq!(statuses(gate.address), only_all);
    });
    let any = parts
        .map(|part| format!("[[gate.rule]]\n{part}{pass}"))
        .concat();
    let lax = Gate::set(&origin, "", &format!("{NO_LIMITS}{any}{stop}"));
    assert_ne!(statuses(lax.address), only_all);
}

/// How many pages these addresses get together, each asking for one.
fn pages_of(gate: &Gate, addresses: impl Iterator<Item = String>) -> usize {
    let mut client = Client::connect("127.0.0.5", gate.address).unwrap();
    let asks: Vec<Vec<u8>> = addresses
        .enumerate()
        .map(|(page, address)| {
            // Who accepts anything gets a short refusal: what is counted is the same.
            let headers = [("X-Forwarded-For", address.as_str()), ("Accept", "*/*")];
            request("GET", &format!("/page{page}"), &headers)
        })
        .collect();
    let mut passed = 0;
    // Many at once, behind each other: otherwise the time goes by waiting.
    for asks in asks.chunks(50) {
        client.send(&asks.concat()).unwrap();
        let answers = asks.iter().map(|_| client.answer(false).unwrap());
        passed += answers.filter(|answer| answer.status == 200).count();
    }
    passed
}

/// Sources and networks that a gate remembers, which it says when it starts again.
fn remembered(gate: Gate) -> (usize, Gate) {
    let said = gate.stderr().len();
    let gate = gate.restart();
    let text = gate.stderr();
    let (_, rest) = text[said..].split_once(" taken=").unwrap();
    let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next();
    (digits.unwrap().parse().unwrap(), gate)
}

#[test]
fn h060_one_network_of_ipv6_is_one_source() {
    let origin = Origin::start();
    // What is looked at is the table of sources. A judgement meanwhile would let lines wait in memory for the disk.
    let unjudged = "[policy]\nk2 = 1000000\n";
    let mut guarded = Gate::set(&origin, "trusted_proxies = [\"127.0.0.5\"]", unjudged);
    watched(&mut guarded, |gate| {
        let of_one = (0..100_000).map(|number| {
            let (high, low) = (number / 1000, number % 1000);
            format!("2001:db8:1:2:{high:x}:7:1:{low:x}")
        });
        assert_eq!(pages_of(gate, of_one), 20);
    });
    let (entries, mut guarded) = remembered(guarded);
    assert!((1..=10).contains(&entries), "{entries}");
    // The same from as many networks as addresses: all get their pages, and all are remembered.
    watched(&mut guarded, |gate| {
        let of_many = (0..200).map(|number| format!("2001:db8:{:x}::1", number + 16));
        assert_eq!(pages_of(gate, of_many), 200);
    });
    let (entries, _) = remembered(guarded);
    assert!(entries > 200, "{entries}");
}
