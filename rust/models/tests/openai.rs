//! The HTTP client against a real local server that streams, refuses, stalls, lies and breaks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod server;

use coder_agent::{
    CapacityKind, CapacityRefusal, Cost, Generate as _, Generated, GenerationFailure, GenerationRequest, HostFault,
    ResetOrigin, Tokens, action_schema,
};
use coder_digest::{Digest, FixedClock, ModelName, Timestamp};
use coder_models::{
    AttemptErrorKind, AttemptRequest, AttemptResponse, Attempts, Client as _, Effort, Endpoint, OpenAi, OpenAiConfig,
    Protocol, Recorded, Secret, Timeouts,
};
use rstest::rstest;
use serde_json::{Value, json};
use server::{Answer, Server, begin_stream, chunk, respond, stream, until_hung_up};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const NOW: i64 = 1_796_040_000;

#[derive(Debug, Default)]
struct Keeper {
    requests: Vec<Value>,
    responses: Vec<AttemptResponse>,
    refuse: Option<&'static str>,
    /// Set once a response is on record.
    answered: Arc<AtomicBool>,
}

impl Attempts for Keeper {
    fn request(&mut self, request: &AttemptRequest<'_>) -> Result<(), HostFault> {
        assert_eq!(request.body_digest, Digest::of(request.body.as_bytes()));
        self.requests.push(serde_json::to_value(request).unwrap());
        self.answer("request")
    }
    fn response(&mut self, response: &AttemptResponse) -> Result<(), HostFault> {
        self.responses.push(response.clone());
        self.answered.store(true, Ordering::SeqCst);
        self.answer("response")
    }
}

impl Keeper {
    fn answer(&self, now: &str) -> Result<(), HostFault> {
        match self.refuse {
            Some(refused) if refused == now => Err(HostFault("no space left".to_owned())),
            _ => Ok(()),
        }
    }

    fn errors(&self) -> Vec<(AttemptErrorKind, String)> {
        self.responses
            .iter()
            .filter_map(|response| response.error.clone())
            .map(|error| (error.kind, error.message))
            .collect()
    }
}

fn config(server: &Server) -> OpenAiConfig {
    let mut config = OpenAiConfig::new(
        Endpoint::parse(&server.endpoint()).unwrap(),
        ModelName::new("org/model").unwrap(),
    );
    config.retry_waits = Vec::new();
    config
}

fn call_with(config: OpenAiConfig, keeper: &mut Keeper, cancelled: &dyn Fn() -> bool) -> Generated {
    let mut client = client(config);
    client.call(&request(), keeper, cancelled)
}

fn client(config: OpenAiConfig) -> OpenAi {
    OpenAi::new(config, Arc::new(FixedClock::new(Timestamp(NOW * 1_000), 0))).unwrap()
}

fn request() -> GenerationRequest<'static> {
    GenerationRequest {
        step: 3,
        system: "Be brief.",
        prompt: "Fix it.",
        previous_bytes: 0,
        schema: action_schema(),
    }
}

fn call(server: &Server, keeper: &mut Keeper) -> Generated {
    call_with(config(server), keeper, &|| false)
}

fn failed(generated: &Generated) -> &str {
    match &generated.reply {
        Err(GenerationFailure::Provider(words)) => words,
        other => panic!("{other:?}"),
    }
}

const CHAT: [&str; 5] = [
    r#"data: {"id":"c1","model":"org/model","choices":[{"index":0,"delta":{"role":"assistant","content":"{\"é"}}]}"#,
    ": keep-alive",
    r#"data: {"id":"c1","model":"org/model","choices":[{"index":0,"delta":{"content":"😀\"}","reasoning_content":"hm"}}]}"#,
    r#"data: {"id":"c1","model":"org/model","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    r#"data: {"id":"c1","model":"org/model","choices":[],"usage":{"prompt_tokens":100,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens":20,"completion_tokens_details":{"reasoning_tokens":12}}}"#,
];

fn chat(size: usize) -> Answer {
    let mut events = CHAT.to_vec();
    events.push("data: [DONE]");
    stream(&events, size)
}

fn tokens() -> Tokens {
    Tokens {
        input: Some(100),
        cached: Some(64),
        output: Some(20),
        reasoning: Some(12),
    }
}

fn said(text: &str, tokens: Tokens) -> Generated {
    Generated {
        reply: Ok(text.to_owned()),
        model: Some("org/model".to_owned()),
        tokens,
        cost: Cost::Unknown,
        attempts: 1,
        uncounted_attempts: 0,
    }
}

#[rstest]
fn a_streamed_chat_wherever_its_chunks_are_cut(#[values(1, 2, 3, 7, 64, 100_000)] size: usize) {
    let server = Server::start(vec![chat(size)]);
    let mut keeper = Keeper::default();
    assert_eq!(call(&server, &mut keeper), said("{\"é😀\"}", tokens()));
    let length: usize = CHAT.iter().map(|event| event.len() + 2).sum::<usize>() + "data: [DONE]\n\n".len();
    assert_eq!(
        serde_json::to_value(&keeper.responses).unwrap(),
        json!([{
            "kind": "openai_request", "step": 3, "number": 1, "status": 200, "served_model": "org/model", "response_id": "c1",
            "text": "{\"é😀\"}",
            "items": [{"type": "message", "role": "assistant", "content": "{\"é😀\"}", "reasoning": "hm", "finish_reason": "stop"}],
            "tokens": {"input": 100, "cached": 64, "output": 20, "reasoning": 12}, "cost": {"status": "unknown"},
            "body_bytes": length, "error": null
        }])
    );
}

#[test]
fn the_chat_request_is_exact_and_recorded_as_sent() {
    let server = Server::start(vec![chat(1_000)]);
    let endpoint = server.endpoint();
    let mut keeper = Keeper::default();
    let mut config = config(&server);
    config.effort = Some(Effort::High);
    config.key = Some(Secret::new("canary-key"));
    call_with(config, &mut keeper, &|| false).reply.unwrap();
    let sent = server.finish().remove(0);
    let schema: Value = serde_json::from_str(action_schema().json).unwrap();
    assert_eq!(
        sent.body,
        json!({
            "model": "org/model", "reasoning_effort": "high", "stream": true, "stream_options": {"include_usage": true},
            "response_format": {"type": "json_schema", "json_schema": {"name": "next_action", "strict": true, "schema": schema}},
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Fix it."}]
        })
    );
    assert!(sent.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"));
    assert!(
        sent.head
            .to_ascii_lowercase()
            .contains("\r\nauthorization: bearer canary-key\r\n")
    );
    let record = &keeper.requests[0];
    assert_eq!(
        serde_json::from_str::<Value>(record["body"].as_str().unwrap()).unwrap(),
        sent.body
    );
    // The order of the keys is the order in which a model writes them.
    assert!(record["body"].as_str().unwrap().find("\"reply\"") < record["body"].as_str().unwrap().find("\"commands\""));
    assert_eq!(
        json!([
            record["kind"],
            record["step"],
            record["number"],
            record["endpoint"],
            record["model"],
            record["effort"]
        ]),
        json!([
            "openai_request",
            3,
            1,
            format!("{endpoint}/chat/completions"),
            "org/model",
            "high"
        ])
    );
}

const COMPLETED: &str = r#"data: {"type":"response.completed","response":{"id":"r1","model":"org/model","status":"completed","usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":64},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":12}}}}"#;

#[rstest]
fn a_streamed_response_wherever_its_chunks_are_cut(#[values(1, 5, 100_000)] size: usize) {
    let server = Server::start(vec![stream(
        &[
            "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r1\",\"model\":\"org/model\"}}",
            r#"data: {"type":"response.output_text.delta","delta":"é"}"#,
            r#"data: {"type":"response.output_item.done","item":{"type":"reasoning","summary":[]}}"#,
            r#"data: {"type":"response.output_item.done","item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"é😀"}]}}"#,
            COMPLETED,
        ],
        size,
    )]);
    let mut keeper = Keeper::default();
    let mut config = config(&server);
    config.protocol = Protocol::Responses;
    config.effort = Some(Effort::Low);
    assert_eq!(call_with(config, &mut keeper, &|| false), said("é😀", tokens()));
    assert_eq!(
        keeper.responses[0].items,
        [
            json!({"type": "reasoning", "summary": []}),
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "é😀"}]})
        ]
    );
    let sent = server.finish().remove(0);
    let schema: Value = serde_json::from_str(action_schema().json).unwrap();
    assert_eq!(
        sent.body,
        json!({
            "model": "org/model", "store": false, "stream": true, "reasoning": {"effort": "low"},
            "text": {"format": {"type": "json_schema", "name": "next_action", "strict": true, "schema": schema}},
            "instructions": "Be brief.",
            "input": [{"role": "user", "content": [{"type": "input_text", "text": "Fix it."}]}]
        })
    );
    assert!(sent.head.starts_with("POST /v1/responses HTTP/1.1\r\n"));
    assert!(!sent.head.to_ascii_lowercase().contains("authorization"));
}

#[rstest]
#[case::chat(
    Protocol::ChatCompletions,
    r#"{"id":"c1","model":"org/model","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1}}"#
)]
#[case::responses(
    Protocol::Responses,
    r#"{"id":"c1","model":"org/model","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}],"usage":{"input_tokens":9,"output_tokens":1}}"#
)]
fn a_server_that_does_not_stream_is_understood(#[case] protocol: Protocol, #[case] body: &str) {
    let server = Server::start(vec![respond(200, &[("content-type", "application/json")], body)]);
    let mut config = config(&server);
    config.protocol = protocol;
    let used = Tokens {
        input: Some(9),
        output: Some(1),
        ..Tokens::UNKNOWN
    };
    assert_eq!(call_with(config, &mut Keeper::default(), &|| false), said("hi", used));
}

#[test]
fn a_stream_without_its_content_type_is_understood() {
    let body = CHAT.map(|event| format!("{event}\n\n")).concat();
    let server = Server::start(vec![respond(200, &[], &body)]);
    assert_eq!(call(&server, &mut Keeper::default()), said("{\"é😀\"}", tokens()));
}

#[test]
fn usage_that_is_missing_or_zero_is_unknown() {
    for usage in ["null", r#"{"prompt_tokens":0,"completion_tokens":0}"#] {
        let body = format!(
            r#"{{"model":"org/model","choices":[{{"message":{{"content":"hi"}},"finish_reason":"stop"}}],"usage":{usage}}}"#
        );
        let server = Server::start(vec![respond(200, &[], &body)]);
        let generated = call(&server, &mut Keeper::default());
        assert_eq!((generated.tokens, generated.uncounted_attempts), (Tokens::UNKNOWN, 1));
    }
}

#[rstest]
#[case::another(
    r#""model":"org/other","#,
    "the response names the model `org/other`; the route admits only `org/model`"
)]
#[case::none("", "the response names no model; the route admits only `org/model`")]
#[case::empty(r#""model":"","#, "the response names no model; the route admits only `org/model`")]
fn another_model_is_refused_after_its_response_is_retained(#[case] model: &str, #[case] words: &str) {
    let event = format!(r#"data: {{{model}"choices":[{{"delta":{{"content":"hi"}},"finish_reason":"stop"}}]}}"#);
    let server = Server::start(vec![stream(&[&event, "data: [DONE]"], 100_000)]);
    let mut keeper = Keeper::default();
    let generated = call(&server, &mut keeper);
    assert_eq!(
        generated.reply,
        Err(GenerationFailure::HostFault(HostFault(words.to_owned())))
    );
    assert_eq!(keeper.responses[0].text, "hi");
    assert_eq!(keeper.errors(), [(AttemptErrorKind::WrongModel, words.to_owned())]);
}

#[test]
fn a_model_that_changes_in_the_middle_is_refused() {
    let server = Server::start(vec![stream(
        &[
            CHAT[0],
            r#"data: {"model":"org/other","choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}"#,
            "data: [DONE]",
        ],
        100_000,
    )]);
    let mut keeper = Keeper::default();
    assert!(matches!(
        call(&server, &mut keeper).reply,
        Err(GenerationFailure::HostFault(_))
    ));
    assert_eq!(keeper.responses[0].served_model.as_deref(), Some("org/other"));
}

#[rstest]
#[case::with_reset(
    &[], r#"{"error":{"type":"usage_limit_reached","message":"wait","resets_at":1796043600}}"#,
    CapacityKind::UsageLimit, Some(NOW + 3_600), "the server answered with HTTP status 429 (usage_limit_reached): wait"
)]
#[case::with_header(&[("retry-after", "30")], "", CapacityKind::RateLimit, Some(NOW + 30), "the server answered with HTTP status 429")]
#[case::without_reset(&[], "{}", CapacityKind::RateLimit, None, "the server answered with HTTP status 429")]
fn a_limit_is_a_refusal_for_capacity_and_not_tried_again(
    #[case] headers: &[(&str, &str)],
    #[case] body: &str,
    #[case] kind: CapacityKind,
    #[case] resets_at: Option<i64>,
    #[case] message: &str,
) {
    let server = Server::start(vec![respond(429, headers, body)]);
    let mut config = config(&server);
    config.retry_waits = vec![Duration::ZERO; 3];
    let generated = call_with(config, &mut Keeper::default(), &|| false);
    let origin = resets_at.map(|_| match headers {
        [] => ResetOrigin::Field {
            name: "resets_at".to_owned(),
        },
        _ => ResetOrigin::Header {
            name: "retry-after".to_owned(),
        },
    });
    assert_eq!(
        generated,
        Generated {
            reply: Err(GenerationFailure::Capacity(CapacityRefusal {
                resets_at,
                origin,
                ..CapacityRefusal::without_reset(kind, message)
            })),
            model: None,
            tokens: Tokens::UNKNOWN,
            cost: Cost::FREE,
            attempts: 1,
            uncounted_attempts: 0,
        }
    );
}

#[test]
fn server_errors_and_broken_streams_are_tried_again_each_on_its_own_record() {
    let broken: Answer = Box::new(|stream| {
        begin_stream(stream);
        chunk(stream, format!("{}\n\n", CHAT[0]).as_bytes()).unwrap();
    });
    let server = Server::start(vec![respond(500, &[], "boom"), broken, chat(1_000)]);
    let mut keeper = Keeper::default();
    let mut config = config(&server);
    config.retry_waits = vec![Duration::ZERO; 3];
    let generated = call_with(config, &mut keeper, &|| false);
    assert_eq!(
        generated,
        Generated {
            attempts: 3,
            // The broken one may have used tokens; nobody said how many.
            uncounted_attempts: 1,
            ..said("{\"é😀\"}", tokens())
        }
    );
    let numbers: Vec<u32> = keeper.responses.iter().map(|response| response.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!(keeper.requests.len(), 3);
    assert_eq!(keeper.responses[1].text, "{\"é");
    let kinds: Vec<AttemptErrorKind> = keeper.errors().into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, [AttemptErrorKind::Status, AttemptErrorKind::Broken]);
}

#[test]
fn tries_end() {
    let server = Server::start(vec![respond(503, &[], ""), respond(502, &[], "")]);
    let mut config = config(&server);
    config.retry_waits = vec![Duration::ZERO];
    let generated = call_with(config, &mut Keeper::default(), &|| false);
    assert_eq!(
        (failed(&generated), generated.attempts),
        ("the server answered with HTTP status 502", 2)
    );
    server.finish();
}

#[rstest]
#[case::unauthorized(respond(401, &[], r#"{"error":{"message":"who?"}}"#), AttemptErrorKind::Status, "HTTP status 401: who?")]
#[case::redirect(
    respond(307, &[("location", "http://127.0.0.1:9/")], ""),
    AttemptErrorKind::Redirect,
    "HTTP status 307; redirects are not followed"
)]
#[case::not_json(respond(200, &[], "<html>"), AttemptErrorKind::Malformed, "neither an event stream nor JSON")]
#[case::bad_event(stream(&["data: {"], 9), AttemptErrorKind::Malformed, "an event of the stream is no JSON")]
#[case::no_end(stream(&CHAT[..1], 9), AttemptErrorKind::Broken, "ended before its end mark")]
#[case::nothing(stream(&[], 9), AttemptErrorKind::Broken, "ended before its end mark")]
#[case::cut(
    stream(&[r#"data: {"model":"org/model","choices":[{"delta":{"content":"{"},"finish_reason":"length"}]}"#, "data: [DONE]"], 99),
    AttemptErrorKind::Incomplete,
    "the server ended the reply early: length"
)]
#[case::declined(
    stream(&[r#"data: {"model":"org/model","choices":[{"delta":{"refusal":"I won't."},"finish_reason":"stop"}]}"#], 99),
    AttemptErrorKind::Declined,
    "the model declined: I won't."
)]
#[case::error_in_stream(
    stream(&[CHAT[0], r#"data: {"error":{"message":"out of memory"}}"#], 99),
    AttemptErrorKind::Status,
    "the server reports an error inside the response: out of memory"
)]
#[case::not_utf8(
    Box::new(|stream: &mut std::net::TcpStream| {
        begin_stream(stream);
        chunk(stream, b"data: \xff\xff\n\n").unwrap();
        std::io::Write::write_all(stream, b"0\r\n\r\n").unwrap();
    }) as Answer,
    AttemptErrorKind::Malformed,
    "the event stream is not UTF-8"
)]
fn what_is_no_reply_is_named(#[case] answer: Answer, #[case] kind: AttemptErrorKind, #[case] words: &str) {
    let server = Server::start(vec![answer]);
    let mut keeper = Keeper::default();
    let generated = call(&server, &mut keeper);
    assert!(failed(&generated).contains(words), "{generated:?}");
    assert_eq!(keeper.errors(), [(kind, failed(&generated).to_owned())]);
}

#[test]
fn an_error_status_inside_responses_is_a_failure() {
    let server = Server::start(vec![stream(
        &[
            r#"data: {"type":"response.failed","response":{"model":"org/model","status":"failed","error":{"code":"server_error","message":"oops"}}}"#,
        ],
        50,
    )]);
    let mut config = config(&server);
    config.protocol = Protocol::Responses;
    assert_eq!(
        failed(&call_with(config, &mut Keeper::default(), &|| false)),
        "the server reports an error inside the response (server_error): oops"
    );
}

#[rstest]
#[case::chat(Protocol::ChatCompletions, "response_format")]
#[case::responses(Protocol::Responses, "text")]
fn a_refused_response_format_is_left_out_from_then_on(#[case] protocol: Protocol, #[case] field: &str) {
    let refusal = || respond(400, &[], r#"{"error":{"message":"json_schema is not supported here"}}"#);
    let answer = || match protocol {
        Protocol::ChatCompletions => chat(100_000),
        Protocol::Responses => stream(
            &[
                r#"data: {"type":"response.output_text.delta","delta":"{\"é😀\"}"}"#,
                COMPLETED,
            ],
            100_000,
        ),
    };
    let server = Server::start(vec![refusal(), answer(), answer(), refusal()]);
    let mut keeper = Keeper::default();
    let mut config = config(&server);
    config.protocol = protocol;
    let mut client = client(config);
    let first = client.call(&request(), &mut keeper, &|| false);
    assert_eq!(
        (first.reply.as_deref(), first.attempts, first.uncounted_attempts),
        (Ok("{\"é😀\"}"), 2, 0)
    );
    let second = client.call(&request(), &mut keeper, &|| false);
    assert_eq!((second.reply.as_deref(), second.attempts), (Ok("{\"é😀\"}"), 1));
    // A server that refuses what was not even sent is not asked for ever.
    let third = client.call(&request(), &mut keeper, &|| false);
    assert!(failed(&third).contains("json_schema is not supported here"));
    let sent: Vec<bool> = server
        .finish()
        .iter()
        .map(|request| request.body.get(field).is_some())
        .collect();
    assert_eq!(sent, [true, false, false, false]);
    assert_eq!(
        keeper.responses[0].error.as_ref().unwrap().kind,
        AttemptErrorKind::FormatRefused
    );
}

#[test]
fn nothing_is_sent_without_a_retained_intent() {
    let server = Server::start(vec![chat(1_000)]);
    let mut keeper = Keeper {
        refuse: Some("request"),
        ..Keeper::default()
    };
    let generated = call(&server, &mut keeper);
    assert_eq!(
        (generated.reply, generated.attempts),
        (
            Err(GenerationFailure::HostFault(HostFault("no space left".to_owned()))),
            0
        )
    );
    assert!(server.requests().is_empty() && keeper.responses.is_empty());
}

#[test]
fn nothing_acts_on_a_response_that_is_not_retained_but_it_counts() {
    let server = Server::start(vec![chat(1_000)]);
    let mut keeper = Keeper {
        refuse: Some("response"),
        ..Keeper::default()
    };
    assert_eq!(
        call(&server, &mut keeper),
        Generated {
            reply: Err(GenerationFailure::HostFault(HostFault("no space left".to_owned()))),
            ..said("", tokens())
        }
    );
}

/// Report 29: silence has its own limit beside that of the whole, and the part that came stays on record.
#[test]
fn a_stall_ends_with_the_idle_time() {
    let stall: Answer = Box::new(|stream| {
        begin_stream(stream);
        chunk(stream, format!("{}\n\n", CHAT[0]).as_bytes()).unwrap();
        until_hung_up(stream);
    });
    let server = Server::start(vec![stall]);
    let mut keeper = Keeper::default();
    let mut config = config(&server);
    config.timeouts.idle = Duration::from_secs(2);
    let generated = call_with(config, &mut keeper, &|| false);
    assert_eq!(failed(&generated), "nothing came from the server for 2 s");
    assert_eq!(
        (keeper.responses[0].text.as_str(), generated.uncounted_attempts),
        ("{\"é", 1)
    );
    server.finish();
}

#[test]
fn a_server_that_never_answers_ends_with_the_idle_time() {
    let server = Server::start(vec![Box::new(until_hung_up)]);
    let mut keeper = Keeper::default();
    let mut config = config(&server);
    config.timeouts.idle = Duration::from_millis(50);
    call_with(config, &mut keeper, &|| false).reply.unwrap_err();
    assert_eq!(
        (keeper.errors()[0].0, keeper.responses[0].status),
        (AttemptErrorKind::IdleTimeout, None)
    );
    server.finish();
}

#[test]
fn a_slow_drip_ends_with_the_total_time() {
    let drip: Answer = Box::new(|stream| {
        begin_stream(stream);
        while chunk(stream, b": still here\n\n").is_ok() {
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    let server = Server::start(vec![drip]);
    let mut keeper = Keeper::default();
    let mut config = config(&server);
    config.timeouts = Timeouts {
        idle: Duration::from_secs(60),
        total: Duration::from_millis(150),
        ..Timeouts::default()
    };
    let generated = call_with(config, &mut keeper, &|| false);
    assert_eq!(failed(&generated), "the response was not over in 0.15 s");
    assert_eq!(keeper.errors()[0].0, AttemptErrorKind::TotalTimeout);
    server.finish();
}

#[test]
fn a_response_without_end_is_cut_at_its_bound() {
    let flood: Answer = Box::new(|stream| {
        begin_stream(stream);
        while chunk(stream, &[b'x'; 4_096]).is_ok() {}
    });
    let server = Server::start(vec![flood]);
    let mut keeper = Keeper::default();
    let mut config = config(&server);
    config.response_bytes = 100_000;
    let generated = call_with(config, &mut keeper, &|| false);
    assert_eq!(failed(&generated), "the response is larger than 100000 bytes");
    assert!(keeper.responses[0].body_bytes < 100_000 + 65_536);
    server.finish();
}

/// A flood of text made a record too large to be retained, so that nothing was kept of it and the run ended as if the disk
/// had failed.
#[rstest]
#[case::chat(
    Protocol::ChatCompletions,
    r#"{"model":"org/model","choices":[{"delta":{"content":"#,
    "}}]}"
)]
#[case::reasoning(
    Protocol::ChatCompletions,
    r#"{"model":"org/model","choices":[{"delta":{"content":"x","reasoning":"#,
    "}}]}"
)]
#[case::deltas(Protocol::Responses, r#"{"type":"response.output_text.delta","delta":"#, "}")]
#[case::items(
    Protocol::Responses,
    r#"{"type":"response.output_item.done","item":{"type":"message","content":[{"type":"output_text","text":"#,
    "}]}}"
)]
fn endless_content_is_cut_so_that_its_record_can_be_retained(
    #[case] protocol: Protocol,
    #[case] before: &'static str,
    #[case] after: &'static str,
    #[values("a", "é\\\"\\u0001")] character: &str,
) {
    let piece = format!("data: {before}\"{}\"{after}\n\n", character.repeat(4_096));
    let flood: Answer = Box::new(move |stream| {
        begin_stream(stream);
        while chunk(stream, piece.as_bytes()).is_ok() {}
    });
    let server = Server::start(vec![flood]);
    let mut keeper = Keeper::default();
    let mut config = config(&server);
    config.protocol = protocol;
    let generated = call_with(config, &mut keeper, &|| false);
    assert_eq!(
        failed(&generated),
        "the response has more text or output than is kept of one (1 MiB of text, 2.5 MiB in all)"
    );
    assert_eq!(keeper.errors()[0].0, AttemptErrorKind::TooLarge);
    let record = serde_json::to_string(&keeper.responses[0]).unwrap();
    assert!(
        (1024 * 1024..4 * 1024 * 1024).contains(&record.len()),
        "{}",
        record.len()
    );
    assert!(!keeper.responses[0].text.is_empty());
    server.finish();
}

#[test]
fn a_large_reply_within_the_bound_arrives_whole() {
    let text = "é".repeat(200_000);
    let event = format!(
        r#"data: {{"model":"org/model","choices":[{{"delta":{{"content":"{text}"}},"finish_reason":"stop"}}]}}"#
    );
    let server = Server::start(vec![stream(&[&event, "data: [DONE]"], 16_384)]);
    assert_eq!(call(&server, &mut Keeper::default()).reply, Ok(text));
}

#[test]
fn a_stopped_run_drops_its_request_at_once() {
    let waiting = Arc::new(AtomicBool::new(false));
    let reached = waiting.clone();
    let hang: Answer = Box::new(move |stream| {
        begin_stream(stream);
        reached.store(true, Ordering::SeqCst);
        // Ends only when the client hangs up: were the request kept, this test would hang.
        until_hung_up(stream);
    });
    let server = Server::start(vec![hang]);
    let mut keeper = Keeper::default();
    let mut config = config(&server);
    config.retry_waits = vec![Duration::ZERO; 3];
    let generated = call_with(config, &mut keeper, &|| waiting.load(Ordering::SeqCst));
    assert_eq!(
        generated,
        Generated {
            reply: Err(GenerationFailure::Cancelled),
            model: None,
            tokens: Tokens::UNKNOWN,
            cost: Cost::Unknown,
            attempts: 1,
            uncounted_attempts: 1,
        }
    );
    assert_eq!(
        keeper.errors(),
        [(AttemptErrorKind::Cancelled, "the run was stopped".to_owned())]
    );
    server.finish();
}

#[test]
fn a_stop_ends_the_wait_before_another_try() {
    let server = Server::start(vec![respond(500, &[], "")]);
    let mut config = config(&server);
    config.retry_waits = vec![Duration::from_secs(3_600)];
    let mut keeper = Keeper::default();
    let answered = keeper.answered.clone();
    let generated = call_with(config, &mut keeper, &|| answered.load(Ordering::SeqCst));
    assert_eq!(
        (generated.reply, generated.attempts),
        (Err(GenerationFailure::Cancelled), 1)
    );
    assert_eq!(keeper.errors().len(), 1);
}

#[test]
fn no_connection_costs_nothing() {
    // A port below 1024 that no service here listens on; a free high port could be another test's a moment later.
    let endpoint = Endpoint::parse("http://127.0.0.1:1/v1").unwrap();
    let mut config = OpenAiConfig::new(endpoint, ModelName::new("m").unwrap());
    config.retry_waits = vec![Duration::ZERO];
    let mut keeper = Keeper::default();
    let generated = call_with(config, &mut keeper, &|| false);
    assert!(failed(&generated).starts_with("cannot connect: "), "{generated:?}");
    assert_eq!(
        (generated.cost, generated.attempts, generated.uncounted_attempts),
        (Cost::FREE, 2, 0)
    );
}

#[rstest]
#[case::plain("sk-canary-5f2a")]
#[case::escaped_by_json(r#"sk-"canary\5f2a"#)]
fn the_key_shows_nowhere(#[case] key: &str) {
    let quoted = serde_json::to_string(key).unwrap();
    let inside = serde_json::to_string(&json!({"reply": key}).to_string()).unwrap();
    let escaped = quoted.trim_matches('"');
    let echo = respond(
        401,
        &[],
        &format!(r#"{{"error":{{"message":"bad key {escaped}","code":{quoted}}}}}"#),
    );
    let quote = format!(
        r#"data: {{"id":{quoted},"model":{quoted},"choices":[{{"delta":{{"content":{inside}}},"finish_reason":"stop"}}]}}"#
    );
    let limit = respond(429, &[], &format!(r#"{{"error":{{"message":{quoted}}}}}"#));
    let words = respond(500, &[], &format!("no JSON: {quoted}"));
    let server = Server::start(vec![echo, stream(&[&quote, "data: [DONE]"], 1_000), limit, words]);
    let mut config = config(&server);
    config.key = Some(Secret::new(key));
    let mut client = client(config.clone());
    let mut keeper = Keeper::default();
    let mut seen = vec![format!("{config:?} {client:?}")];
    for _ in 0..4 {
        let generated = client.call(&request(), &mut keeper, &|| false);
        seen.push(format!("{generated:?}"));
    }
    seen.push(serde_json::to_string(&keeper.responses).unwrap());
    seen.extend(keeper.errors().into_iter().map(|(_, words)| words));
    for text in &seen {
        // In whatever form: what stays of either is no more than escapes can be told apart by.
        assert!(!text.replace('\\', "").contains(&key.replace('\\', "")), "{text}");
    }
    assert_eq!(keeper.responses[1].text, r#"{"reply":"[key]"}"#);
    assert!(seen.iter().any(|text| text.contains("bad key [key]")));
    // It was sent, four times.
    let sent = server.finish();
    assert_eq!(sent.iter().filter(|request| request.head.contains(key)).count(), 4);
    assert_eq!(
        sent.iter()
            .filter(|request| request.body.to_string().contains(escaped))
            .count(),
        0
    );
}

#[rstest]
#[case::empty("")]
#[case::blank(" \n")]
#[case::line_end_inside("a\nb")]
#[case::not_ascii("schlüssel")]
#[case::one_letter("e")]
#[case::short("EMPTY-7")]
#[case::backslashes(r"\\\\\\\\\\x")]
fn a_key_that_cannot_be_sent_or_cleared_is_refused(#[case] key: &str) {
    let server = Server::start(Vec::new());
    let mut config = config(&server);
    config.key = Some(Secret::new(key));
    let clock = Arc::new(FixedClock::new(Timestamp(0), 0));
    assert_eq!(OpenAi::new(config, clock).unwrap_err().code(), "key");
}

#[test]
fn an_asynchronous_caller_is_told_and_not_panicked_on() {
    let server = Server::start(vec![chat(1_000)]);
    let mut client = client(config(&server));
    let mut keeper = Keeper::default();
    let outer = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let generated = outer.block_on(async { client.call(&request(), &mut keeper, &|| false) });
    assert!(matches!(generated.reply, Err(GenerationFailure::HostFault(_))));
    assert!(keeper.requests.is_empty());
}

#[test]
fn a_client_of_a_hosted_endpoint_can_be_made() {
    let endpoint = Endpoint::parse("https://api.example.com/v1").unwrap();
    client(OpenAiConfig::new(endpoint, ModelName::new("m").unwrap()));
}

#[test]
fn the_loop_takes_a_recorded_client() {
    let server = Server::start(vec![chat(1_000)]);
    let mut recorded = Recorded::new(client(config(&server)), Keeper::default(), || false);
    assert_eq!(recorded.generate(&request()), said("{\"é😀\"}", tokens()));
    assert_eq!(
        (recorded.client().model(), recorded.attempts().responses.len()),
        ("org/model", 1)
    );
}
