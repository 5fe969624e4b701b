//! A model server for tests: one answer per connection, in order, each free to misbehave. Speaks just enough HTTP/1.1.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// What one connection does once the request is read.
pub type Answer = Box<dyn FnOnce(&mut TcpStream) + Send>;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Request {
    pub head: String,
    pub body: serde_json::Value,
}

pub struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let over = Arc::new(AtomicBool::new(false));
        let (kept, done) = (requests.clone(), over.clone());
        let thread = std::thread::spawn(move || {
            for answer in answers {
                let Ok((mut stream, _)) = listener.accept() else { return };
                if done.load(Ordering::SeqCst) {
                    return;
                }
                stream.set_nodelay(true).unwrap();
                let request = read_request(&mut stream);
                kept.lock().unwrap().push(request);
                answer(&mut stream);
            }
        });
        Self {
            address,
            requests,
            over,
            thread: Some(thread),
        }
    }

    pub fn endpoint(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// Waits until every answer was given, so that what they saw can be looked at.
    pub fn finish(mut self) -> Vec<Request> {
        self.thread.take().unwrap().join().unwrap();
        self.requests()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.over.store(true, Ordering::SeqCst);
            let _ = TcpStream::connect(self.address);
            let joined = thread.join();
            if !std::thread::panicking() {
                joined.unwrap();
            }
        }
    }
}

fn read_request(stream: &mut TcpStream) -> Request {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the client hung up in the middle of its request");
        bytes.extend_from_slice(&buffer[..count]);
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let length: usize = head
        .lines()
        .find_map(|line| {
            line.to_ascii_lowercase()
                .strip_prefix("content-length: ")
                .map(|value| value.parse().unwrap())
        })
        .unwrap();
    let mut body = bytes[end + 4..].to_vec();
    while body.len() < length {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the client hung up in the middle of its body");
        body.extend_from_slice(&buffer[..count]);
    }
    Request {
        head,
        body: serde_json::from_slice(&body).unwrap(),
    }
}

/// A whole response.
pub fn respond(status: u16, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut text = format!(
        "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(body);
    Box::new(move |stream| stream.write_all(text.as_bytes()).unwrap())
}

/// An event stream in chunks of `size` bytes, whole.
pub fn stream(events: &[&str], size: usize) -> Answer {
    let body: String = events.iter().map(|event| format!("{event}\n\n")).collect();
    Box::new(move |stream| {
        begin_stream(stream);
        for piece in body.as_bytes().chunks(size) {
            chunk(stream, piece).unwrap();
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
    })
}

pub fn begin_stream(stream: &mut TcpStream) {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\ntransfer-encoding: \
                chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
}

pub fn chunk(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
    framed.extend_from_slice(bytes);
    framed.extend_from_slice(b"\r\n");
    stream.write_all(&framed)
}

/// Blocks until the client hangs up.
pub fn until_hung_up(stream: &mut TcpStream) {
    let mut buffer = [0; 64];
    while !matches!(stream.read(&mut buffer), Ok(0) | Err(_)) {}
}
