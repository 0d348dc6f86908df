//! A name server on loopback whose answers are a test's: it may lie, fail, be slow or be silent.

use std::collections::HashMap;
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

/// What the server does with a query that it has an answer for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Answers,
    Fails,
    Silent,
    /// Silent about all names that it does not know.
    Selective,
}

/// One record: an address, or a name.
#[derive(Debug, Clone)]
pub(crate) enum Record {
    Address(IpAddr),
    Name(String),
    Alias(String),
}

type Zone = HashMap<String, Vec<Record>>;

/// The server.
pub(crate) struct NameServer {
    pub(crate) address: SocketAddr,
    zone: Arc<Mutex<(Zone, Manner)>>,
    pub(crate) queries: Arc<AtomicUsize>,
    ends: Arc<AtomicBool>,
}

impl NameServer {
    /// A server that knows nothing yet.
    pub(crate) fn start() -> NameServer {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(100)))
            .unwrap();
        let zone = Arc::new(Mutex::new((Zone::new(), Manner::Answers)));
        let (queries, ends) = (
            Arc::new(AtomicUsize::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let (shared, counted, ended) = (zone.clone(), queries.clone(), ends.clone());
        thread::spawn(move || {
            let mut buffer = [0; 512];
            while !ended.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else {
                    continue;
                };
                counted.fetch_add(1, Ordering::Relaxed);
                let (zone, manner) = &*shared.lock().unwrap();
                if let Some(response) = respond(&buffer[..length], zone, *manner) {
                    let _ = socket.send_to(&response, from);
                }
            }
        });
        NameServer {
            address,
            zone,
            queries,
            ends,
        }
    }

    /// Names of an address.
    pub(crate) fn names(&self, address: &str, names: &[&str]) {
        let reverse = reverse(address.parse().unwrap());
        let records = names.iter().map(|name| Record::Name((*name).to_owned()));
        self.zone
            .lock()
            .unwrap()
            .0
            .insert(reverse, records.collect());
    }

    /// Records of a name.
    pub(crate) fn has(&self, name: &str, records: &[Record]) {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        self.zone.lock().unwrap().0.insert(name, records.to_vec());
    }

    /// Addresses of a name.
    pub(crate) fn addresses(&self, name: &str, addresses: &[&str]) {
        let records = addresses
            .iter()
            .map(|address| Record::Address(address.parse().unwrap()));
        self.has(name, &records.collect::<Vec<_>>());
    }

    pub(crate) fn set(&self, manner: Manner) {
        self.zone.lock().unwrap().1 = manner;
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
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
        Manner::Answers | Manner::Selective => {}
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
    let labels = name.trim_end_matches('.').split('.');
    let mut bytes: Vec<u8> = labels
        .flat_map(|label| {
            let length = label.len() as u8;
            std::iter::once(length).chain(label.bytes().collect::<Vec<u8>>())
        })
        .collect();
    bytes.push(0);
    bytes
}
