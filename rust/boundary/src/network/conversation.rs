//! One connection from its first byte to its last: reads what the client asks for, compares it with the list, resolves the
//! name here on the outside, connects, answers, and carries the bytes. Every outcome is in the record.

use super::host_name::HostName;
use super::http::{self, Kind};
use super::record::Verdict;
use super::relay::relay;
use super::shared::{Place, Served, Shared};
use super::socks::{self, Answer};
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a client may take to say what it wants.
const REQUEST_PATIENCE: Duration = Duration::from_secs(30);
/// How long one address may take to answer, and how many of a name are tried.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
const ADDRESSES: usize = 4;
/// After this long without a byte in either direction a connection ends.
const IDLE_SECONDS: i64 = 600;
/// How much of a refused client's further bytes is read, so that it gets to read the answer, and for how long.
const DRAIN_BYTES: usize = 64 * 1024;
const DRAIN_PATIENCE: Duration = Duration::from_millis(200);

/// One served connection.
pub(super) struct Conversation<'a> {
    pub(super) shared: &'a Shared,
    pub(super) served: Served,
    pub(super) place: Place,
    pub(super) client: &'a TcpStream,
}

/// How the client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speech {
    Http,
    Socks,
}

/// Why there is no connection to the outside.
enum Denial {
    /// Nothing was understood, or the client is gone.
    Malformed(Speech, Answer, &'static str),
    NotListed(Speech),
    NotPublic(Speech, String),
    Unreachable(Speech, String),
    Gone,
}

/// What a client asked for, and what goes to the host first.
struct Wanted {
    speech: Speech,
    host: HostName,
    port: u16,
    tunnel: bool,
    first: Vec<u8>,
}

impl Conversation<'_> {
    pub(super) fn run(&self) {
        let opened = self.wanted().and_then(|wanted| {
            let server = self.reach(&wanted)?;
            Ok((wanted, server))
        });
        match opened {
            Ok((wanted, server)) => self.carry(&wanted, &server),
            Err(denial) => self.deny(denial),
        }
    }

    fn wanted(&self) -> Result<Wanted, Denial> {
        let mut input = Input {
            client: self.client,
            deadline: Instant::now() + REQUEST_PATIENCE,
        };
        let [first] = input.exactly::<1>()?;
        if first == socks::VERSION {
            self.socks(&mut input)
        } else {
            http(&mut input, first)
        }
    }

    fn socks(&self, input: &mut Input<'_>) -> Result<Wanted, Denial> {
        let malformed = |answer, reason| Denial::Malformed(Speech::Socks, answer, reason);
        let [count] = input.exactly::<1>()?;
        let offered = input.bytes(count.into())?;
        match socks::method(&offered) {
            Ok(chosen) => self.say(&chosen)?,
            Err(none) => {
                self.say(&none)?;
                self.note_fault("the client offers no method without authentication");
                return Err(Denial::Gone);
            }
        }
        let start = input.exactly::<5>()?;
        let length = socks::length_after(start).map_err(|(answer, reason)| malformed(answer, reason))?;
        let rest = input.bytes(length)?;
        let (host, port) = socks::target(start, &rest).map_err(|reason| malformed(Answer::NotAllowed, reason))?;
        Ok(Wanted {
            speech: Speech::Socks,
            host,
            port,
            tunnel: true,
            first: Vec::new(),
        })
    }

    /// Compares with the list, resolves, and connects.
    fn reach(&self, wanted: &Wanted) -> Result<Arc<TcpStream>, Denial> {
        let Wanted { speech, host, port, .. } = wanted;
        let entry = self.shared.list.entry_for(host, *port);
        self.shared.note(self.place, |record| {
            record.host = Some(host.to_string());
            record.port = Some(*port);
            record.rule = entry.map(ToString::to_string);
        });
        let entry = entry.ok_or(Denial::NotListed(*speech))?;
        let addresses = match host {
            HostName::Address(address) => vec![*address],
            HostName::Name(name) => self.resolved(*speech, name, *port)?,
        };
        for address in &addresses {
            entry
                .may_lead_to(*address)
                .map_err(|kind| Denial::NotPublic(*speech, format!("{host} leads to {address}, {kind}")))?;
        }
        let mut last = None;
        for address in addresses.into_iter().take(ADDRESSES) {
            if self.shared.is_closed() {
                return Err(Denial::Gone);
            }
            match TcpStream::connect_timeout(&SocketAddr::new(address, *port), CONNECT_PATIENCE) {
                Ok(server) => {
                    let server = Arc::new(server);
                    if !self.shared.connected(self.served, &server) {
                        return Err(Denial::Gone);
                    }
                    self.shared.note(self.place, |record| record.address = Some(address));
                    return Ok(server);
                }
                Err(error) => last = Some(error),
            }
        }
        let reason = last.map_or_else(|| "the name has no address".to_owned(), |error| error.to_string());
        Err(Denial::Unreachable(*speech, reason))
    }

    fn resolved(&self, speech: Speech, name: &str, port: u16) -> Result<Vec<IpAddr>, Denial> {
        let found = (self.shared.outside.resolve)(name, port);
        let found = found.map_err(|error| Denial::Unreachable(speech, format!("resolve the name: {error}")))?;
        Ok(found.into_iter().map(|address| address.ip().to_canonical()).collect())
    }

    fn carry(&self, wanted: &Wanted, server: &TcpStream) {
        self.shared.note(self.place, |record| {
            record.verdict = Verdict::Allowed;
            record.sent_bytes = wanted.first.len() as u64;
        });
        let answer: &[u8] = match (wanted.speech, wanted.tunnel) {
            (Speech::Socks, _) => &Answer::Granted.message(),
            (Speech::Http, true) => b"HTTP/1.1 200 Connection established\r\n\r\n",
            (Speech::Http, false) => b"",
        };
        let begun = self
            .say(answer)
            .and_then(|()| (&mut &*server).write_all(&wanted.first).map_err(|_| Denial::Gone));
        if begun.is_err() {
            return;
        }
        for socket in [self.client, server] {
            // Only slower without.
            let _either = socket.set_nodelay(true);
        }
        let carried = relay(self.client, server, IDLE_SECONDS);
        self.shared.note(self.place, |record| {
            record.sent_bytes += carried.sent;
            record.received_bytes = carried.received;
        });
    }

    fn deny(&self, denial: Denial) {
        let (speech, verdict, answer, status, reason) = match denial {
            Denial::Gone => return,
            Denial::Malformed(speech, answer, reason) => {
                (speech, Verdict::Refused, answer, "400 Bad Request", reason.to_owned())
            }
            Denial::NotListed(speech) => (
                speech,
                Verdict::Refused,
                Answer::NotAllowed,
                "403 Forbidden",
                "not on the list of allowed hosts".to_owned(),
            ),
            Denial::NotPublic(speech, reason) => {
                (speech, Verdict::Refused, Answer::NotAllowed, "403 Forbidden", reason)
            }
            Denial::Unreachable(speech, reason) => (
                speech,
                Verdict::Failed,
                Answer::HostUnreachable,
                "502 Bad Gateway",
                reason,
            ),
        };
        let mut body = String::new();
        self.shared.note(self.place, |record| {
            record.verdict = verdict;
            record.reason = Some(reason.clone());
            body = format!("microcoder: {record}\n");
        });
        if body.is_empty() {
            body = format!("microcoder: {reason}\n");
        }
        let said = match speech {
            Speech::Socks => self.say(&answer.message()),
            Speech::Http => self.say(
                format!(
                    "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                )
                .as_bytes(),
            ),
        };
        if said.is_ok() {
            self.drain();
        }
    }

    fn note_fault(&self, reason: &str) {
        self.shared
            .note(self.place, |record| record.reason = Some(reason.to_owned()));
    }

    fn say(&self, bytes: &[u8]) -> Result<(), Denial> {
        let mut client = self.client;
        client.write_all(bytes).map_err(|_| Denial::Gone)
    }

    /// Closing a socket with unread bytes would take the answer back.
    fn drain(&self) {
        let _gone_already = self.client.shutdown(Shutdown::Write);
        let mut input = Input {
            client: self.client,
            deadline: Instant::now() + DRAIN_PATIENCE,
        };
        let mut bytes = [0; 4096];
        let mut left = DRAIN_BYTES / bytes.len();
        while left > 0 && matches!(input.some(&mut bytes), Ok(count) if count > 0) {
            left -= 1;
        }
    }
}

fn http(input: &mut Input<'_>, first: u8) -> Result<Wanted, Denial> {
    let malformed = |reason| Denial::Malformed(Speech::Http, Answer::Failed, reason);
    let mut bytes = vec![first];
    let end = loop {
        // A line end may lie across two reads.
        if let Some(end) = http::end_of_head(&bytes) {
            break end;
        }
        if bytes.len() > http::HEAD_BYTES {
            return Err(malformed("the request is longer than 16384 bytes"));
        }
        let mut more = [0; 2048];
        match input.some(&mut more) {
            Ok(0) => return Err(malformed("the request has no end")),
            Ok(count) => bytes.extend_from_slice(more.get(..count).unwrap_or_default()),
            Err(_) => return Err(malformed("the request did not come in time")),
        }
    };
    let after = bytes.split_off(end);
    let asked = http::parse(&bytes).map_err(malformed)?;
    let (tunnel, mut first) = match asked.kind {
        Kind::Tunnel => (true, Vec::new()),
        Kind::Forward(head) => (false, head),
    };
    first.extend(after);
    Ok(Wanted {
        speech: Speech::Http,
        host: asked.host,
        port: asked.port,
        tunnel,
        first,
    })
}

/// Reads from the client until a deadline.
struct Input<'a> {
    client: &'a TcpStream,
    deadline: Instant,
}

impl Input<'_> {
    fn some(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.client.set_read_timeout(Some(left))?;
        self.client.read(bytes)
    }

    fn bytes(&mut self, count: usize) -> Result<Vec<u8>, Denial> {
        let mut bytes = vec![0; count];
        let mut have = 0;
        while have < count {
            match self.some(bytes.get_mut(have..).unwrap_or_default()) {
                Ok(0) | Err(_) => return Err(Denial::Gone),
                Ok(more) => have += more,
            }
        }
        Ok(bytes)
    }

    fn exactly<const COUNT: usize>(&mut self) -> Result<[u8; COUNT], Denial> {
        self.bytes(COUNT)?.try_into().map_err(|_| Denial::Gone)
    }
}
