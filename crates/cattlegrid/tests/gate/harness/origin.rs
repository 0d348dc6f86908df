//! Sites behind the gate: one that records every byte, and a forwarder that passes bytes on without a thought, to see tests fail.

use std::io;
use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::Mutex;
use std::thread;

use super::find;
use super::unchunk;
use super::values;

/// One request as an origin got it.
#[derive(Debug, Clone)]
pub(crate) struct Got {
    /// All bytes of its head.
    pub(crate) head: String,
    /// Its body, without chunks.
    pub(crate) body: Vec<u8>,
}

impl Got {
    /// The first line.
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap_or("")
    }

    /// The target of the first line.
    pub(crate) fn target(&self) -> &str {
        self.line().split(' ').nth(1).unwrap_or("")
    }

    /// All values of a header, in their order.
    pub(crate) fn values(&self, name: &str) -> Vec<String> {
        values(&self.head, name)
    }
}

/// What an origin answers: bytes, written as they are; `None` closes the connection.
pub(crate) type Answering = Box<dyn Fn(&Got) -> Option<Vec<u8>> + Send + Sync>;

/// A recording stub: every byte of every connection is kept.
pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    raw: Arc<Mutex<Vec<Vec<u8>>>>,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Origin {
    /// Answers every request with a small page that shows its target.
    pub(crate) fn start() -> Origin {
        Origin::answering(Box::new(|got| {
            Some(page(&format!("you asked for {}", got.target())))
        }))
    }

    /// Answers as it is told.
    pub(crate) fn answering(answer: Answering) -> Origin {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = Origin {
            address: listener.local_addr().unwrap(),
            raw: Arc::default(),
            got: Arc::default(),
        };
        let (raw, got, answer) = (
            Arc::clone(&origin.raw),
            Arc::clone(&origin.got),
            Arc::new(answer),
        );
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (raw, got, answer) = (Arc::clone(&raw), Arc::clone(&got), Arc::clone(&answer));
                let number = {
                    let mut raw = raw.lock().unwrap();
                    raw.push(Vec::new());
                    raw.len() - 1
                };
                thread::spawn(move || {
                    // Whoever ends the connection early ends this thread.
                    let _ = serve(stream, number, &raw, &got, &answer);
                });
            }
        });
        origin
    }

    /// Every request that has come whole.
    pub(crate) fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    /// All bytes of all connections.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.raw.lock().unwrap().concat()
    }

    /// True where these bytes came in any connection.
    pub(crate) fn has_seen(&self, text: &str) -> bool {
        let bytes = self.bytes();
        bytes
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    }

    /// Forgets what has come so far.
    pub(crate) fn forget(&self) {
        self.got.lock().unwrap().clear();
        self.raw.lock().unwrap().iter_mut().for_each(Vec::clear);
    }
}

/// A small page as an answer.
pub(crate) fn page(text: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{text}",
        text.len()
    )
    .into_bytes()
}

fn serve(
    mut stream: TcpStream,
    number: usize,
    raw: &Mutex<Vec<Vec<u8>>>,
    got: &Mutex<Vec<Got>>,
    answer: &Answering,
) -> io::Result<()> {
    let mut buffer: Vec<u8> = Vec::new();
    let read = |buffer: &mut Vec<u8>, stream: &mut TcpStream| -> io::Result<()> {
        let mut chunk = [0; 16 * 1024];
        let length = stream.read(&mut chunk)?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        raw.lock().unwrap()[number].extend_from_slice(&chunk[..length]);
        buffer.extend_from_slice(&chunk[..length]);
        Ok(())
    };
    loop {
        let mut searched = 0;
        let end = loop {
            // A large head comes in many pieces: each is looked through once.
            if let Some(at) = find(&buffer[searched..], b"\r\n\r\n") {
                break searched + at + 4;
            }
            searched = buffer.len().saturating_sub(3);
            read(&mut buffer, &mut stream)?;
        };
        let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
        buffer.drain(..end);
        let length = values(&head, "content-length")
            .first()
            .and_then(|length| length.parse().ok())
            .unwrap_or(0);
        let is_chunked = values(&head, "transfer-encoding")
            .iter()
            .any(|value| value.eq_ignore_ascii_case("chunked"));
        let body = match is_chunked {
            true => loop {
                if let Some((body, used)) = unchunk(&buffer) {
                    buffer.drain(..used);
                    break body;
                }
                read(&mut buffer, &mut stream)?;
            },
            false => {
                while buffer.len() < length {
                    read(&mut buffer, &mut stream)?;
                }
                buffer.drain(..length).collect()
            }
        };
        let request = Got { head, body };
        got.lock().unwrap().push(request.clone());
        match answer(&request) {
            Some(bytes) if bytes.starts_with(b"HTTP/1.1 101 ") => {
                stream.write_all(&bytes)?;
                // A websocket in small: what comes goes back.
                loop {
                    stream.write_all(&std::mem::take(&mut buffer))?;
                    read(&mut buffer, &mut stream)?;
                }
            }
            Some(bytes) => stream.write_all(&bytes)?,
            None => return Ok(()),
        }
    }
}

/// A forwarder that passes bytes on as they come, to see that a test fails against it.
pub(crate) fn naive(origin: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            thread::spawn(move || {
                let Ok(site) = TcpStream::connect(origin) else {
                    return;
                };
                let (Ok(mut from_client), Ok(mut from_site)) =
                    (client.try_clone(), site.try_clone())
                else {
                    return;
                };
                let (mut to_client, mut to_site) = (client, site);
                thread::spawn(move || {
                    let _ = io::copy(&mut from_client, &mut to_site);
                    let _ = to_site.shutdown(std::net::Shutdown::Write);
                });
                let _ = io::copy(&mut from_site, &mut to_client);
                let _ = to_client.shutdown(std::net::Shutdown::Both);
            });
        }
    });
    address
}
