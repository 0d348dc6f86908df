//! A name server on loopback whose answers are a test's: it may lie, fail, be slow or be silent.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::fs;
use std::net::IpAddr;
use std::net::SocketAddr;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;
use std::time::Instant;

/// How late a late answer is.
const LATE: Duration = Duration::from_secs(5);

/// What the server does with a query that it has an answer for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Answers,
    Fails,
    Silent,
    /// Answers after five seconds.
    Late,
    /// Silent about all names that it does not know.
    Selective,
}

/// One record: an address, or a name.
#[derive(Debug, Clone)]
pub(crate) enum Record {
    Address(IpAddr),
    Name(String),
    /// A name whose labels are sent as they are: they may have dots of their own.
    Labels(Vec<String>),
    Alias(String),
}

type Zone = HashMap<String, Vec<Record>>;

/// The server.
pub(crate) struct NameServer {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

/// What the server's thread and a test see of each other.
struct Shared {
    zone: Mutex<(Zone, Manner)>,
    /// When each query came.
    asked: Mutex<Vec<Instant>>,
    most_open: AtomicUsize,
    ends: AtomicBool,
}

impl NameServer {
    /// A server that knows nothing yet.
    pub(crate) fn start() -> NameServer {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(100)))
            .unwrap();
        let shared = Arc::new(Shared {
            zone: Mutex::new((Zone::new(), Manner::Answers)),
            asked: Mutex::default(),
            most_open: AtomicUsize::new(0),
            ends: AtomicBool::new(false),
        });
        let of_thread = Arc::clone(&shared);
        thread::spawn(move || serve(&socket, &of_thread));
        NameServer { address, shared }
    }

    /// When each query came.
    pub(crate) fn asked(&self) -> Vec<Instant> {
        self.shared.asked.lock().unwrap().clone()
    }

    /// The most queries that waited for an answer at once, while it was silent or late.
    pub(crate) fn most_open(&self) -> usize {
        self.shared.most_open.load(Ordering::Relaxed)
    }

    /// Names of an address.
    pub(crate) fn names(&self, address: &str, names: &[&str]) {
        let reverse = reverse(address.parse().unwrap());
        let records = names.iter().map(|name| Record::Name((*name).to_owned()));
        self.insert(reverse, records.collect());
    }

    /// The name of an address, by labels that are sent as they are.
    pub(crate) fn labels(&self, address: &str, labels: &[&str]) {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        self.insert(
            reverse(address.parse().unwrap()),
            vec![Record::Labels(labels)],
        );
    }

    fn insert(&self, name: String, records: Vec<Record>) {
        self.shared.zone.lock().unwrap().0.insert(name, records);
    }

    /// Records of a name.
    pub(crate) fn has(&self, name: &str, records: &[Record]) {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        self.insert(name, records.to_vec());
    }

    /// Addresses of a name.
    pub(crate) fn addresses(&self, name: &str, addresses: &[&str]) {
        let records = addresses
            .iter()
            .map(|address| Record::Address(address.parse().unwrap()));
        self.has(name, &records.collect::<Vec<_>>());
    }

    pub(crate) fn set(&self, manner: Manner) {
        self.shared.zone.lock().unwrap().1 = manner;
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
    }
}

/// Answers until the test ends.
fn serve(socket: &UdpSocket, shared: &Shared) {
    let address = socket.local_addr().unwrap();
    let mut late: VecDeque<(Instant, Vec<u8>, SocketAddr)> = VecDeque::new();
    let mut buffer = [0; 512];
    while !shared.ends.load(Ordering::Relaxed) {
        while let Some((_, response, from)) = late.pop_front_if(|(due, ..)| *due <= Instant::now())
        {
            let _ = socket.send_to(&response, from);
        }
        let Ok((length, from)) = socket.recv_from(&mut buffer) else {
            continue;
        };
        shared.asked.lock().unwrap().push(Instant::now());
        let (zone, manner) = &*shared.zone.lock().unwrap();
        if matches!(manner, Manner::Silent | Manner::Late) {
            let open = open_queries(address);
            shared.most_open.fetch_max(open, Ordering::Relaxed);
        }
        match respond(&buffer[..length], zone, *manner) {
            Some(response) if *manner == Manner::Late => {
                late.push_back((Instant::now() + LATE, response, from));
            }
            Some(response) => {
                let _ = socket.send_to(&response, from);
            }
            None => {}
        }
    }
}

/// Sockets that wait for this server: each query has one, and closes it when it gives up, which no server could see from what it is sent.
fn open_queries(server: SocketAddr) -> usize {
    let IpAddr::V4(address) = server.ip() else {
        return 0;
    };
    // The kernel writes the four bytes as a number of this machine.
    let number = u32::from_ne_bytes(address.octets());
    let remote = format!("{number:08X}:{:04X}", server.port());
    let table = fs::read_to_string("/proc/net/udp").unwrap();
    let lines = table.lines().skip(1);
    lines
        .filter(|line| line.split_whitespace().nth(2) == Some(&remote))
        .count()
}

fn reverse(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            format!("{d}.{c}.{b}.{a}.in-addr.arpa")
        }
        IpAddr::V6(address) => {
            let digits: Vec<String> = address
                .octets()
                .iter()
                .rev()
                .map(|byte| format!("{:x}.{:x}", byte & 15, byte >> 4))
                .collect();
            format!("{}.ip6.arpa", digits.join("."))
        }
    }
}

fn respond(query: &[u8], zone: &Zone, manner: Manner) -> Option<Vec<u8>> {
    let (mut name, mut at) = (String::new(), 12);
    while query[at] != 0 {
        let length = usize::from(query[at]);
        name += &String::from_utf8_lossy(&query[at + 1..at + 1 + length]);
        name.push('.');
        at += 1 + length;
    }
    let kind = query[at + 2];
    let mut response = query[..at + 5].to_vec();
    response[2] = 0x81;
    response[3] = 0x80;
    match manner {
        Manner::Silent => return None,
        Manner::Fails => {
            response[3] |= 2;
            return Some(response);
        }
        Manner::Answers | Manner::Late | Manner::Selective => {}
    }
    let mut name = name.trim_end_matches('.').to_ascii_lowercase();
    if manner == Manner::Selective && !zone.contains_key(&name) {
        return None;
    }
    let mut count = 0;
    while let Some(records) = zone.get(&name) {
        let mut next = None;
        for record in records {
            let (of, data) = match record {
                Record::Address(IpAddr::V4(address)) => (1, address.octets().to_vec()),
                Record::Address(IpAddr::V6(address)) => (28, address.octets().to_vec()),
                Record::Name(name) => (12, encoded(name)),
                Record::Labels(labels) => (12, joined(labels.iter().map(String::as_str))),
                Record::Alias(name) => {
                    next = Some(name.trim_end_matches('.').to_ascii_lowercase());
                    (5, encoded(name))
                }
            };
            if of == kind || of == 5 {
                response.extend(encoded(&name));
                response.extend([0, of, 0, 1, 0, 0, 14, 16]);
                response.extend((data.len() as u16).to_be_bytes());
                response.extend(data);
                count += 1;
            }
        }
        match next {
            Some(next) if next != name => name = next,
            _ => break,
        }
    }
    if count == 0 && !zone.contains_key(&name) {
        response[3] |= 3;
    }
    response[7] = count;
    Some(response)
}

fn encoded(name: &str) -> Vec<u8> {
    joined(name.trim_end_matches('.').split('.'))
}

fn joined<'a>(labels: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in labels {
        bytes.push(label.len() as u8);
        bytes.extend_from_slice(label.as_bytes());
    }
    bytes.push(0);
    bytes
}
