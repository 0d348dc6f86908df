//! The PROXY header that balancers put before a connection: who the client is, in version 1 (a line) or 2 (binary).

use std::io;
use std::net::IpAddr;
use std::net::Ipv4Addr;
use std::net::Ipv6Addr;

use tokio::io::AsyncRead;
use tokio::io::AsyncReadExt;

/// The longest header that is read: version 1 has at most 107 bytes, version 2 may carry more facts, of which we want none.
const HEADER_MAX: usize = 536;
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";

/// Reads the header off a connection. `None` for one that the balancer opened for itself.
pub async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<IpAddr>> {
    let mut start = [0; 12];
    stream.read_exact(&mut start).await?;
    match &start == SIGNATURE {
        true => read_binary(stream).await,
        false => read_line(stream, &start).await,
    }
}

async fn read_binary(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<IpAddr>> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
    if length + 16 > HEADER_MAX {
        return Err(bad("a PROXY header that is too long"));
    }
    let mut rest = vec![0; length];
    stream.read_exact(&mut rest).await?;
    match (head[0], head[1]) {
        // The balancer's own connection, to see whether we live.
        (0x20, _) => Ok(None),
        (0x21, 0x11) if length >= 12 => {
            Ok(Some(IpAddr::from([rest[0], rest[1], rest[2], rest[3]])))
        }
        (0x21, 0x21) if length >= 36 => {
            let mut address = [0; 16];
            address.copy_from_slice(&rest[..16]);
            Ok(Some(IpAddr::from(Ipv6Addr::from(address)).to_canonical()))
        }
        _ => Err(bad("a PROXY header without an address")),
    }
}

/// Reads to the line's end and not a byte further: what follows is the client's.
async fn read_line(
    stream: &mut (impl AsyncRead + Unpin),
    start: &[u8; 12],
) -> io::Result<Option<IpAddr>> {
    if !start.starts_with(b"PROXY ") {
        return Err(bad("no PROXY header"));
    }
    let mut line = start.to_vec();
    while !line.ends_with(b"\r\n") {
        if line.len() >= 107 {
            return Err(bad("a PROXY line that is too long"));
        }
        line.push(stream.read_u8().await?);
    }
    parse_line(&line[..line.len() - 2]).ok_or_else(|| bad("a PROXY line without an address"))
}

fn parse_line(line: &[u8]) -> Option<Option<IpAddr>> {
    let text = std::str::from_utf8(line).ok()?;
    let mut words = text.split(' ').skip(1);
    let family = words.next()?;
    if family == "UNKNOWN" {
        return Some(None);
    }
    let (client, own) = (words.next()?, words.next()?);
    let ports: Vec<u16> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
    if ports.len() != 2 {
        return None;
    }
    match family {
        "TCP4" => own
            .parse::<Ipv4Addr>()
            .and_then(|_| client.parse::<Ipv4Addr>())
            .ok()
            .map(|client| Some(client.into())),
        "TCP6" => own
            .parse::<Ipv6Addr>()
            .and_then(|_| client.parse::<Ipv6Addr>())
            .ok()
            .map(|client| Some(IpAddr::from(client).to_canonical())),
        _ => None,
    }
}

fn bad(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(mut bytes: &[u8]) -> Result<(Option<IpAddr>, usize), String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let read = runtime.block_on(read(&mut bytes));
        read.map(|client| (client, bytes.len()))
            .map_err(|error| error.to_string())
    }

    fn binary(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let mut bytes = SIGNATURE.to_vec();
        bytes.extend([command, family]);
        bytes.extend(u16::try_from(rest.len()).unwrap().to_be_bytes());
        bytes.extend(rest);
        bytes.extend(b"GET");
        bytes
    }

    #[test]
    fn h046_headers_of_balancers() {
        let client: IpAddr = "192.0.2.7".parse().unwrap();
        let line = b"PROXY TCP4 192.0.2.7 198.51.100.1 5000 80\r\nGET";
        assert_eq!(parse(line), Ok((Some(client), 3)));
        let six = b"PROXY TCP6 2001:db8::7 2001:db8::1 5000 80\r\n";
        assert_eq!(parse(six), Ok((Some("2001:db8::7".parse().unwrap()), 0)));
        assert_eq!(parse(b"PROXY UNKNOWN\r\nGET"), Ok((None, 3)));
        let v4 = [192, 0, 2, 7, 198, 51, 100, 1, 19, 136, 0, 80];
        assert_eq!(parse(&binary(0x21, 0x11, &v4)), Ok((Some(client), 3)));
        let mut with_facts = v4.to_vec();
        with_facts.extend([4, 0, 3, 1, 2, 3]);
        assert_eq!(
            parse(&binary(0x21, 0x11, &with_facts)),
            Ok((Some(client), 3))
        );
        assert_eq!(parse(&binary(0x20, 0, &[])), Ok((None, 3)));
        for bad in [
            &b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"[..],
            b"PROXY TCP4 192.0.2.7 198.51.100.1 5000\r\n",
            b"PROXY TCP4 300.0.2.7 198.51.100.1 5000 80\r\n",
            b"PROXY TCP4 192.0.2.7 198.51.100.1 5000 80 9\r\n",
            b"PROXY TCP9 192.0.2.7 198.51.100.1 5000 80\r\n",
            &[b'P'; 200],
            &[&b"PROXY TCP4 "[..], &[b'1'; 200]].concat(),
            &binary(0x21, 0x11, &v4[..8]),
            &binary(0x21, 0x31, &[0; 216]),
            &binary(0x21, 0x11, &[0; 60_000]),
            &binary(0x31, 0x11, &v4),
        ] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
