//! The ClientHello with which a client begins TLS: which versions, ciphers, extensions and protocols it offers tells programs apart.
//!
//! The order of ciphers and extensions is not looked at, since browsers shuffle extensions, nor what differs between two connections of one
//! client: the name of the host, tickets and padding. (JA4 makes similar choices.)

use std::io;
use std::pin::Pin;
use std::task::Context;
use std::task::Poll;

use tokio::io::AsyncRead;
use tokio::io::AsyncWrite;
use tokio::io::ReadBuf;

use super::digest::Digest;
use super::digest::is_grease;

/// Bytes that are kept. Browsers send two kilobytes.
const KEPT_MAX: usize = 8 * 1024;

/// Extensions by their number (RFC 8446, 4.2).
const SERVER_NAME: u16 = 0;
const GROUPS: u16 = 10;
const SIGNATURES: u16 = 13;
const ALPN: u16 = 16;
const PADDING: u16 = 21;
const TICKET: u16 = 35;
const PRE_SHARED_KEY: u16 = 41;
const EARLY_DATA: u16 = 42;
const VERSIONS: u16 = 43;
const COOKIE: u16 = 44;

/// A connection whose first bytes are kept.
#[derive(Debug)]
pub(super) struct Tapped<S> {
    inner: S,
    /// None once they were taken.
    kept: Option<Vec<u8>>,
}

impl<S> Tapped<S> {
    pub(super) fn new(inner: S) -> Tapped<S> {
        Tapped {
            inner,
            kept: Some(Vec::new()),
        }
    }

    /// The hash of the ClientHello; nothing is kept from now on.
    pub(super) fn digest(&mut self) -> Option<u64> {
        digest(&self.kept.take()?)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Tapped<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.inner).poll_read(context, buffer);
        if let Some(kept) = &mut this.kept {
            let new = &buffer.filled()[before..];
            let room = KEPT_MAX.saturating_sub(kept.len());
            kept.extend_from_slice(&new[..new.len().min(room)]);
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Tapped<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

/// Bytes that are read from the front.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u16> {
        let bytes = self.take(2)?;
        Some(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    /// What stands behind its length of one byte.
    fn short(&mut self) -> Option<&'a [u8]> {
        let length = self.take(1)?[0];
        self.take(usize::from(length))
    }

    /// What stands behind its length of two bytes.
    fn long(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(usize::from(length))
    }
}

/// Numbers of two bytes each, without those drawn by chance.
fn numbers(bytes: &[u8]) -> Vec<u16> {
    let (pairs, _) = bytes.as_chunks::<2>();
    let numbers = pairs.iter().map(|pair| u16::from_be_bytes(*pair));
    numbers.filter(|number| !is_grease(*number)).collect()
}

fn sorted(mut numbers: Vec<u16>) -> Vec<u16> {
    numbers.sort_unstable();
    numbers
}

/// The first handshake message, which may be spread over several records.
fn message(bytes: &[u8]) -> Option<Vec<u8>> {
    const HANDSHAKE: u8 = 22;
    const CLIENT_HELLO: u8 = 1;
    let (mut reader, mut message) = (Reader(bytes), Vec::new());
    loop {
        if let [CLIENT_HELLO, a, b, c, ..] = message[..] {
            let length = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
            if let Some(body) = message.get(4..4 + length) {
                return Some(body.to_vec());
            }
        }
        let head = reader.take(3)?;
        if head[0] != HANDSHAKE {
            return None;
        }
        message.extend_from_slice(reader.long()?);
    }
}

/// What of a ClientHello tells programs apart.
#[derive(Debug, Default)]
struct Offered<'a> {
    kinds: Vec<u16>,
    groups: &'a [u8],
    signatures: &'a [u8],
    versions: &'a [u8],
    protocols: &'a [u8],
}

impl<'a> Offered<'a> {
    fn of(extensions: &'a [u8]) -> Offered<'a> {
        let (mut reader, mut offered) = (Reader(extensions), Offered::default());
        while let (Some(kind), Some(body)) = (reader.number(), reader.long()) {
            match kind {
                SERVER_NAME | PADDING | TICKET | PRE_SHARED_KEY | EARLY_DATA | COOKIE => continue,
                _ if is_grease(kind) => continue,
                GROUPS => offered.groups = Reader(body).long().unwrap_or_default(),
                SIGNATURES => offered.signatures = Reader(body).long().unwrap_or_default(),
                VERSIONS => offered.versions = Reader(body).short().unwrap_or_default(),
                ALPN => offered.protocols = body,
                _ => {}
            }
            offered.kinds.push(kind);
        }
        offered
    }
}

/// The hash of a ClientHello; nothing where these bytes are none.
fn digest(bytes: &[u8]) -> Option<u64> {
    let message = message(bytes)?;
    let mut reader = Reader(&message);
    let mut digest = Digest::new();
    digest.bytes(reader.take(2)?);
    let _random = reader.take(32)?;
    let _session = reader.short()?;
    digest.numbers(&sorted(numbers(reader.long()?)));
    let _compression = reader.short()?;
    // Old clients have no extensions.
    let offered = Offered::of(reader.long().unwrap_or_default());
    digest.numbers(&sorted(offered.kinds));
    for list in [offered.groups, offered.signatures, offered.versions] {
        digest.numbers(&numbers(list));
    }
    digest.bytes(offered.protocols);
    Some(digest.value())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extension(kind: u16, body: &[u8]) -> Vec<u8> {
        let length = body.len() as u16;
        [&kind.to_be_bytes()[..], &length.to_be_bytes(), body].concat()
    }

    /// A ClientHello in records of this many bytes.
    fn hello(ciphers: &[u16], extensions: &[Vec<u8>], record: usize) -> Vec<u8> {
        let ciphers: Vec<u8> = ciphers.iter().flat_map(|one| one.to_be_bytes()).collect();
        let extensions = extensions.concat();
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([4, 1, 2, 3, 4]);
        body.extend((ciphers.len() as u16).to_be_bytes());
        body.extend(ciphers);
        body.extend([1, 0]);
        body.extend((extensions.len() as u16).to_be_bytes());
        body.extend(extensions);
        let mut message = vec![1, 0];
        message.extend((body.len() as u16).to_be_bytes());
        message.extend(body);
        let records = message.chunks(record).flat_map(|part| {
            let length = (part.len() as u16).to_be_bytes();
            [&[22, 3, 1][..], &length, part].concat()
        });
        records.collect()
    }

    #[test]
    fn what_a_client_shuffles_or_draws_does_not_matter() {
        let groups = extension(GROUPS, &[0, 4, 0x1a, 0x1a, 0, 29]);
        let name = extension(SERVER_NAME, b"name");
        let alpn = extension(ALPN, b"\x00\x03\x02h2");
        let one = hello(
            &[0x0a0a, 0x1301, 0x1302],
            &[groups.clone(), alpn.clone()],
            1000,
        );
        let other_groups = extension(GROUPS, &[0, 4, 0xfa, 0xfa, 0, 29]);
        let two = hello(
            &[0x1302, 0x1301, 0x2a2a],
            &[name, alpn.clone(), other_groups],
            1000,
        );
        assert!(digest(&one).is_some());
        assert_eq!(digest(&one), digest(&two));
        let pieces = hello(&[0x1301, 0x1302], &[groups.clone(), alpn], 5);
        assert_eq!(digest(&one), digest(&pieces), "in many records");
        let fewer = hello(&[0x1301], std::slice::from_ref(&groups), 1000);
        assert_ne!(digest(&one), digest(&fewer));
        assert_ne!(digest(&fewer), digest(&hello(&[0x1301], &[], 1000)));
    }

    #[test]
    fn any_bytes_are_borne() {
        let whole = hello(&[0x1301], &[extension(GROUPS, &[0, 2, 0, 29])], 1000);
        for end in 0..whole.len() {
            assert_eq!(digest(&whole[..end]), None, "{end}");
        }
        for at in 0..whole.len() {
            let mut broken = whole.clone();
            broken[at] ^= 0xff;
            digest(&broken);
        }
        assert_eq!(digest(b"GET / HTTP/1.1\r\n\r\n"), None);
    }
}
