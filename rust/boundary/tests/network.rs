//! The gateway from inside: programs of every day through each kind of proxy, tricks, and floods, against servers on the
//! host's loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use coder_boundary::{AllowList, Boundary, Connection, Connections, Network, Outside, Reach, Verdict};
use coder_digest::{FixedClock, Timestamp};
use coder_process::Outcome;
use common::World;
use rstest::rstest;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A server that answers each request with what it was sent, and closes.
struct Server {
    port: u16,
    asked: Arc<AtomicUsize>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        // Ends with the test's process.
        std::thread::spawn(move || {
            for client in listener.incoming() {
                counted.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || answer(client.unwrap()));
            }
        });
        Self { port, asked }
    }
}

fn answer(mut client: TcpStream) {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") && client.read(&mut byte).is_ok_and(|count| count == 1) {
        request.push(byte[0]);
    }
    let body = [b"you sent:\n", request.as_slice()].concat();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _gone = client.write_all(&[head.as_bytes(), &body].concat());
}

fn outside() -> Outside {
    Outside {
        clock: Arc::new(FixedClock::new(Timestamp(0), 0)),
        resolve: Arc::new(|name, port| {
            let addresses: &[&str] = match name {
                "own.test" => &["127.0.0.1"],
                "metadata.test" => &["169.254.169.254"],
                "mixed.test" => &["93.184.215.14", "10.0.0.1"],
                "mapped.test" => &["::ffff:127.0.0.1"],
                "nowhere.test" => &[],
                _ => return Err(std::io::Error::other("there is no such name")),
            };
            let parsed = addresses.iter().map(|address| address.parse::<IpAddr>().unwrap());
            Ok(parsed.map(|address| SocketAddr::new(address, port)).collect())
        }),
    }
}

struct Seen {
    outcome: Outcome,
    connections: Connections,
    reach: Reach,
}

impl Seen {
    #[track_caller]
    fn printed(&self) -> String {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let stderr = text(&self.outcome.stderr.head);
        assert_eq!(self.outcome.ending, coder_process::Ending::Exited(0), "{stderr}");
        text(&self.outcome.stdout.head)
    }

    fn verdicts(&self) -> Vec<Verdict> {
        self.connections
            .listed
            .iter()
            .map(|connection| connection.verdict)
            .collect()
    }
}

fn boundary(world: &World, entries: &[String]) -> Boundary {
    let mut policy = world.policy();
    policy.network = Network::Allow(AllowList::try_from(entries.to_vec()).unwrap());
    world.prepare(policy)
}

fn run(world: &World, entries: &[String], program: &str, script: &str) -> Seen {
    let boundary = boundary(world, entries);
    let gateway = boundary.gateway(outside()).unwrap();
    let command = boundary
        .command_through(program, gateway.as_ref())
        .arguments(["-c", script]);
    let outcome = command.capture(1 << 20).unwrap();
    let enforced = boundary.enforced(outcome.layers);
    assert_eq!(enforced, *boundary.planned());
    Seen {
        outcome,
        connections: gateway.unwrap().finish(),
        reach: enforced.network,
    }
}

fn shell(entries: &[String], script: &str) -> Seen {
    run(&World::new(), entries, "/bin/sh", script)
}

/// A python program with `talk(bytes)`, which sends them to the gateway and returns all that comes back.
fn python(entries: &[String], script: &str) -> Seen {
    let head = "
import os, socket
from urllib.parse import urlsplit
at = urlsplit(os.environ['HTTP_PROXY'])
def connect(): return socket.create_connection((at.hostname, at.port), timeout=20)
def rest(s):
    got = b''
    while True:
        more = s.recv(65536)
        if not more: return got
        got += more
def talk(sent):
    s = connect(); s.sendall(sent); return rest(s)
";
    run(&World::new(), entries, "/usr/bin/python3", &format!("{head}{script}"))
}

#[rstest]
#[case::tunnel("-p")]
#[case::forward("")]
#[case::socks("--socks5-hostname 127.0.0.1:61080")]
fn curl_reaches_what_is_listed_and_each_connection_is_recorded(#[case] how: &str) {
    let server = Server::start();
    let port = server.port;
    let script = format!("curl --silent --show-error --fail {how} http://own.test:{port}/path?x");
    let seen = shell(&[format!("own.test:{port}+private")], &script);
    let printed = seen.printed();
    assert!(
        printed.starts_with("you sent:\nGET /path?x HTTP/1.1\r\nHost: own.test"),
        "{printed}"
    );
    let [connection] = seen.connections.listed.as_slice() else {
        panic!("{:?}", seen.connections)
    };
    let expected = Connection {
        time: Timestamp(0),
        host: Some("own.test".to_owned()),
        port: Some(port),
        verdict: Verdict::Allowed,
        rule: Some(format!("own.test:{port}+private")),
        reason: None,
        address: Some("127.0.0.1".parse().unwrap()),
        sent_bytes: connection.sent_bytes,
        received_bytes: connection.received_bytes,
    };
    assert_eq!(*connection, expected);
    let request = printed.strip_prefix("you sent:\n").unwrap();
    assert_eq!(connection.sent_bytes as usize, request.len());
    assert!(connection.received_bytes as usize > printed.len());
    assert_eq!((seen.reach, server.asked.load(Ordering::SeqCst)), (Reach::Listed, 1));
}

#[test]
fn an_address_that_is_listed_is_not_taken_for_the_commands_own() {
    let server = Server::start();
    let port = server.port;
    let script = format!(
        "import urllib.request
print(urllib.request.urlopen('http://127.0.0.1:{port}/').read().decode())"
    );
    let seen = python(&[format!("127.0.0.1:{port}")], &script);
    assert!(seen.printed().starts_with("you sent:"));
}

#[rstest]
#[case::not_listed("other.test", Verdict::Refused, "not on the list of allowed hosts")]
#[case::metadata(
    "metadata.test",
    Verdict::Refused,
    "metadata.test leads to 169.254.169.254, a link-local address, where clouds keep their metadata"
)]
#[case::one_of_two("mixed.test", Verdict::Refused, "mixed.test leads to 10.0.0.1, a private address")]
#[case::mapped(
    "mapped.test",
    Verdict::Refused,
    "mapped.test leads to 127.0.0.1, a loopback address"
)]
#[case::no_name("gone.test", Verdict::Failed, "resolve the name: there is no such name")]
#[case::no_address("nowhere.test", Verdict::Failed, "the name has no address")]
#[case::address_not_listed("127.0.0.1", Verdict::Refused, "not on the list of allowed hosts")]
fn what_is_not_allowed_is_refused_on_each_way(#[case] host: &str, #[case] verdict: Verdict, #[case] reason: &str) {
    let server = Server::start();
    let port = server.port;
    let entries = ["metadata", "mixed", "mapped", "gone", "nowhere"].map(|name| format!("{name}.test:{port}"));
    let script = format!(
        "import struct
print(talk(b'CONNECT {host}:{port} HTTP/1.1\\r\\n\\r\\n').decode())
print(talk(b'GET http://{host}:{port}/ HTTP/1.1\\r\\n\\r\\n').decode())
s = connect(); s.sendall(b'\\x05\\x01\\x00'); assert s.recv(2) == b'\\x05\\x00'
name = b'{host}'
s.sendall(b'\\x05\\x01\\x00\\x03' + bytes([len(name)]) + name + struct.pack('>H', {port})); print(s.recv(10)[1])"
    );
    let seen = python(&entries, &script);
    let printed = seen.printed();
    let (status, code) = match verdict {
        Verdict::Failed => ("502 Bad Gateway", 4),
        Verdict::Refused | Verdict::Allowed => ("403 Forbidden", 2),
    };
    assert_eq!(
        printed.matches(&format!("HTTP/1.1 {status}\r\n")).count(),
        2,
        "{printed}"
    );
    assert!(printed.ends_with(&format!("\n{code}\n")), "{printed}");
    assert_eq!(seen.verdicts(), [verdict; 3]);
    for connection in &seen.connections.listed {
        assert_eq!(
            (connection.reason.as_deref(), connection.host.as_deref()),
            (Some(reason), Some(host))
        );
    }
    assert_eq!(server.asked.load(Ordering::SeqCst), 0);
}

#[test]
fn there_is_no_way_but_the_gateway() {
    let server = Server::start();
    let port = server.port;
    let script = format!(
        "
def fails(act):
    try: act()
    except OSError: return True
    return False
assert fails(lambda: socket.create_connection(('127.0.0.1', {port}), timeout=5))
assert fails(lambda: socket.create_connection(('1.1.1.1', 53), timeout=5))
assert fails(lambda: socket.getaddrinfo('own.test', 80))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
assert fails(lambda: u.sendto(b'x', ('1.1.1.1', 53))); u.close()
assert fails(lambda: socket.create_server((at.hostname, at.port)))
assert not os.path.exists('/etc/resolv.conf')
print(sorted(n for n in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + n)))"
    );
    let seen = python(&[format!("own.test:{port}+private")], &script);
    assert_eq!(seen.printed(), "['0', '1', '2']\n");
    assert_eq!(
        (seen.connections, server.asked.load(Ordering::SeqCst)),
        (Connections::default(), 0)
    );
}

/// A request hidden behind another goes where the first was allowed to, and nowhere else.
#[rstest]
#[case::second_request(
    "GET http://own.test:PORT/1 HTTP/1.1\\r\\n\\r\\nGET http://evil.test/2 HTTP/1.1\\r\\n\\r\\n",
    1,
    "allowed"
)]
#[case::early_data(
    "CONNECT own.test:PORT HTTP/1.1\\r\\n\\r\\nGET /1 HTTP/1.1\\r\\n\\r\\n",
    1,
    "allowed"
)]
#[case::not_understood("GET http://own.test:PORT@evil.test/ HTTP/1.1\\r\\n\\r\\n", 0, "refused")]
#[case::too_long("GET http://own.test:PORT/ HTTP/1.1\\r\\nX: LONG", 0, "refused")]
#[case::other_protocol("SSH-2.0-x\\r\\n\\r\\n", 0, "refused")]
#[case::encrypted("\\x16\\x03\\x01\\x02\\x00\\r\\n\\r\\n", 0, "refused")]
#[case::socks_4("\\x04\\x01\\x00\\x50\\x7f\\x00\\x00\\x01\\x00\\r\\n\\r\\n", 0, "refused")]
fn tricks_reach_nothing(#[case] request: &str, #[case] reached: usize, #[case] verdict: &str) {
    let server = Server::start();
    let request = request
        .replace("PORT", &server.port.to_string())
        .replace("LONG", &"x".repeat(20_000));
    let seen = python(
        &[format!("own.test:{}+private", server.port)],
        &format!("talk(b'{request}')"),
    );
    seen.printed();
    let [connection] = seen.connections.listed.as_slice() else {
        panic!("{:?}", seen.connections)
    };
    assert_eq!(server.asked.load(Ordering::SeqCst), reached);
    assert_eq!(serde_json::to_value(connection.verdict).unwrap(), verdict);
}

#[test]
fn a_flood_is_bounded_and_hides_nothing() {
    let server = Server::start();
    let port = server.port;
    // More at once than are served together, and more in all than are listed.
    let script = format!(
        "
import threading
idle = [connect() for _ in range(80)]
for s in idle[:40]: s.close()
def one(_=None):
    for _ in range(30): talk(b'CONNECT other.test:1 HTTP/1.1\\r\\n\\r\\n')
for s in idle[40:]: s.close()
many = [threading.Thread(target=one) for _ in range(20)]
for t in many: t.start()
for t in many: t.join()
assert talk(b'GET http://own.test:{port}/ HTTP/1.1\\r\\n\\r\\n').startswith(b'HTTP/1.1 200')"
    );
    let seen = python(&[format!("own.test:{port}+private")], &script);
    seen.printed();
    assert_eq!(seen.connections.listed.len(), 512);
    assert_eq!(seen.connections.omitted, 80 + 600 + 1 - 512);
}

#[test]
fn large_streams_pass_in_both_directions_unchanged() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let echo = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut bytes = Vec::new();
        client.read_to_end(&mut bytes).unwrap();
        client.write_all(&bytes).unwrap();
        bytes.len()
    });
    let script = format!(
        "
import hashlib, threading
s = connect(); s.sendall(b'CONNECT 127.0.0.1:{port} HTTP/1.1\\r\\n\\r\\n')
answer = b''
while not answer.endswith(b'\\r\\n\\r\\n'): answer += s.recv(1)
sent = os.urandom(1 << 16) * 64
def send(): s.sendall(sent); s.shutdown(socket.SHUT_WR)
threading.Thread(target=send).start()
assert rest(s) == sent"
    );
    let seen = python(&[format!("127.0.0.1:{port}")], &script);
    seen.printed();
    assert_eq!(echo.join().unwrap(), 4 << 20);
    let [connection] = seen.connections.listed.as_slice() else {
        panic!("{:?}", seen.connections)
    };
    assert_eq!((connection.sent_bytes, connection.received_bytes), (4 << 20, 4 << 20));
}

#[test]
fn the_gateway_ends_with_its_command() {
    // It accepts and says nothing, so that the connection would stay for ever.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!(
        "
s = connect(); s.sendall(b'CONNECT 127.0.0.1:{port} HTTP/1.1\\r\\n\\r\\n'); s.recv(12)
if os.fork() == 0:
    os.setsid(); s.recv(1)"
    );
    let seen = python(&[format!("127.0.0.1:{port}")], &script);
    seen.printed();
    assert_eq!(seen.verdicts(), [Verdict::Allowed]);
    let (mut accepted, _) = listener.accept().unwrap();
    // Closed from the other end, or this would wait.
    assert!(matches!(accepted.read(&mut [0; 16]), Ok(0) | Err(_)));
}

#[test]
fn without_its_gateway_a_command_reaches_nothing() {
    let world = World::new();
    let boundary = boundary(&world, &["own.test:1".to_owned()]);
    let seen = common::python(
        &boundary,
        "import os, socket; print(socket.socket().connect_ex(('127.0.0.1', int(os.environ['http_proxy'].rsplit(':', 1)[1]))))",
    );
    assert_eq!(seen.printed(), format!("{}\n", libc::ECONNREFUSED));
}

#[test]
fn again_as_an_ordinary_user() {
    common::again_as_an_ordinary_user("again_as_an_ordinary_user");
}
