//! Clients that send any bytes from any address of 127.0.0.0/8, and answers as they came.

use std::fmt::Write as _;
use std::io;
use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::net::TcpStream;
use std::time::Duration;

use socket2::Domain;
use socket2::Socket;
use socket2::Type;

use super::PATIENCE;
use super::find;
use super::unchunk;
use super::values;

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn values(&self, name: &str) -> Vec<String> {
        values(&self.head, name)
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.values(name).into_iter().next()
    }
}

/// Opens a connection from an address of 127.0.0.0/8.
pub(crate) fn connect_from(source: &str, address: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    let own: SocketAddr = format!("{source}:0").parse().unwrap();
    socket.bind(&own.into())?;
    socket.connect_timeout(&address.into(), Duration::from_secs(5))?;
    // Tens of thousands of connections that linger for a minute would leave no port for the tests that come next.
    socket.set_linger(Some(Duration::ZERO))?;
    let stream = TcpStream::from(socket);
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// A connection that is kept.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(source: &str, address: SocketAddr) -> io::Result<Client> {
        Ok(Client {
            stream: connect_from(source, address)?,
            buffer: Vec::new(),
        })
    }

    /// Sends any bytes.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Reads the next answer. `is_head` for answers without a body.
    pub(crate) fn answer(&mut self, is_head: bool) -> io::Result<Answer> {
        let end = loop {
            if let Some(at) = find(&self.buffer, b"\r\n\r\n") {
                break at + 4;
            }
            self.fill()?;
        };
        let head = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        self.buffer.drain(..end);
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .unwrap_or(0);
        if (100..200).contains(&status) && status != 101 {
            return self.answer(is_head);
        }
        let is_empty = is_head || matches!(status, 101 | 204 | 304);
        let length = values(&head, "content-length")
            .first()
            .and_then(|length| length.parse::<usize>().ok());
        let is_chunked = values(&head, "transfer-encoding")
            .iter()
            .any(|value| value == "chunked");
        let body = match length {
            _ if is_empty => Vec::new(),
            Some(length) => {
                while self.buffer.len() < length {
                    self.fill()?;
                }
                self.buffer.drain(..length).collect()
            }
            None if is_chunked => loop {
                if let Some((body, used)) = unchunk(&self.buffer) {
                    self.buffer.drain(..used);
                    break body;
                }
                self.fill()?;
            },
            None => {
                while self.fill().is_ok() {}
                std::mem::take(&mut self.buffer)
            }
        };
        Ok(Answer { status, head, body })
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut chunk = [0; 16 * 1024];
        let length = self.stream.read(&mut chunk)?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.buffer.extend_from_slice(&chunk[..length]);
        Ok(())
    }

    /// Asks for a path.
    pub(crate) fn get(&mut self, path: &str, headers: &[(&str, &str)]) -> io::Result<Answer> {
        self.send(&request("GET", path, headers))?;
        self.answer(false)
    }
}

/// A request of a browser; a header that is given replaces the usual one.
pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    let usual = [
        ("Host", "www.example.org"),
        (
            "User-Agent",
            "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
        ),
        ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8"),
        ("Accept-Language", "en"),
    ];
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    let is_given = |name: &str| {
        headers
            .iter()
            .any(|(given, _)| given.eq_ignore_ascii_case(name))
    };
    for (name, value) in usual
        .iter()
        .filter(|(name, _)| !is_given(name))
        .chain(headers)
    {
        let _ = write!(text, "{name}: {value}\r\n");
    }
    text.push_str("\r\n");
    text.into_bytes()
}

pub(crate) fn try_get_from(
    source: &str,
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
) -> io::Result<Answer> {
    Client::connect(source, address)?.get(path, headers)
}

pub(crate) fn try_get(
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
) -> io::Result<Answer> {
    try_get_from("127.0.0.1", address, path, headers)
}

pub(crate) fn get(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Answer {
    try_get(address, path, headers).unwrap()
}

pub(crate) fn get_from(
    source: &str,
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
) -> Answer {
    try_get_from(source, address, path, headers).unwrap()
}

/// What a client says about its connection: nothing that the gate decides may depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// `Connection: close`.
    Close,
    /// Nothing: the connection is kept.
    Keep,
}

/// Both ways, for tests whose requests must be treated alike on either.
pub(crate) const WAYS: [Way; 2] = [Way::Close, Way::Keep];

impl Way {
    /// The header that a request needs.
    pub(crate) fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Way::Close => &[("Connection", "close")],
            Way::Keep => &[],
        }
    }

    /// A whole request: this head, which lacks the empty line at its end, with that header.
    pub(crate) fn request(self, head: &[u8]) -> Vec<u8> {
        let line: &[u8] = match self {
            Way::Close => b"Connection: close\r\n",
            Way::Keep => b"",
        };
        [head, line, b"\r\n"].concat()
    }

    /// The status of the answer to such a request; 0 where there is none.
    pub(crate) fn status(self, address: SocketAddr, head: &[u8]) -> u16 {
        let bytes = self.request(head);
        if self == Way::Close {
            return raw(address, &bytes).status();
        }
        let mut client = Client::connect("127.0.0.1", address).unwrap();
        // It may refuse before all was sent.
        let _ = client.send(&bytes);
        client.answer(false).map_or(0, |answer| answer.status)
    }
}

/// Sends bytes and reads until the other side ends the connection, or nothing has come for a while.
pub(crate) fn raw(address: SocketAddr, bytes: &[u8]) -> Raw {
    let mut stream = connect_from("127.0.0.1", address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_millis(1500)))
        .unwrap();
    // It may refuse before all was sent.
    let _ = stream.write_all(bytes);
    let (mut answer, mut chunk) = (Vec::new(), [0; 16 * 1024]);
    let is_closed = loop {
        match stream.read(&mut chunk) {
            Ok(0) => break true,
            Ok(length) => answer.extend_from_slice(&chunk[..length]),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) =>
            {
                break false;
            }
            Err(_) => break true,
        }
    };
    Raw {
        text: String::from_utf8_lossy(&answer).into_owned(),
        is_closed,
    }
}

/// All that came back on a connection.
#[derive(Debug)]
pub(crate) struct Raw {
    pub(crate) text: String,
    pub(crate) is_closed: bool,
}

impl Raw {
    /// The status of the first answer; 0 where there is none.
    pub(crate) fn status(&self) -> u16 {
        self.text
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .unwrap_or(0)
    }

    /// How many answers came.
    pub(crate) fn answers(&self) -> usize {
        self.text.matches("HTTP/1.1 ").count()
    }
}
