//! The decision client against a local server: what is sent, what is believed, and that nothing is sent twice.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[expect(dead_code, reason = "this client reads no stream")]
mod server;

use coder_agent::{Cost, JudgeState};
use coder_digest::ModelName;
use coder_models::{Answers, Decision, DecisionFailure, Endpoint, Jev, JevConfig, Secret};
use rstest::rstest;
use serde_json::{Value, json};
use server::{Answer, Server, respond, until_hung_up};
use std::time::Duration;

const KEY: &str = "canary-key-1a2b3c";
const MODEL: &str = "jev-1.13.0";

fn state() -> JudgeState {
    JudgeState {
        step: 2,
        task: "Fix it.".to_owned(),
        environment: "Linux".to_owned(),
        actions: "# Step 1".to_owned(),
        in_view: vec!["a".to_owned()],
        acceptance: "not used".to_owned(),
    }
}

fn decide(answer: Answer) -> (Decision, Vec<server::Request>) {
    let server = Server::start(vec![answer]);
    let jev = Jev::new(JevConfig {
        endpoint: Endpoint::parse(&server.endpoint()).unwrap(),
        model: ModelName::new(MODEL).unwrap(),
        key: Secret::new(KEY),
        timeout: Duration::from_millis(500),
    })
    .unwrap();
    assert!(!format!("{jev:?}").contains("canary"));
    let decision = jev.decide(jev.body(&state()), &|| false);
    drop(jev);
    assert!(!format!("{decision:?}").contains("canary"));
    (decision, server.finish())
}

fn answer(model: &str) -> Value {
    json!({
        "model": model, "usage": {"input_tokens": 1000, "output_tokens": 7},
        "answers": {
            "done": {"type": "noul", "noul": 0.25}, "progress": {"type": "noul", "noul": 1.0},
            "complete": {"type": "score", "score": 3, "confidence": 0.5},
        },
    })
}

#[test]
fn the_question_set_is_asked_once_and_its_answers_are_read() {
    let body = answer(MODEL).to_string();
    let (decision, requests) = decide(respond(200, &[("x-request-id", "q-1")], &body));
    let expected = Decision {
        status: Some(200),
        model: Some(MODEL.to_owned()),
        request_id: Some("q-1".to_owned()),
        body: body.into_bytes(),
        input_tokens: Some(1000),
        output_tokens: Some(7),
        cost: Cost::Known(42),
        answers: Ok(Answers {
            done: Some(0.25),
            progress: Some(1.0),
            repeating: None,
            complete: Some(3),
        }),
    };
    assert_eq!(decision, expected);
    let sent = &requests[0];
    assert!(
        sent.head.starts_with("POST /v1/v1/systemone HTTP/1.1\r\n"),
        "{}",
        sent.head
    );
    assert!(
        sent.head
            .to_ascii_lowercase()
            .contains(&format!("authorization: bearer {KEY}"))
    );
    assert_eq!(
        (&sent.body["model"], &sent.body["state"]["task"]),
        (&json!(MODEL), &json!("Fix it."))
    );
    let kinds: Vec<(&String, &Value)> = sent.body["questions"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(id, asked)| (id, &asked["type"]))
        .collect();
    let (yes, level) = (json!("noul"), json!("score"));
    assert_eq!(
        format!("{kinds:?}"),
        format!(
            "{:?}",
            [
                ("complete", &level),
                ("done", &yes),
                ("progress", &yes),
                ("repeating", &yes)
            ]
        )
    );
}

/// Trap 10: an alias that answers under another name is refused, and what it cost is known all the same.
#[test]
fn trap_10_another_model_is_no_answer() {
    let (decision, _) = decide(respond(200, &[], &answer("jev-1.14.0").to_string()));
    let Err(DecisionFailure::WrongModel(words)) = &decision.answers else {
        panic!("{decision:?}")
    };
    assert!(
        words.contains("`jev-1.14.0`") && words.contains("`jev-1.13.0`"),
        "{words}"
    );
    assert_eq!(decision.cost, Cost::Known(42));
    assert!(!decision.body.is_empty());
}

#[rstest]
#[case::error(respond(500, &[], "boom canary-key-1a2b3c"), "the server answered with HTTP status 500")]
#[case::limit(respond(429, &[("retry-after", "1")], "{}"), "the server answered with HTTP status 429")]
#[case::no_json(respond(200, &[], "<html>"), "the answer is not strict JSON")]
#[case::out_of_range(
    respond(200, &[], &json!({"model": MODEL, "answers": {"done": {"noul": 1.5}}}).to_string()),
    "a probability of the answer is not between 0 and 1")]
#[case::no_level(
    respond(200, &[], &json!({"model": MODEL, "answers": {"complete": {"score": 5}}}).to_string()),
    "a score of the answer is none of its levels")]
#[case::huge(respond(200, &[], &"x".repeat(300_000)), "the answer is larger than 262144 bytes")]
#[case::stall(Box::new(until_hung_up), "no answer in 0.5 s")]
fn a_failed_one_is_not_tried_again_and_costs_an_unknown_amount(#[case] answer: Answer, #[case] words: &str) {
    let (decision, requests) = decide(answer);
    assert_eq!(decision.answers, Err(DecisionFailure::Failed(words.to_owned())));
    assert_eq!((decision.cost, requests.len()), (Cost::Unknown, 1));
}

#[test]
fn a_stopped_run_drops_its_question() {
    let server = Server::start(vec![]);
    let jev = Jev::new(JevConfig {
        endpoint: Endpoint::parse(&server.endpoint()).unwrap(),
        model: ModelName::new(MODEL).unwrap(),
        key: Secret::new(KEY),
        timeout: Duration::from_secs(10),
    })
    .unwrap();
    let decision = jev.decide(jev.body(&state()), &|| true);
    assert_eq!(
        decision.answers,
        Err(DecisionFailure::Failed("the run was stopped".to_owned()))
    );
}
