//! The requests that an HTTP proxy gets: `CONNECT`, and a whole address to be asked for. Read strictly, and what is passed
//! on is written anew, so that the far side cannot read another host into it than was compared. Reads from no socket.

use super::host_name::{self, HostName};

/// The longest request line and headers.
pub(super) const HEAD_BYTES: usize = 16 * 1024;
/// The longest method.
const METHOD_BYTES: usize = 32;
const END: &[u8] = b"\r\n\r\n";
const SCHEME: &[u8] = b"http://";
const PLAIN_PORT: u16 = 80;

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) host: HostName,
    pub(super) port: u16,
    pub(super) kind: Kind,
}

/// How it asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// For a tunnel.
    Tunnel,
    /// For one request to be passed on, which begins with these bytes.
    Forward(Vec<u8>),
}

/// Where the head of a request ends, if it does.
pub(super) fn end_of_head(bytes: &[u8]) -> Option<usize> {
    let place = bytes.windows(END.len()).position(|window| window == END)?;
    Some(place + END.len())
}

/// Reads a whole head.
pub(super) fn parse(head: &[u8]) -> Result<Asked, &'static str> {
    let head = head.strip_suffix(END).ok_or("the request has no end")?;
    let mut lines = Vec::new();
    for line in Lines(Some(head)) {
        if line.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
            return Err("a line of the request holds a bare line end or a NUL");
        }
        lines.push(line);
    }
    let (first, headers) = lines.split_first().ok_or("the request is empty")?;
    let parts: Vec<&[u8]> = first.split(|byte| *byte == b' ').collect();
    let [method, target, version] = parts.as_slice() else {
        return Err("a request line is a method, a target and a version with one space between them");
    };
    if method.is_empty() || method.len() > METHOD_BYTES || !method.iter().all(|byte| is_token(*byte)) {
        return Err("the method is not one");
    }
    if !matches!(*version, b"HTTP/1.1" | b"HTTP/1.0") {
        return Err("the version is HTTP/1.1 or HTTP/1.0");
    }
    let headers = headers.iter().map(|line| header(line)).collect::<Result<Vec<_>, _>>()?;
    if *method == b"CONNECT" {
        let (host, port) = host_name::authority(target)?;
        let port = port.ok_or("CONNECT names a host and a port")?;
        return Ok(Asked {
            host,
            port,
            kind: Kind::Tunnel,
        });
    }
    let scheme = target.get(..SCHEME.len()).unwrap_or_default();
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return Err("a request to a proxy is CONNECT, or names a whole `http://` address");
    }
    let rest = target.get(SCHEME.len()..).unwrap_or_default();
    if !rest.iter().all(u8::is_ascii_graphic) || rest.contains(&b'#') {
        return Err("an address is printable ASCII without a fragment");
    }
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?'));
    let (authority, path) = rest.split_at(end.unwrap_or(rest.len()));
    let (host, port) = host_name::authority(authority)?;
    let port = port.unwrap_or(PLAIN_PORT);
    one_host(&headers, &host, port)?;
    one_body(&headers)?;

    let mut passed_on = Vec::with_capacity(head.len());
    let mut write = |parts: &[&[u8]]| parts.iter().for_each(|part| passed_on.extend_from_slice(part));
    let slash: &[u8] = if path.starts_with(b"/") { b"" } else { b"/" };
    write(&[method, b" ", slash, path, b" ", version, b"\r\n"]);
    let named = match port {
        PLAIN_PORT => host.to_string(),
        port => format!("{host}:{port}"),
    };
    // One request for each connection: a second one would go unread.
    write(&[b"Host: ", named.as_bytes(), b"\r\nConnection: close\r\n"]);
    for (name, value) in headers.iter().filter(|(name, _)| !is_ours(name)) {
        write(&[name, b":", value, b"\r\n"]);
    }
    write(&[b"\r\n"]);
    Ok(Asked {
        host,
        port,
        kind: Kind::Forward(passed_on),
    })
}

/// The parts of a head between its line ends.
struct Lines<'a>(Option<&'a [u8]>);

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.0?;
        let place = rest.windows(2).position(|window| window == b"\r\n");
        let (line, after) = match place {
            Some(place) => (rest.get(..place)?, rest.get(place + 2..)),
            None => (rest, None),
        };
        self.0 = after;
        Some(line)
    }
}

type Header<'a> = (&'a [u8], &'a [u8]);

fn header(line: &[u8]) -> Result<Header<'_>, &'static str> {
    let place = line
        .iter()
        .position(|byte| *byte == b':')
        .ok_or("a header has no colon")?;
    let (name, value) = line.split_at(place);
    if name.is_empty() || !name.iter().all(|byte| is_token(*byte)) {
        return Err("the name of a header is not one, or the header is folded");
    }
    Ok((name, value.get(1..).unwrap_or_default()))
}

/// A `Host` header that names another host than the address is somebody's trick.
fn one_host(headers: &[Header<'_>], host: &HostName, port: u16) -> Result<(), &'static str> {
    let mut named = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"host"));
    let Some((_, value)) = named.next() else { return Ok(()) };
    if named.next().is_some() {
        return Err("there are two Host headers");
    }
    let (own, own_port) = host_name::authority(value.trim_ascii())?;
    if (&own, own_port.unwrap_or(PLAIN_PORT)) == (host, port) {
        Ok(())
    } else {
        Err("the Host header names another host than the address")
    }
}

/// Two ways to say where a body ends are one too many.
fn one_body(headers: &[Header<'_>]) -> Result<(), &'static str> {
    let says = |(name, _): &&Header<'_>| {
        name.eq_ignore_ascii_case(b"content-length") || name.eq_ignore_ascii_case(b"transfer-encoding")
    };
    match headers.iter().filter(says).count() {
        0 | 1 => Ok(()),
        _ => Err("the length of the body is said twice"),
    }
}

/// Headers between a client and its proxy, and those that are written anew.
fn is_ours(name: &[u8]) -> bool {
    const OURS: [&[u8]; 4] = [b"host", b"connection", b"keep-alive", b"upgrade"];
    let of_proxies = name.get(..6).is_some_and(|start| start.eq_ignore_ascii_case(b"proxy-"));
    of_proxies || OURS.iter().any(|own| name.eq_ignore_ascii_case(own))
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
