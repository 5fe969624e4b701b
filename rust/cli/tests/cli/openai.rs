//! The HTTP provider through the whole program, against a server of the test: success, refusals, failures, and that the
//! key is nowhere but in the request.

use crate::world::{Call, Seen, World, reply};
use coder_digest::Digest;
use rstest::rstest;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

const KEY: &str = "canary-5f2d1c0b9a";

/// A request as the server saw it.
#[derive(Debug, Clone)]
struct Request {
    line: String,
    authorization: Option<String>,
    digest: String,
    body: Value,
}

/// Answers every request with what `answer` makes of its number, from 1.
struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn start(answer: impl Fn(usize) -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let over = Arc::new(AtomicBool::new(false));
        let (kept, done) = (requests.clone(), over.clone());
        let thread = std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if done.load(Ordering::SeqCst) {
                    return;
                }
                let number = {
                    let mut kept = kept.lock().unwrap();
                    kept.push(read(&stream));
                    kept.len()
                };
                // A client that was stopped does not wait for its answer.
                let _ = (&stream).write_all(answer(number).as_bytes());
            }
        });
        Self {
            address,
            requests,
            over,
            thread: Some(thread),
        }
    }

    fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().unwrap().join();
    }
}

fn read(stream: &TcpStream) -> Request {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim_end().is_empty() {
            break;
        }
        head.push(line.trim_end().to_owned());
    }
    let header = |name: &str| {
        head.iter().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let mut body = vec![0; header("content-length").unwrap().parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    Request {
        line: head[0].clone(),
        authorization: header("authorization"),
        digest: Digest::of(&body).to_string(),
        body: serde_json::from_slice(&body).unwrap(),
    }
}

fn response(status: u16, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} X\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn events(events: &[Value]) -> String {
    let lines: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    response(200, "content-type: text/event-stream\r\n", &lines)
}

fn chat(model: &str, text: &str) -> String {
    events(&[
        json!({ "id": "c", "model": model, "choices": [{ "index": 0, "delta": { "role": "assistant", "content": text } }] }),
        json!({ "id": "c", "model": model, "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] }),
        json!({ "id": "c", "model": model, "choices": [], "usage": { "prompt_tokens": 100, "completion_tokens": 20 } }),
    ])
}

fn responses(model: &str, text: &str) -> String {
    let output =
        json!([{ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] }]);
    events(&[
        json!({ "type": "response.created", "response": { "id": "r", "model": model, "status": "in_progress" } }),
        json!({ "type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0, "delta": text }),
        json!({ "type": "response.completed", "response": {
            "id": "r", "model": model, "status": "completed", "output": output,
            "usage": { "input_tokens": 100, "output_tokens": 20, "total_tokens": 120 },
        } }),
    ])
}

/// The replies of a run that adds a line.
fn replied(number: usize) -> String {
    match number {
        1 => reply(&["echo second >>notes.txt; env"], false).to_string(),
        _ => reply(&[], true).to_string(),
    }
}

fn run(world: &World, server: &Server, api: &str) -> Call {
    let endpoint = format!("http://{}/v1", server.address);
    world
        .microcoder(&[
            "run",
            "Add a line.",
            "--json",
            "--provider",
            "openai",
            "--model",
            "org/model",
            "--endpoint",
            &endpoint,
        ])
        .arguments(&[
            "--api",
            api,
            "--credential-env",
            "MODEL_KEY",
            "--store",
            &world.text("tasks"),
        ])
        .variable("MODEL_KEY", KEY)
        .inside("repo")
}

/// The key is in no file of the world and in nothing that was said.
#[track_caller]
fn keyless(world: &World, seen: &Seen) {
    assert!(!seen.stdout.contains(KEY) && !seen.stderr.contains(KEY));
    let files: Vec<String> = world
        .listing("")
        .into_iter()
        .filter(|(_, said)| said.starts_with("file"))
        .map(|(name, _)| name)
        .collect();
    assert!(files.len() > 20, "{files:?}");
    for name in files.iter().map(String::as_str).chain(["tasks/journal.db-wal"]) {
        let bytes = std::fs::read(world.path(name)).unwrap_or_default();
        let found = bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
        assert!(!found, "the key is in {name}");
    }
}

fn result(document: &Value) -> Value {
    let result = &document["task"]["run"]["result"];
    json!({ "ending": result["ending"], "exit_code": result["exit_code"], "cost_status": result["cost_status"], "incomplete": result["output_incomplete"] })
}

#[rstest]
#[case::chat_completions("chat-completions", chat, "POST /v1/chat/completions HTTP/1.1")]
#[case::responses("responses", responses, "POST /v1/responses HTTP/1.1")]
fn a_run_through_an_endpoint(#[case] api: &str, #[case] answer: fn(&str, &str) -> String, #[case] line: &str) {
    let world = World::new();
    let server = Server::start(move |number| answer("org/model", &replied(number)));
    let seen = run(&world, &server, api).run();
    let document = seen.json(0);
    let expected = json!({ "ending": "model_finished", "exit_code": 0, "cost_status": "unknown", "incomplete": false });
    assert_eq!(result(&document), expected);
    assert_eq!(
        document["changes"],
        json!([{ "change": "modified", "path": "notes.txt", "aspect": "content" }])
    );
    keyless(&world, &seen);
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    for request in &requests {
        assert_eq!(
            (request.line.as_str(), request.authorization.as_deref()),
            (line, Some("Bearer canary-5f2d1c0b9a"))
        );
        assert_eq!(
            (&request.body["model"], &request.body["stream"]),
            (&json!("org/model"), &json!(true))
        );
    }
    let id = document["task"]["task_id"].as_str().unwrap();
    assert_eq!(world.task(&["verify", id]).json()["verdict"], "verified");
    // The exact bytes of each request are in the trace: the digests recorded are those of what was received.
    let trace = world.read(&format!("tasks/{id}.1.atif.jsonl"));
    let recorded: BTreeSet<String> = trace
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter_map(|record| {
            record["step"]["extensions"]["effect"]["arguments"]["body_digest"]
                .as_str()
                .map(str::to_owned)
        })
        .collect();
    let received: BTreeSet<String> = requests.iter().map(|request| request.digest.clone()).collect();
    assert_eq!(recorded, received);
}

#[rstest]
#[case::limited(429, "retry-after: 3600\r\n", json!({ "error": { "message": "slow down", "code": "rate_limit_exceeded" } }), "no_capacity", 1)]
#[case::out_of_money(429, "", json!({ "error": { "message": "no quota", "type": "insufficient_quota", "code": "insufficient_quota" } }), "no_capacity", 1)]
fn trap_18_a_limit_ends_the_run_and_is_no_bad_reply(
    #[case] status: u16,
    #[case] headers: &'static str,
    #[case] body: Value,
    #[case] ending: &str,
    #[case] asked: usize,
) {
    let world = World::new();
    let text = body.to_string();
    let server = Server::start(move |_| response(status, headers, &text));
    let seen = run(&world, &server, "chat-completions").run();
    let document = seen.json(1);
    assert_eq!(
        (&result(&document)["ending"], &document["changes"]),
        (&json!(ending), &json!([]))
    );
    assert_eq!(server.requests().len(), asked);
    keyless(&world, &seen);
}

#[test]
fn trap_10_another_model_than_the_one_asked_for_is_not_believed() {
    let world = World::new();
    let server = Server::start(|number| chat("org/another", &replied(number)));
    let seen = run(&world, &server, "chat-completions").run();
    let document = seen.json(1);
    assert_eq!(document["changes"], json!([]), "nothing it said was done");
    assert_eq!(
        (&result(&document)["ending"], server.requests().len()),
        (&json!("cancelled_or_host_refusal"), 1)
    );
    let id = document["task"]["task_id"].as_str().unwrap();
    let view = world.task(&["view", id]).json();
    let last = view["evidence"]["steps"].as_array().unwrap().last().unwrap();
    assert!(
        last["extra"]["host_fault"].as_str().unwrap().contains("org/another"),
        "{last}"
    );
    assert_eq!(world.task(&["verify", id]).json()["verdict"], "verified");
    keyless(&world, &seen);
}

#[test]
fn trap_o_a_server_that_fails_is_told_apart_from_a_bad_reply() {
    let world = World::new();
    let server = Server::start(|_| {
        response(
            500,
            "",
            &json!({ "error": { "message": format!("broken by {KEY}") } }).to_string(),
        )
    });
    let seen = run(&world, &server, "chat-completions").run();
    let document = seen.json(1);
    assert_eq!(result(&document)["ending"], "loop_incomplete");
    let said: Vec<Value> = server.requests().iter().map(|request| request.body.clone()).collect();
    assert!(said.len() > 1, "a failing server is asked again");
    assert!(
        !said.iter().any(|body| body.to_string().contains("did not match")),
        "{said:?}"
    );
    let id = document["task"]["task_id"].as_str().unwrap();
    assert_eq!(world.task(&["verify", id]).json()["verdict"], "verified");
    // A server that repeats the key does not get it into the evidence either.
    keyless(&world, &seen);
}

#[test]
fn a_key_that_is_refused_is_told_and_not_tried_for_ever() {
    let world = World::new();
    let server = Server::start(|_| {
        response(
            401,
            "",
            &json!({ "error": { "message": format!("bad key {KEY}") } }).to_string(),
        )
    });
    let seen = run(&world, &server, "responses").run();
    assert_eq!(result(&seen.json(1))["ending"], "loop_incomplete");
    assert_eq!(server.requests().len(), 3);
    keyless(&world, &seen);
}

#[test]
fn a_signal_ends_a_run_that_waits_for_the_model() {
    let world = World::new();
    let mut gate = crate::world::Gate::at(&world.path("gate"));
    let told = world.path("gate");
    let server = Server::start(move |_| {
        std::fs::write(&told, "asked\n").unwrap();
        // Announces more than it ever sends, so that the client waits.
        "HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\ncontent-length: 100000\r\n\r\n: wait\n\n".to_owned()
    });
    let running = run(&world, &server, "chat-completions").start();
    gate.wait(&running);
    running.signal(rustix::process::Signal::INT);
    let document = running.wait().json(1);
    assert_eq!(document["task"]["execution"], "stopped");
    assert_eq!(result(&document)["ending"], "cancelled_or_host_refusal");
    let id = document["task"]["task_id"].as_str().unwrap();
    assert_eq!(world.task(&["verify", id]).json()["verdict"], "verified");
}
