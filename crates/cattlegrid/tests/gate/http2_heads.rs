//! What comes by HTTP/2 and must never become HTTP/1.1: values with line ends, lengths that are wrong, headers of a connection.

use std::io;
use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Victim;
use crate::harness::wait_for;
use crate::http2::DATA;
use crate::http2::END_HEADERS;
use crate::http2::END_STREAM;
use crate::http2::Fields;
use crate::http2::HEADERS;
use crate::http2::Talk;
use crate::http2::asking;
use crate::http2::block;
use crate::http2::frame;
use crate::http2::literal;

/// A request that must not become HTTP/1.1, and what of it the site must not see.
struct Malformed {
    fields: Fields<'static>,
    data: Vec<&'static [u8]>,
    trailers: bool,
    /// What the site must not see.
    path: &'static str,
}

fn malformed() -> Vec<Malformed> {
    let plus = |path: &'static str, name: &'static [u8], value: &'static [u8]| {
        let mut fields = asking("GET", path);
        fields.push((name, value));
        fields
    };
    let body = |path: &'static str, length: &'static [u8]| {
        let mut fields = asking("POST", path);
        fields.push((b"content-length", length));
        fields
    };
    let whole = |fields: Fields<'static>, path: &'static str| Malformed {
        fields,
        data: Vec::new(),
        trailers: false,
        path,
    };
    let mut cases = vec![
        whole(
            plus("/cr", b"x-a", b"1\r\nx-real-ip: 192.0.2.1"),
            "GET /cr ",
        ),
        whole(plus("/lf", b"x-a", b"1\nx-b: 2"), "GET /lf "),
        whole(plus("/nul", b"x-a", b"1\0"), "GET /nul "),
        whole(plus("/name", b"x-a: 1\r\nx-b", b"2"), "GET /name "),
        whole(plus("/upper", b"X-Upper", b"2"), "GET /upper "),
        whole(plus("/te", b"transfer-encoding", b"chunked"), "GET /te "),
        whole(
            plus("/connection", b"connection", b"upgrade"),
            "GET /connection ",
        ),
        whole(plus("/twice", b":path", b"/other"), "GET /other "),
        whole(plus("/late", b":method", b"POST"), " /late "),
        whole(plus("/host", b"host", b"other.example.org"), "GET /host "),
        whole(asking("GET", "/space HTTP/1.1\r\nx: y"), "/space"),
        whole(asking("GET", "/blank x"), "/blank"),
        whole(asking("GET /method", "/x"), "GET /method"),
        whole(body("/length-alone", b"5"), "POST /length-alone "),
        whole(body("/length-sign", b"+0"), "POST /length-sign "),
    ];
    cases.push(Malformed {
        fields: body("/short", b"5"),
        data: vec![b"helloGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"],
        trailers: false,
        path: "/smuggled",
    });
    cases.push(Malformed {
        fields: body("/trailed", b"5"),
        data: vec![b"helloGET /behind HTTP/1.1\r\nHost: a\r\n\r\n"],
        trailers: true,
        path: "/behind",
    });
    cases
}

/// Sends a malformed request. An error where it was answered as a sound one, or the site saw what it must not.
fn h029_is_refused(address: SocketAddr, origin: &Origin, case: &Malformed) -> Result<(), String> {
    origin.forget();
    let mut talk = Talk::open(address, b"");
    let is_alone = case.data.is_empty() && !case.trailers;
    let flags = END_HEADERS | if is_alone { END_STREAM } else { 0 };
    let _ = talk.send(&frame(HEADERS, flags, 1, &block(&case.fields)));
    for (at, data) in case.data.iter().enumerate() {
        let is_last = at + 1 == case.data.len() && !case.trailers;
        let _ = talk.send(&frame(DATA, u8::from(is_last), 1, data));
    }
    if case.trailers {
        let trailers = literal(0, b"x-trailer", b"1");
        let _ = talk.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &trailers));
    }
    let is_answered = talk.is_answered(1);
    match is_answered || origin.has_seen(case.path) {
        true => Err(format!("{} was passed on", case.path)),
        false => Ok(()),
    }
}

/// Bodies that are shorter than they say: the head has gone on before that shows, but the request never comes whole.
fn short_body_is_cut(address: SocketAddr, origin: &Origin, has_trailers: bool) -> bool {
    origin.forget();
    let mut fields = asking("POST", "/cut");
    fields.push((b"content-length", b"10"));
    let mut talk = Talk::open(address, b"");
    let _ = talk.send(&frame(HEADERS, END_HEADERS, 1, &block(&fields)));
    let _ = talk.send(&frame(DATA, u8::from(!has_trailers), 1, b"hello"));
    if has_trailers {
        let trailers = literal(0, b"x-trailer", b"1");
        let _ = talk.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &trailers));
    }
    !talk.is_answered(1) && !origin.got().iter().any(|got| got.target() == "/cut")
}

/// Writes HTTP/1.1 as HTTP/2 comes, without a look at it.
fn careless(origin: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || translate(stream, origin));
        }
    });
    address
}

fn translate(mut stream: TcpStream, origin: SocketAddr) -> io::Result<()> {
    stream.read_exact(&mut [0; 24])?;
    let mut talk = Talk {
        stream,
        buffer: Vec::new(),
    };
    let mut site = TcpStream::connect(origin)?;
    while let Some(came) = talk.next(Duration::from_secs(5))? {
        match came.kind {
            HEADERS => site.write_all(&head_of(&came.payload))?,
            DATA => site.write_all(&came.payload)?,
            _ => {}
        }
        if came.flags & END_STREAM != 0 && came.kind <= HEADERS {
            let answer = frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0x88]);
            talk.send(&answer)?;
        }
    }
    Ok(())
}

/// The first line and the headers of a block of literals.
fn head_of(mut payload: &[u8]) -> Vec<u8> {
    let text = |payload: &mut &[u8]| {
        let (length, rest) = (usize::from(payload[0]), &payload[1..]);
        let (value, rest) = rest.split_at(length);
        *payload = rest;
        value.to_vec()
    };
    let (mut line, mut head) = ([Vec::new(), Vec::new()], Vec::new());
    while !payload.is_empty() {
        payload = &payload[1..];
        let (name, value) = (text(&mut payload), text(&mut payload));
        match &name[..] {
            b":method" => line[0] = value,
            b":path" => line[1] = value,
            b":scheme" => {}
            b":authority" => head.extend([b"host: ", &value[..], b"\r\n"].concat()),
            _ => head.extend([&name[..], b": ", &value, b"\r\n"].concat()),
        }
    }
    [
        &line[0],
        &b" "[..],
        &line[1],
        b" HTTP/1.1\r\n",
        &head,
        b"\r\n",
    ]
    .concat()
}

#[test]
fn h029_what_is_malformed_never_becomes_http1() {
    let origin = Origin::start();
    let mut gate = Gate::open(&origin, "");
    let before = gate.before();
    let victim = Victim::start(gate.address);
    let careless = careless(origin.address);
    for case in malformed() {
        assert_eq!(h029_is_refused(gate.address, &origin, &case), Ok(()));
        assert!(h029_is_refused(careless, &origin, &case).is_err());
        wait_for("the careless one passes it on", || {
            origin.has_seen(case.path)
        });
    }
    assert!(short_body_is_cut(gate.address, &origin, false));
    assert!(short_body_is_cut(gate.address, &origin, true));
    victim.check();
    gate.check_after(&before);
}
