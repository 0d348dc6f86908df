//! What is written, and whether the programs it is written for take it.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use cattlegrid_store::export::Denied;
use cattlegrid_store::export::Target;
use cattlegrid_store::export::write;
use serde_json::Value;
use serde_json::json;
use tempfile::TempDir;

use crate::DAY;
use crate::NOW;
use crate::denied;
use crate::denied_until;
use crate::programs::apart;
use crate::programs::have;
use crate::programs::not_installed;
use crate::programs::run;
use crate::programs::skipped;
use crate::programs::succeed;

pub(crate) const APACHE_MODULES: &str = "/usr/lib/apache2/modules";

fn small() -> Vec<Denied> {
    vec![
        denied("192.0.2.0/24"),
        denied("192.0.2.9/32"),
        denied_until("198.51.100.7/32", NOW + DAY),
        denied_until("198.51.100.8/32", NOW),
        denied("2001:db8:1::/48"),
        denied_until("2001:db8:2::1/128", NOW + 400 * DAY),
        denied_until("203.0.113.0/24", NOW + 30 * DAY),
        denied_until("203.0.113.77/32", NOW + 60 * DAY),
    ]
}

/// 20,000 networks that cannot be joined, half of them of IPv6 and a third expiring.
pub(crate) fn large() -> Vec<Denied> {
    (0..20_000_u32)
        .map(|number| {
            let [_, _, third, last] = (number / 2).to_be_bytes();
            let network = if number % 2 == 0 {
                format!("10.{third}.{last}.1/32")
            } else {
                format!("2001:db8:{third:x}:{last:x}00::/64")
            };
            match number % 3 {
                0 => denied_until(&network, NOW + DAY + number),
                _ => denied(&network),
            }
        })
        .collect()
}

fn lists() -> [(&'static str, Vec<Denied>); 4] {
    let everybody = vec![denied("0.0.0.0/0"), denied("::/0")];
    [
        ("empty", Vec::new()),
        ("small", small()),
        ("large", large()),
        ("everybody", everybody),
    ]
}

pub(crate) fn text(target: Target, list: &[Denied]) -> String {
    let mut text = Vec::new();
    write(target, list, NOW, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// Writes each list for the target to a file and checks it.
fn each(target: Target, check: impl Fn(&Path, PathBuf)) {
    for (name, list) in lists() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, text(target, &list)).unwrap();
        check(folder.path(), path);
    }
}

#[test]
fn what_is_expired_is_left_out_and_nothing_overlaps() {
    let expected =
        "192.0.2.0/24\n198.51.100.7/32\n203.0.113.0/24\n2001:db8:1::/48\n2001:db8:2::1/128\n";
    assert_eq!(text(Target::Cidr, &small()), expected);
    assert_eq!(text(Target::Cidr, &[]), "");
    assert_eq!(text(Target::Cidr, &large()).lines().count(), 20_000);
    let mut backwards = small();
    backwards.reverse();
    for target in Target::ALL {
        assert_eq!(text(target, &small()), text(target, &backwards));
    }
}

#[test]
fn a_comment_says_what_it_is() {
    for target in Target::ALL {
        let text = text(target, &[denied("192.0.2.0/24")]);
        let first = "# Made by `cattlegrid kb export` at 2030-01-01T12:00:00Z: 1 network.\n# ";
        let has_comments = !matches!(target, Target::Cidr | Target::Json);
        assert_eq!(text.starts_with(first), has_comments, "{}", target.name());
    }
}

#[test]
fn json_says_when_each_network_is_free_again() {
    let list = [
        denied("192.0.2.0/24"),
        denied_until("2001:db8::1/128", NOW + DAY),
    ];
    let value: Value = serde_json::from_str(&text(Target::Json, &list)).unwrap();
    let expected = json!({
        "schema": "cattlegrid/kb-export/1",
        "made": "2030-01-01T12:00:00Z",
        "networks": [
            {"network": "192.0.2.0/24", "until": null},
            {"network": "2001:db8::1/128", "until": "2030-01-02T12:00:00Z"},
        ],
    });
    assert_eq!(value, expected);
    for (_, list) in lists() {
        let value: Value = serde_json::from_str(&text(Target::Json, &list)).unwrap();
        assert!(value["networks"].is_array());
    }
}

/// A configuration of nginx that includes a file in `http` and has these lines in its server. Nothing of it lies outside
/// the folder, and a page is served as a file because nginx asks for `deny` only after `return`.
pub(crate) fn nginx(folder: &Path, port: u16, http: &str, server: &str) -> Command {
    fs::write(folder.join("index.html"), "hello\n").unwrap();
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {name};\n"))
        .concat();
    let config = format!(
        "daemon off; master_process off; pid nginx.pid; error_log error.log;\nevents {{}}\n\
         http {{ access_log off; {temporary} {http}\n\
         server {{ listen 127.0.0.1:{port}; listen [::1]:{port}; root .; {server} }} }}\n"
    );
    fs::write(folder.join("nginx.conf"), config).unwrap();
    let mut command = Command::new("nginx");
    command
        .arg("-p")
        .arg(folder)
        .args(["-c", "nginx.conf", "-e", "error.log"]);
    command
}

#[test]
fn nginx_takes_it() {
    if !have(&["nginx"], 8) {
        return;
    }
    each(Target::NginxDeny, |folder, file| {
        let include = format!("include {};", file.display());
        succeed(nginx(folder, 8080, "", &include).arg("-t"));
    });
    each(Target::NginxMap, |folder, file| {
        let include = format!("include {};", file.display());
        let said = succeed(
            nginx(
                folder,
                8080,
                &include,
                "if ($cattlegrid_denied) { return 403; }",
            )
            .arg("-t"),
        );
        assert!(!said.contains("[warn]"), "{said}");
    });
}

/// A configuration of Apache that includes a file for the whole site, of which one folder is closed to everybody.
pub(crate) fn apache(folder: &Path, port: u16, file: &Path) -> Command {
    fs::write(folder.join("index.html"), "hello\n").unwrap();
    let modules: String = ["mpm_event", "authz_core", "authz_host", "dir"]
        .map(|name| format!("LoadModule {name}_module {APACHE_MODULES}/mod_{name}.so\n"))
        .concat();
    let config = format!(
        "{modules}ServerRoot {folder}\nServerName localhost\nPidFile apache.pid\nErrorLog error.log\n\
         DefaultRuntimeDir {folder}\nUser www-data\nGroup www-data\nListen 127.0.0.1:{port}\nListen [::1]:{port}\n\
         DocumentRoot {folder}\nDirectoryIndex index.html\n\
         <Directory \"{folder}/closed\">\nRequire all denied\n</Directory>\n\
         <Location \"/\">\nAuthMerging And\nInclude {file}\n</Location>\n",
        folder = folder.display(),
        file = file.display(),
    );
    let path = folder.join("apache.conf");
    fs::write(&path, config).unwrap();
    let mut command = Command::new("apache2");
    command.arg("-d").arg(folder).arg("-f").arg(path);
    command
}

pub(crate) fn have_apache(checks: usize) -> bool {
    if !Path::new(APACHE_MODULES).is_dir() {
        not_installed("apache2, as Debian packages it,", checks);
        return false;
    }
    have(&["apache2"], checks)
}

#[test]
fn apache_takes_it() {
    if have_apache(4) {
        each(Target::Apache, |folder, file| {
            succeed(apache(folder, 8080, &file).arg("-t"));
        });
    }
}

/// A configuration of Caddy that imports a file and its snippet, in the site and where the order of directives would
/// otherwise put it last.
pub(crate) fn caddy(folder: &Path, port: u16, file: &Path, what: &str) -> Command {
    let config = format!(
        "{{\n\tadmin off\n\tauto_https off\n}}\nimport {}\n:{port} {{\n\tbind 127.0.0.1 ::1\n\
         \timport cattlegrid\n\thandle /inner/* {{\n\t\timport cattlegrid\n\t\trespond inner\n\t}}\n\
         \troute /other/* {{\n\t\timport cattlegrid\n\t\thandle /other/one {{\n\t\t\trespond one\n\t\t}}\n\t}}\n\
         \trespond hello\n}}\n",
        file.display()
    );
    let path = folder.join("Caddyfile");
    fs::write(&path, config).unwrap();
    let mut command = Command::new("caddy");
    command
        .args([what, "--adapter", "caddyfile", "--config"])
        .arg(path);
    for variable in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
        command.env(variable, folder);
    }
    command
}

#[test]
fn caddy_takes_it() {
    if have(&["caddy"], 4) {
        each(Target::Caddy, |folder, file| {
            succeed(&mut caddy(folder, 8080, &file, "validate"));
        });
    }
}

/// A configuration of HAProxy that asks the map for each client, in the words of the file's own comment.
pub(crate) fn haproxy(folder: &Path, port: u16, file: &Path) -> Command {
    let written = fs::read_to_string(file).unwrap();
    let rule = written
        .lines()
        .find_map(|line| line.strip_prefix("#     "))
        .unwrap()
        .replace("/etc/haproxy/cattlegrid.map", &file.display().to_string());
    let config = format!(
        "defaults\n mode http\n timeout connect 5s\n timeout client 5s\n timeout server 5s\n\
         frontend site\n bind 127.0.0.1:{port}\n bind ::1:{port}\n {rule}\n http-request return status 200\n"
    );
    let path = folder.join("haproxy.cfg");
    fs::write(&path, config).unwrap();
    let mut command = Command::new("haproxy");
    command.arg("-db").arg("-f").arg(path);
    command
}

#[test]
fn haproxy_takes_it() {
    if have(&["haproxy"], 4) {
        each(Target::Haproxy, |folder, file| {
            let said = succeed(haproxy(folder, 8080, &file).arg("-c"));
            assert!(!said.contains("[WARNING]"), "{said}");
        });
    }
}

/// Whether a firewall can be tried here: the program is installed and may have a network of its own.
pub(crate) fn have_firewall(program: &str, question: &str, checks: usize) -> bool {
    if !have(&["unshare", program], checks) {
        return false;
    }
    let (can, said) = run(&mut apart(question));
    if !can {
        skipped(
            checks,
            &format!("{program} may not be used here: {}", said.trim()),
        );
    }
    can
}

#[test]
fn nftables_takes_it_and_takes_it_again() {
    if !have_firewall("nft", "nft list ruleset", 4) {
        return;
    }
    each(Target::Nftables, |folder, file| {
        let script = "cd $0; nft -c -f $1; nft -f $1; nft -f $1; nft list table inet cattlegrid";
        let loaded = succeed(apart(script).arg(folder).arg(&file));
        let lines = fs::read_to_string(&file).unwrap();
        let ends = |text: &str| text.matches(" timeout ").count();
        assert_eq!(ends(&loaded), ends(&lines), "{}", file.display());
        let rules = loaded.matches("drop").count();
        assert_eq!(rules, 4, "{loaded}");
    });
}

#[test]
fn ipset_takes_it_and_takes_it_again() {
    if !have_firewall("ipset", "ipset list", 4) {
        return;
    }
    each(Target::Ipset, |folder, file| {
        let script = "cd $0; ipset restore < $1; ipset restore < $1; ipset save";
        let loaded = succeed(apart(script).arg(folder).arg(&file));
        let lines = fs::read_to_string(&file).unwrap();
        assert_eq!(loaded.matches("create").count(), 2, "{loaded}");
        let added = |text: &str| text.lines().filter(|line| line.starts_with("add ")).count();
        assert_eq!(added(&loaded), added(&lines));
    });
}
