//! Queries to a name server: one reading of a response, or none. It asks for addresses and names, follows the aliases of a response, and
//! sends each query from a port of its own, so that nobody who does not see it can answer it.

use std::io;
use std::net::IpAddr;
use std::net::Ipv4Addr;
use std::net::Ipv6Addr;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::UdpSocket;
use tokio::time::timeout;

/// Records of one response that are looked at; the rest says nothing.
const RECORDS_MAX: usize = 64;
/// Aliases that are followed within a response.
const ALIASES_MAX: usize = 8;
/// A name server that has not answered by then is asked once more.
const PATIENCE: Duration = Duration::from_millis(1500);
const TRIES: u32 = 2;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    A = 1,
    Ptr = 12,
    Aaaa = 28,
}

const CNAME: u16 = 5;
const INTERNET: u16 = 1;

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failed {
    /// The name server did not answer in time, or not soundly, or says that it failed.
    Server,
}

/// One record of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    Address(IpAddr),
    Name(String),
}

/// An answer: no records where the name or the kind does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Answer {
    pub(crate) records: Vec<Record>,
    /// Seconds for which it is good.
    pub(crate) ttl: u32,
}

/// The name under which an address has its names.
pub(crate) fn reverse_name(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            format!("{d}.{c}.{b}.{a}.in-addr.arpa")
        }
        IpAddr::V6(address) => {
            let nibbles = address
                .octets()
                .into_iter()
                .rev()
                .flat_map(|byte| [byte & 15, byte >> 4]);
            let digits: String = nibbles.map(|nibble| format!("{nibble:x}.")).collect();
            digits + "ip6.arpa"
        }
    }
}

/// Asks a name server.
pub(crate) async fn ask(server: SocketAddr, name: &str, kind: Kind) -> Result<Answer, Failed> {
    for _ in 0..TRIES {
        let mut id = [0; 2];
        getrandom::fill(&mut id).map_err(|_| Failed::Server)?;
        let query = query(id, name, kind).ok_or(Failed::Server)?;
        let Ok(Ok(response)) = timeout(PATIENCE, exchange(server, &query)).await else {
            continue;
        };
        return read(&response, name, kind).ok_or(Failed::Server);
    }
    Err(Failed::Server)
}

async fn exchange(server: SocketAddr, query: &[u8]) -> io::Result<Vec<u8>> {
    let any: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any).await?;
    // From now on only this server is heard.
    socket.connect(server).await?;
    socket.send(query).await?;
    let mut buffer = [0; 4096];
    loop {
        let length = socket.recv(&mut buffer).await?;
        let response = &buffer[..length];
        // Anything else may be somebody's guess: the true one may still come.
        if answers(response, query) {
            const CUT: u8 = 2;
            return match response[2] & CUT {
                0 => Ok(response.to_vec()),
                _ => exchange_whole(server, query).await,
            };
        }
    }
}

/// The same over TCP, for a response that was too long.
async fn exchange_whole(server: SocketAddr, query: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(server).await?;
    let length = (query.len() as u16).to_be_bytes();
    stream.write_all(&[&length[..], query].concat()).await?;
    let mut response = vec![0; usize::from(stream.read_u16().await?)];
    stream.read_exact(&mut response).await?;
    match answers(&response, query) {
        true => Ok(response),
        false => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// True where a message is a response to a query: the same number, the same question.
fn answers(response: &[u8], query: &[u8]) -> bool {
    let question = &query[12..];
    response.len() >= query.len()
        && response[..2] == query[..2]
        && response[2] & 0x80 != 0
        && response[4..6] == [0, 1]
        && response[12..query.len()].eq_ignore_ascii_case(question)
}

fn query(id: [u8; 2], name: &str, kind: Kind) -> Option<Vec<u8>> {
    let mut message = vec![id[0], id[1], 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        if label.is_empty() || label.len() > 63 {
            return None;
        }
        message.push(label.len() as u8);
        message.extend_from_slice(label.as_bytes());
    }
    if message.len() > 12 + 254 {
        return None;
    }
    message.extend_from_slice(&[0, 0, kind as u8, 0, INTERNET as u8]);
    Some(message)
}

/// Reads a response. None where it is broken, or says that the server failed.
fn read(message: &[u8], name: &str, kind: Kind) -> Option<Answer> {
    const NO_SUCH_NAME: u8 = 3;
    match message.get(3)? & 15 {
        0 | NO_SUCH_NAME => {}
        _ => return None,
    }
    let count = usize::from(u16::from_be_bytes([*message.get(6)?, *message.get(7)?]));
    let (_, question_end) = name_at(message, 12)?;
    let mut at = question_end + 4;
    let mut found = Vec::new();
    for _ in 0..count.min(RECORDS_MAX) {
        let (owner, end) = name_at(message, at)?;
        let fixed = message.get(end..end + 10)?;
        let number = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let ttl = u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]);
        let start = end + 10;
        at = start + usize::from(number(8));
        let data = message.get(start..at)?;
        if number(2) == INTERNET {
            found.push((owner, number(0), ttl, (start, data)));
        }
    }
    let mut answer = Answer {
        records: Vec::new(),
        ttl: u32::MAX,
    };
    let mut wanted = name.to_ascii_lowercase();
    for _ in 0..ALIASES_MAX {
        let of_name = || found.iter().filter(|(owner, ..)| *owner == wanted);
        for (_, _, ttl, (start, data)) in of_name().filter(|found| found.1 == kind as u16) {
            answer.records.push(record(message, kind, *start, data)?);
            answer.ttl = answer.ttl.min(*ttl);
        }
        let alias = of_name().find(|found| found.1 == CNAME);
        match alias {
            Some((_, _, ttl, (start, _))) if answer.records.is_empty() => {
                wanted = name_at(message, *start)?.0;
                answer.ttl = answer.ttl.min(*ttl);
            }
            _ => break,
        }
    }
    Some(answer)
}

fn record(message: &[u8], kind: Kind, start: usize, data: &[u8]) -> Option<Record> {
    Some(match kind {
        Kind::A => Record::Address(<[u8; 4]>::try_from(data).ok()?.into()),
        Kind::Aaaa => Record::Address(<[u8; 16]>::try_from(data).ok()?.into()),
        Kind::Ptr => Record::Name(name_at(message, start)?.0),
    })
}

/// The name at a place of a message in small letters without the last dot, and where it ends. References lead only back, so that no loop
/// is possible; bytes that no host name has become `?`, so that they are no host name afterwards either.
fn name_at(message: &[u8], start: usize) -> Option<(String, usize)> {
    let (mut name, mut at, mut end) = (String::new(), start, None);
    let mut lowest = start;
    loop {
        let length = usize::from(*message.get(at)?);
        match length {
            0 => return Some((name, end.unwrap_or(at + 1))),
            1..=63 => {
                if !name.is_empty() {
                    name.push('.');
                }
                for byte in message.get(at + 1..at + 1 + length)? {
                    name.push(match byte.to_ascii_lowercase() {
                        byte @ (b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_') => char::from(byte),
                        _ => '?',
                    });
                }
                if name.len() > 255 {
                    return None;
                }
                at += 1 + length;
            }
            0xc0.. => {
                let low = usize::from(*message.get(at + 1)?);
                let target = (length & 63) << 8 | low;
                end = end.or(Some(at + 2));
                if target >= lowest {
                    return None;
                }
                (at, lowest) = (target, target);
            }
            _ => return None,
        }
    }
}

/// True for a name that lies in a domain, or is it: whole labels are compared, so `evilgooglebot.com` is not in `googlebot.com`.
pub(crate) fn lies_in(name: &str, domain: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.contains('?') {
        return false;
    }
    let (name, domain) = (name.to_ascii_lowercase(), domain.to_ascii_lowercase());
    let before = name.strip_suffix(&domain);
    before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

/// The first name server of the system.
pub(crate) fn system_server() -> Option<SocketAddr> {
    let text = std::fs::read_to_string("/etc/resolv.conf").ok()?;
    let servers = text.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        (words.next() == Some("nameserver")).then(|| words.next())?
    });
    servers
        .filter_map(|word| word.parse::<IpAddr>().ok())
        .map(|address| SocketAddr::new(address, 53))
        .next()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_lie_in_domains_by_whole_labels() {
        for (name, is_in) in [
            ("crawl-66-249-66-1.googlebot.com", true),
            ("GoogleBot.COM.", true),
            ("googlebot.com", true),
            ("evilgooglebot.com", false),
            ("googlebot.com.evil.example", false),
            ("googlebot.com.", true),
            ("googlebot.com..", false),
            ("x?.googlebot.com", false),
            ("xn--googlebot.com", false),
            ("", false),
        ] {
            assert_eq!(lies_in(name, "googlebot.com"), is_in, "{name}");
        }
    }

    #[test]
    fn addresses_have_reverse_names() {
        let name = |text: &str| reverse_name(text.parse().unwrap());
        assert_eq!(name("192.0.2.7"), "7.2.0.192.in-addr.arpa");
        assert!(name("2001:db8::1").starts_with("1.0.0.0."));
        assert!(name("2001:db8::1").ends_with("8.b.d.0.1.0.0.2.ip6.arpa"));
        assert_eq!(name("2001:db8::1").len(), 72);
    }

    /// A response with these records behind the question for `name`.
    fn response(name: &str, kind: Kind, records: &[(&[u8], u16, &[u8])]) -> Vec<u8> {
        let mut message = query([0, 0], name, kind).unwrap();
        message[2] = 0x81;
        message[7] = records.len() as u8;
        for (owner, kind, data) in records {
            message.extend_from_slice(owner);
            message.extend_from_slice(&kind.to_be_bytes());
            message.extend_from_slice(&[0, 1, 0, 0, 1, 0]);
            message.extend_from_slice(&(data.len() as u16).to_be_bytes());
            message.extend_from_slice(data);
        }
        message
    }

    #[test]
    fn hostile_responses_have_no_reading() {
        let own: &[u8] = &[0xc0, 12];
        let read_a = |records: &[(&[u8], u16, &[u8])]| {
            let message = response("a.example", Kind::A, records);
            read(&message, "a.example", Kind::A).map(|answer| answer.records)
        };
        let found = Record::Address([192, 0, 2, 1].into());
        assert_eq!(
            read_a(&[(own, 1, &[192, 0, 2, 1])]),
            Some(vec![found.clone()])
        );
        assert_eq!(
            read_a(&[(b"\x01b\xc0\x0e", 1, &[192, 0, 2, 1])]),
            Some(vec![])
        );
        assert_eq!(read_a(&[(own, 1, &[192, 0, 2])]), None);
        // An alias, one that leads to itself, and a name that refers to itself.
        let alias = b"\x01b\xc0\x0e";
        assert_eq!(
            read_a(&[(own, 5, alias), (alias, 1, &[192, 0, 2, 1])]),
            Some(vec![found])
        );
        assert_eq!(read_a(&[(own, 5, own)]), Some(vec![]));
        let mut looped = response("a.example", Kind::A, &[(own, 1, &[192, 0, 2, 1])]);
        let at = query([0, 0], "a.example", Kind::A).unwrap().len();
        looped[at + 1] = at as u8;
        assert_eq!(read(&looped, "a.example", Kind::A), None);
        let mut failed = response("a.example", Kind::A, &[]);
        failed[3] = 2;
        assert_eq!(read(&failed, "a.example", Kind::A), None);
    }

    #[test]
    fn names_with_other_bytes_are_no_names() {
        let name = b"\x09a\n\x1b\"<x>.b\x09googlebot\x03com\x00";
        let message = response("a.example", Kind::Ptr, &[(&[0xc0, 12], 12, name)]);
        let answer = read(&message, "a.example", Kind::Ptr).unwrap();
        let [Record::Name(name)] = &answer.records[..] else {
            panic!("{answer:?}");
        };
        assert!(!lies_in(name, "googlebot.com"), "{name}");
    }

    proptest! {
        #[test]
        fn no_bytes_panic_or_loop(mut bytes in prop::collection::vec(any::<u8>(), 0..300), flags in 0_u8..4) {
            if bytes.len() > 8 {
                bytes[3] = flags;
                bytes[6] = 0;
            }
            let answer = read(&bytes, "a.example", Kind::Ptr);
            let records = answer.map_or(0, |answer| answer.records.len());
            prop_assert!(records <= RECORDS_MAX);
        }
    }
}
