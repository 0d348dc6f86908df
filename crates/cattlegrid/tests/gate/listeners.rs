//! Where connections come from: TLS, sockets in the file system, balancers that name the client, several sites, IPv6.

use std::fs;
use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::net::TcpStream;
use std::os::unix::net::UnixListener;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::PATIENCE;
use crate::harness::VICTIM;
use crate::harness::Wanted;
use crate::harness::connect_from;
use crate::harness::free_port;
use crate::harness::get_from;
use crate::harness::naive;
use crate::harness::page;
use crate::harness::request;
use crate::harness::wait_for;

/// Makes a certificate for www.example.org that vouches for itself.
fn certify(folder: &Path, name: &str) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-nodes", "-days", "2"])
        .args(["-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-subj", "/CN=www.example.org"])
        .args(["-addext", "subjectAltName=DNS:www.example.org"])
        .arg("-keyout")
        .arg(folder.join(format!("{name}.key")))
        .arg("-out")
        .arg(folder.join(format!("{name}.pem")))
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
}

/// Asks by TLS; the version of HTTP and the status, or nothing where the certificate is another one.
fn curl(gate: &Gate, certificate: &Path, version: &str) -> Option<String> {
    let port = gate.address.port();
    let asked = Command::new("curl")
        .args(["-s", "-o", "/dev/null", "--max-time", "10"])
        .args(["--interface", VICTIM, version])
        .args(["-w", "%{http_version} %{http_code}", "--cacert"])
        .arg(certificate)
        .args(["--resolve", &format!("www.example.org:{port}:127.0.0.1")])
        .arg(format!("https://www.example.org:{port}/tls"))
        .output()
        .unwrap();
    asked
        .status
        .success()
        .then(|| String::from_utf8(asked.stdout).unwrap())
}

#[test]
fn tls_with_certificates_that_change() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    for name in ["one", "two"] {
        certify(folder.path(), name);
    }
    fs::copy(file("one.pem"), file("now.pem")).unwrap();
    fs::copy(file("one.key"), file("now.key")).unwrap();
    let origin = Origin::start();
    let gate = Gate::with(
        &origin,
        Wanted {
            gate: "timeouts = { header = 1.0 }\n".to_owned(),
            listen: format!(
                "certificate = \"{}\"\nkey = \"{}\"\n",
                file("now.pem").display(),
                file("now.key").display()
            ),
            ..Wanted::default()
        },
    );
    let (one, two) = (file("one.pem"), file("two.pem"));
    assert_eq!(curl(&gate, &one, "--http1.1").as_deref(), Some("1.1 200"));
    assert_eq!(curl(&gate, &one, "--http2").as_deref(), Some("2 200"));
    assert_eq!(curl(&gate, &two, "--http2"), None);
    assert_eq!(origin.got()[0].values("x-forwarded-proto"), ["https"]);
    // No TLS, half a handshake, and none at all.
    for bytes in [
        &b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"[..],
        b"\x16\x03\x01",
        b"",
    ] {
        let mut stream = connect_from(VICTIM, gate.address).unwrap();
        stream.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP"));
    }
    fs::copy(file("two.pem"), file("now.pem")).unwrap();
    fs::copy(file("two.key"), file("now.key")).unwrap();
    gate.signal("HUP");
    wait_for("the new certificate is served", || {
        curl(&gate, &two, "--http2").is_some()
    });
    assert_eq!(curl(&gate, &one, "--http1.1"), None);
    // A key that does not belong to it is refused, and the old one stays.
    fs::copy(file("one.key"), file("now.key")).unwrap();
    gate.signal("HUP");
    wait_for("the reload is refused", || {
        gate.metric("cattlegrid_reload_failed") == Some(1.0)
    });
    assert!(gate.stderr().contains("line "), "{}", gate.stderr());
    assert_eq!(curl(&gate, &two, "--http2").as_deref(), Some("2 200"));
}

/// Asks through a socket in the file system, and reads until the end.
fn ask_unix(path: &Path, target: &str, headers: &[(&str, &str)]) -> String {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let all = [&[("Connection", "close")], headers].concat();
    stream.write_all(&request("GET", target, &all)).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// A site behind a socket in the file system, which shows for whom the gate asks.
fn unix_site(path: &Path) {
    let listener = UnixListener::bind(path).unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0];
                while stream.read_exact(&mut byte).is_ok() {
                    head.push(byte[0]);
                    if head.ends_with(b"\r\n\r\n") {
                        let text = String::from_utf8_lossy(&head).to_lowercase();
                        let real = text.lines().find(|line| line.starts_with("x-real-ip"));
                        let _ = stream.write_all(&page(real.unwrap_or("nobody")));
                        head.clear();
                    }
                }
            });
        }
    });
}

#[test]
fn sockets_in_the_file_system() {
    let folder = tempfile::tempdir().unwrap();
    let (site, own) = (folder.path().join("site"), folder.path().join("own"));
    unix_site(&site);
    let start = |trusted: &str| {
        let wanted = Wanted {
            gate: format!("trusted_proxies = [{trusted}]\n"),
            parts: format!(
                "[[gate.listen]]\naddress = \"unix:{}\"\n\
                 [[gate.site]]\nhosts = [\"*\"]\nupstream = \"unix:{}\"\n",
                own.display(),
                site.display()
            ),
            ..Wanted::default()
        };
        Gate::with(&Origin::start(), wanted)
    };
    let named = [("X-Forwarded-For", "192.0.2.7")];
    let gate = start("\"unix\"");
    let answer = ask_unix(&own, "/", &named);
    assert!(answer.ends_with("x-real-ip: 192.0.2.7"), "{answer}");
    assert!(
        get_from(VICTIM, gate.address, "/", &named)
            .text()
            .ends_with(VICTIM)
    );
    // The socket that it leaves behind is taken over by the next.
    drop(gate);
    let _gate = start("");
    let answer = ask_unix(&own, "/", &named);
    assert!(!answer.contains("192.0.2.7"), "{answer}");
}

/// What a balancer writes before a connection, in version 2.
fn binary(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    let mut bytes = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
    bytes.extend([command, family]);
    bytes.extend(u16::try_from(rest.len()).unwrap().to_be_bytes());
    bytes.extend(rest);
    bytes
}

/// True where the connection is ended within three seconds, and without an answer.
fn is_closed_silently(address: SocketAddr, source: &str, first: &[u8]) -> bool {
    let mut stream = connect_from(source, address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(3)))
        .unwrap();
    let asked = [first, &request("GET", "/proxied", &[])].concat();
    let _ = stream.write_all(&asked);
    match stream.read(&mut [0; 64]) {
        Ok(length) => length == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn h046_balancers_name_the_client() {
    let origin = Origin::start();
    let gate = Gate::with(
        &origin,
        Wanted {
            gate: "trusted_proxies = [\"127.0.0.5\"]\n".to_owned(),
            listen: "proxy_protocol = true\n".to_owned(),
            ..Wanted::default()
        },
    );
    let line = &b"PROXY TCP4 192.0.2.7 198.51.100.1 5000 80\r\n"[..];
    let four = [192, 0, 2, 8, 198, 51, 100, 1, 19, 136, 0, 80];
    let v2 = binary(0x21, 0x11, &four);
    let with_facts = binary(0x21, 0x11, &[&four[..], &[4, 0, 3, 1, 2, 3]].concat());
    let own = binary(0x20, 0, &[]);
    for (first, client) in [
        (line, "192.0.2.7"),
        (&v2, "192.0.2.8"),
        (&with_facts, "192.0.2.8"),
        (&own, "127.0.0.5"),
    ] {
        origin.forget();
        assert!(!is_closed_silently(gate.address, "127.0.0.5", first));
        assert_eq!(origin.got()[0].values("x-real-ip"), [client]);
        assert!(is_closed_silently(gate.address, "127.0.0.6", first));
    }
    origin.forget();
    let short = &binary(0x21, 0x11, &four[..8]);
    let mut wrong_length = binary(0x21, 0x11, &four);
    wrong_length[15] = 200;
    for first in [
        &b""[..],
        b"PROXY TCP4 192.0.2.7 198.51.100.1 5000\r\n",
        b"PROXY TCP4 192.0.2.7\r\n",
        &[&b"PROXY TCP4 "[..], &[b'1'; 600]].concat(),
        short,
        &binary(0x21, 0x31, &[0; 216]),
        &binary(0x21, 0x11, &[0; 60_000]),
        &binary(0x31, 0x11, &four),
    ] {
        assert!(is_closed_silently(gate.address, "127.0.0.5", first));
    }
    assert!(origin.got().is_empty(), "{:?}", origin.got());
    // A header that says it is longer takes bytes of the request with it; what is left is none.
    let mut stream = connect_from("127.0.0.5", gate.address).unwrap();
    stream.write_all(&wrong_length).unwrap();
    let began = Instant::now();
    assert_eq!(stream.read(&mut [0; 64]).unwrap_or(0), 0);
    assert!(began.elapsed() < Duration::from_secs(4));
    assert!(!is_closed_silently(naive(origin.address), "127.0.0.5", b""));
}

#[test]
fn several_sites_by_their_names() {
    let (one, two) = (Origin::start(), Origin::start());
    let parts = format!(
        "[[gate.site]]\nhosts = [\"one.example.org\", \"www.one.example.org\"]\nupstream = \"http://{}\"\n\
         [[gate.site]]\nhosts = [\"two.example.org\"]\nupstream = \"http://{}\"\n",
        one.address, two.address
    );
    let wanted = Wanted {
        parts,
        ..Wanted::default()
    };
    let gate = Gate::with(&one, wanted);
    for (host, status) in [
        ("one.example.org", 200),
        ("WWW.one.example.org:8080", 200),
        ("two.example.org", 200),
        ("three.example.org", 421),
        ("one.example.org.evil.example", 421),
    ] {
        let path = format!("/{}", host.replace(':', "-"));
        let answer = get_from(VICTIM, gate.address, &path, &[("Host", host)]);
        assert_eq!(answer.status, status, "{host}");
        let is_one = host.contains("one") && status == 200;
        assert_eq!(one.has_seen(&path), is_one, "{host}");
        assert_eq!(two.has_seen(&path), host == "two.example.org", "{host}");
    }
}

#[test]
fn ipv6() {
    let origin = Origin::start();
    let six: SocketAddr = format!("[::1]:{}", free_port()).parse().unwrap();
    let parts = format!(
        "[[gate.listen]]\naddress = \"{six}\"\n[[gate.site]]\nhosts = [\"*\"]\nupstream = \"http://{}\"\n",
        origin.address
    );
    let wanted = Wanted {
        parts,
        ..Wanted::default()
    };
    let _gate = Gate::with(&origin, wanted);
    for number in 0..21 {
        let mut stream = TcpStream::connect(six).unwrap();
        let close = [("Connection", "close")];
        let asked = request("GET", &format!("/six{number}"), &close);
        stream.write_all(&asked).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let expected = if number < 20 {
            "HTTP/1.1 200"
        } else {
            "HTTP/1.1 403"
        };
        assert!(answer.starts_with(expected), "{number}: {answer}");
    }
    assert_eq!(origin.got()[0].values("x-real-ip"), ["::1"]);
}
