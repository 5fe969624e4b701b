//! The real Claude Code program against a local server that speaks its provider's protocol: what this client gives it and
//! reads from it is what the program itself takes and says. Runs where the program is installed: `tests/run clients`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use coder_agent::{
    CapacityKind, CapacityRefusal, Cost, Generated, GenerationFailure, GenerationRequest, HostFault, Tokens,
    action_schema,
};
use coder_digest::{ModelName, SystemClock};
use coder_models::{AttemptRequest, AttemptResponse, Attempts, Claude, ClaudeConfig, Client as _};
use coder_process::Cancel;
use rstest::rstest;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use tempfile::TempDir;

const MODEL: &str = "claude-opus-5-5";
const KEY: &str = "canary-key-7c21d4";

/// Answers every POST for messages the same way, and everything else with nothing.
struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Value>>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn start(answer: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (kept, done) = (Arc::clone(&asked), Arc::clone(&over));
        let thread = std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if done.load(Ordering::SeqCst) {
                    return;
                }
                // A connection that was opened ahead and never used is no request.
                let Some((line, body)) = request(&stream) else { continue };
                let is_question = line.starts_with("POST /v1/messages?") || line.starts_with("POST /v1/messages ");
                if is_question {
                    kept.lock().unwrap().push(body);
                }
                let text = match is_question {
                    true => answer.as_str(),
                    false => "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
                };
                let _ = (&stream).write_all(text.as_bytes());
            }
        });
        Self {
            address,
            asked,
            over,
            thread: Some(thread),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().unwrap().join();
    }
}

fn request(stream: &TcpStream) -> Option<(String, Value)> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let length = lines.iter().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some((
        lines.first()?.clone(),
        serde_json::from_slice(&body).unwrap_or(Value::Null),
    ))
}

fn response(status: u16, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} X\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A reply in the shape that is asked for, given through the program's own tool for it.
fn reply() -> String {
    let action = json!({"reply": "hi", "ask": "none", "rationale": "r", "commands": [], "view": [], "freeze_tests": false, "expand": [], "finished": true});
    let events = [
        json!({"type": "message_start", "message": {"id": "m1", "type": "message", "role": "assistant", "model": MODEL, "content": [],
            "stop_reason": null, "usage": {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t1", "name": "StructuredOutput", "input": {}}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": action.to_string()}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 20}}),
        json!({"type": "message_stop"}),
    ];
    let lines: String = events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
        .collect();
    response(200, "content-type: text/event-stream\r\n", &lines)
}

fn error(status: u16, headers: &str, kind: &str) -> String {
    let body = json!({"type": "error", "error": {"type": kind, "message": "no more"}}).to_string();
    response(status, &format!("content-type: application/json\r\n{headers}"), &body)
}

#[derive(Default)]
struct Keeper {
    requests: Vec<Value>,
    responses: Vec<AttemptResponse>,
}

impl Attempts for Keeper {
    fn request(&mut self, request: &AttemptRequest<'_>) -> Result<(), HostFault> {
        self.requests.push(serde_json::to_value(request).unwrap());
        Ok(())
    }
    fn response(&mut self, response: &AttemptResponse) -> Result<(), HostFault> {
        self.responses.push(response.clone());
        Ok(())
    }
}

fn call(server: &Server) -> (Generated, Keeper, TempDir) {
    let program = std::env::var_os("MICROCODER_CLAUDE").expect("MICROCODER_CLAUDE names the program");
    let place = tempfile::tempdir().unwrap();
    for name in ["home", "work"] {
        std::fs::create_dir(place.path().join(name)).unwrap();
    }
    let model = ModelName::new(MODEL).unwrap();
    let mut config = ClaudeConfig::new(program.into(), model, place.path().join("work"), Cancel::never());
    config.variables = vec![
        ("PATH".into(), "/usr/bin:/bin".into()),
        ("HOME".into(), place.path().join("home").into()),
        ("ANTHROPIC_BASE_URL".into(), format!("http://{}", server.address).into()),
        ("ANTHROPIC_API_KEY".into(), KEY.into()),
    ];
    let request = GenerationRequest {
        step: 2,
        system: "Be brief.",
        prompt: "one two",
        previous_bytes: 4,
        schema: action_schema(),
    };
    let mut keeper = Keeper::default();
    let generated = Claude::new(config, Arc::new(SystemClock)).call(&request, &mut keeper, &|| false);
    (generated, keeper, place)
}

/// Neither the record nor a file has the key; the program keeps at most a name of it.
fn keyless(keeper: &Keeper, place: &Path) {
    assert!(!format!("{:?} {:?}", keeper.requests, keeper.responses).contains(KEY));
    let mut left = vec![place.to_owned()];
    while let Some(path) = left.pop() {
        match path.is_dir() {
            true => left.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path())),
            false => {
                let bytes = std::fs::read(&path).unwrap_or_default();
                assert!(
                    !bytes.windows(KEY.len()).any(|found| found == KEY.as_bytes()),
                    "{}",
                    path.display()
                );
            }
        }
    }
}

#[test]
#[ignore = "needs the Claude Code program: tests/run clients"]
fn the_real_program_answers_once_in_the_shape_that_is_asked_for() {
    let server = Server::start(reply());
    let (generated, keeper, place) = call(&server);
    let action: Value = serde_json::from_str(&generated.reply.unwrap()).unwrap();
    assert_eq!((&action["reply"], &action["finished"]), (&json!("hi"), &json!(true)));
    assert_eq!(generated.model.as_deref(), Some(MODEL));
    let tokens = Tokens {
        input: Some(100),
        cached: Some(90),
        output: Some(20),
        reasoning: None,
    };
    assert_eq!((generated.tokens, generated.attempts), (tokens, 1));
    assert!(
        matches!(generated.cost, Cost::Known(amount) if amount > 0),
        "{:?}",
        generated.cost
    );
    let asked = server.asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 1, "one question, and one answer to it");
    // Traps 15 and 16: the prompt arrives in its pieces with its mark, and no tool but the one for the answer.
    assert_eq!(
        asked[0]["messages"][0]["content"],
        json!([{"type": "text", "text": "one "}, {"type": "text", "text": "two", "cache_control": {"type": "ephemeral"}}])
    );
    let tools = asked[0]["tools"].as_array().unwrap().iter();
    let tools: Vec<&str> = tools
        .filter(|tool| tool["defer_loading"] != true)
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(tools, ["StructuredOutput"]);
    assert_eq!(
        (&asked[0]["model"], &asked[0]["output_config"]["effort"]),
        (&json!(MODEL), &json!("low"))
    );
    keyless(&keeper, place.path());
}

#[rstest]
#[case::limit(
    error(429, "retry-after: 3600\r\n", "rate_limit_error"),
    Some(CapacityKind::RateLimit),
    429
)]
#[case::server_error(error(500, "", "api_error"), None, 500)]
#[ignore = "needs the Claude Code program: tests/run clients"]
fn the_real_programs_failures_are_told_apart(
    #[case] answer: String,
    #[case] limit: Option<CapacityKind>,
    #[case] status: u16,
) {
    let server = Server::start(answer);
    let (generated, keeper, place) = call(&server);
    let words = format!("the program reports HTTP status {status}: ");
    match (generated.reply, limit) {
        (Err(GenerationFailure::Capacity(refusal)), Some(kind)) => {
            assert!(refusal.message.starts_with(&words), "{refusal:?}");
            assert_eq!(refusal, CapacityRefusal::without_reset(kind, refusal.message.clone()));
        }
        (Err(GenerationFailure::Provider(told)), None) => assert!(told.starts_with(&words), "{told}"),
        (other, _) => panic!("{other:?}"),
    }
    assert_eq!((generated.cost, keeper.responses[0].status), (Cost::FREE, Some(status)));
    keyless(&keeper, place.path());
}
