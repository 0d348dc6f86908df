//! Servers and a firewall at work: denied clients are refused, others are served.

use std::fs;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;
use std::process::Stdio;

use cattlegrid_store::export::Target;
use tempfile::TempDir;

use crate::NOW;
use crate::denied;
use crate::denied_until;
use crate::export::apache;
use crate::export::caddy;
use crate::export::haproxy;
use crate::export::have_apache;
use crate::export::have_firewall;
use crate::export::large;
use crate::export::nginx;
use crate::export::text;
use crate::programs::Server;
use crate::programs::apart;
use crate::programs::free_port;
use crate::programs::have;
use crate::programs::succeed;

/// A folder that a server may read who gives up his rights, with a list that denies 127.0.0.3, 127.0.0.8/30 and ::1.
fn folder(target: Target) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let list = ["127.0.0.3/32", "127.0.0.8/30", "::1/128"].map(denied);
    let file = folder.path().join("list");
    fs::write(&file, text(target, &list)).unwrap();
    (folder, file)
}

fn check(server: &Server) {
    for (client, status) in [
        ("127.0.0.1", "200"),
        ("127.0.0.2", "200"),
        ("127.0.0.3", "403"),
        ("127.0.0.4", "200"),
        ("127.0.0.7", "200"),
        ("127.0.0.8", "403"),
        ("127.0.0.11", "403"),
        ("127.0.0.12", "200"),
        ("::1", "403"),
    ] {
        assert_eq!(server.status(client), status, "{client}");
    }
}

/// Starts the server of a target with the list in a file of the folder. A free port may be taken before the server has
/// it, so there is more than one try.
fn start(target: Target, folder: &Path, file: &Path) -> Server {
    let server = (0..3).find_map(|_| start_at(free_port(), target, folder, file));
    server.unwrap_or_else(|| panic!("{} does not start", target.name()))
}

fn start_at(port: u16, target: Target, folder: &Path, file: &Path) -> Option<Server> {
    let include = format!("include {};", file.display());
    let mut command = match target {
        Target::NginxDeny => nginx(folder, port, "", &include),
        Target::NginxMap => {
            let question = "if ($cattlegrid_denied) { return 403; }";
            nginx(folder, port, &include, question)
        }
        Target::Apache => apache(folder, port, file),
        Target::Caddy => caddy(folder, port, file, "run"),
        Target::Haproxy => haproxy(folder, port, file),
        _ => panic!("{} is not for a server", target.name()),
    };
    if target == Target::Apache {
        command.arg("-X");
    }
    Server::start(command.stderr(Stdio::null()), port)
}

/// Checks that clients are denied, and prints what a long list costs the others.
fn check_target(target: Target) {
    let (folder, file) = folder(target);
    check(&start(target, folder.path(), &file));
    fs::write(&file, text(target, &[])).unwrap();
    let empty_us = start(target, folder.path(), &file).answer_us();
    fs::write(&file, text(target, &large())).unwrap();
    let large_us = start(target, folder.path(), &file).answer_us();
    let name = target.name();
    println!("{name}: an answer takes {empty_us} us, with 20,000 networks {large_us} us");
}

#[test]
fn nginx_denies() {
    if have(&["nginx", "curl"], 9) {
        check_target(Target::NginxDeny);
    }
}

#[test]
fn nginx_denies_by_the_variable() {
    if have(&["nginx", "curl"], 9) {
        check_target(Target::NginxMap);
    }
}

#[test]
fn apache_denies() {
    if have_apache(9) && have(&["curl"], 9) {
        check_target(Target::Apache);
    }
}

#[test]
fn apache_keeps_closed_what_was_closed() {
    if !have_apache(2) || !have(&["curl"], 2) {
        return;
    }
    let (folder, file) = folder(Target::Apache);
    for name in ["open", "closed"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("index.html"), "hello\n").unwrap();
    }
    let server = start(Target::Apache, folder.path(), &file);
    assert_eq!(server.status_of("127.0.0.1", "/open/"), "200");
    assert_eq!(server.status_of("127.0.0.1", "/closed/"), "403");
}

#[test]
fn haproxy_denies() {
    if have(&["haproxy", "curl"], 9) {
        check_target(Target::Haproxy);
    }
}

#[test]
fn caddy_denies() {
    if have(&["caddy", "curl"], 9) {
        check_target(Target::Caddy);
    }
}

#[test]
fn caddy_denies_in_its_blocks() {
    if !have(&["caddy", "curl"], 4) {
        return;
    }
    let (folder, file) = folder(Target::Caddy);
    let server = start(Target::Caddy, folder.path(), &file);
    for page in ["/inner/", "/other/one"] {
        assert_eq!(server.status_of("127.0.0.3", page), "403");
        assert_eq!(server.status_of("127.0.0.4", page), "200");
    }
}

/// The firewall drops a denied client's packets; a client whose time is over gets through with the next packet it sends
/// again, so the one connection made too early shows both.
#[test]
fn nftables_drops_until_the_time_is_over() {
    if !have(&["nginx", "curl", "ip"], 3) || !have_firewall("nft", "nft list ruleset", 3) {
        return;
    }
    let (folder, file) = folder(Target::Nftables);
    let list = [
        denied("127.0.0.3/32"),
        denied_until("127.0.0.4/32", NOW + 3),
    ];
    fs::write(&file, text(Target::Nftables, &list)).unwrap();
    // The configuration is for port 80 of a network that nothing else uses.
    let _ = nginx(folder.path(), 80, "", "");
    let script = r#"
        cd "$0"; ip link set lo up
        nginx -p "$0" -c nginx.conf -e error.log & server=$!
        trap 'kill $server; wait $server || true' EXIT
        ask() { curl -s -o /dev/null -w '%{http_code} %{time_connect} ' --noproxy '*' "$@" http://127.0.0.1/ || true; }
        ask --retry 30 --retry-connrefused --retry-delay 1 --interface 127.0.0.2
        nft -f list
        ask --max-time 30 --interface 127.0.0.4
        ask --max-time 2 --interface 127.0.0.3
        ask --interface 127.0.0.2
    "#;
    let said = succeed(apart(script).arg(folder.path()));
    let words: Vec<&str> = said.split_whitespace().collect();
    let [first, _, expiring, waited, dropped, _, other, _] = words[..] else {
        panic!("{said}");
    };
    assert_eq!(
        [first, expiring, dropped, other],
        ["200", "200", "000", "200"]
    );
    assert!(waited.parse::<f64>().unwrap() > 1.0, "{said}");
}
