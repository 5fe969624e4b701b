use super::*;
use crate::testing::run::{START, recorded};
use coder_digest::Timestamp;
use coder_trace::RecordedStep;
use rstest::rstest;
use serde_json::{Value, json};

fn all() -> Timeline {
    Timeline::of(1, recorded())
}

#[test]
fn every_step_is_told_once_in_its_order() {
    let told: Vec<(u64, String)> = all()
        .entries
        .iter()
        .map(|entry| {
            let what = match &entry.event {
                Event::Said { text, .. } => format!("said {text}"),
                Event::Admitted(admission) => format!("admitted {admission}"),
                Event::Asked(asked) => format!("asked {:?} {:?}", asked.number, asked.model),
                Event::Command(command) => format!("command {} {:?}", command.script, command.end),
                Event::Read(read) => format!("read {} {:?}", read.path, read.found),
                Event::Other { kind, .. } => kind.clone(),
                Event::Switched(switch) => format!("{switch:?}"),
                Event::Noted { name, message, content } => format!("{name} {message} {content}"),
                Event::Ended(disposition) => format!("{disposition:?}"),
            };
            (entry.step, what)
        })
        .collect();
    let expected = [
        (1, "said fix the <parser>\nplease"),
        (2, r#"admitted {"access":"boundary","controller":{"version":"1"}}"#),
        (3, r#"decision_unavailable no key {"reason":"no_key"}"#),
        (4, r#"asked Some(1) Some("small-1")"#),
        (11, r#"command one Some("exit 0")"#),
        (15, "command two\nthree Some(\"exit 1\")"),
        (18, "command four None"),
        (19, r#"read file Some("9 bytes")"#),
        (
            21,
            r#"Switch { from: "openai small", to: "openai large", refusal: "usage limit", book: Some("recorded") }"#,
        ),
        (22, "command never heard of again None"),
        (
            23,
            r#"Disposition { ending: "model_finished", summary: "the model said it is finished", reply: Some("Fixed <b>it</b>."), fault: Some("the disk is full"), candidate_faults: ["the patch is too large"], more: {"stages": Array [Number(1)]} }"#,
        ),
    ];
    let expected: Vec<(u64, String)> = expected.map(|(step, what)| (step, what.to_owned())).into();
    assert_eq!(told, expected);
}

#[test]
fn what_was_used_is_summed_and_what_nobody_counted_is_said() {
    assert_eq!(
        all().totals,
        Totals {
            calls: 1,
            requests: 2,
            tokens: Tokens {
                input: Some(1200),
                output: Some(34),
                cached: Some(1000),
                ..Tokens::default()
            },
            uncounted: 1,
            commands: 3,
            failed_commands: 1,
            reads: 1,
            switches: 1,
            open: 1,
            first: Some(Timestamp(START)),
            last: Some(Timestamp(START + 22_000)),
        }
    );
}

#[test]
fn a_call_holds_its_requests_and_the_answer() {
    let timeline = all();
    let Event::Asked(asked) = &timeline.entries[3].event else {
        panic!("no call")
    };
    let request = |status, error: Option<&str>| Request {
        kind: "openai_request".into(),
        endpoint: Some("http://127.0.0.1/v1".into()),
        bytes: Some(2048),
        answer: Some(Answer {
            status: Some(status),
            error: error.map(str::to_owned),
        }),
    };
    assert_eq!(asked.requests, [request(429, Some("slow down")), request(200, None)]);
    assert_eq!(
        (asked.cost, asked.milliseconds, asked.uncounted),
        (Some(Cost::Unknown), Some(5000), 1)
    );
    assert_eq!(
        asked.action.as_ref().map(|action| action.reply.as_str()),
        Some("Fixed <b>it</b>.")
    );
}

#[test]
fn a_command_holds_its_output_once() {
    let timeline = all();
    let Event::Command(first) = &timeline.entries[4].event else {
        panic!("no command")
    };
    assert_eq!(first.stdout.lines(), (vec!["one".to_owned()], 0, Vec::new()));
    let Event::Command(second) = &timeline.entries[5].event else {
        panic!("no command")
    };
    let (head, between, tail) = second.stderr.lines();
    assert_eq!((head, between, second.stderr.bytes()), (Vec::new(), 4, 40));
    assert_eq!(tail, ["</pre>red\\u{1b}\\u{1b}[2J\u{fffd}\\u{202e}<script>"]);
    assert_eq!(second.note.as_deref(), Some("the host says so"));
    assert!(second.failed() && !first.failed());
}

/// A page may begin or end anywhere; nothing is lost and nothing is told as certain that is not.
#[rstest]
fn any_part_of_a_trace_has_a_story(#[values(0, 4, 5, 8, 9, 10, 13, 16, 19, 22)] from: usize) {
    let steps: Vec<RecordedStep> = recorded().split_off(from);
    let first = from as u64 + 1;
    let timeline = Timeline::of(first, steps.clone());
    assert!(timeline.entries.iter().all(|entry| entry.step >= first));
    assert!(matches!(timeline.entries.last().unwrap().event, Event::Ended(_)));
    for end in 0..steps.len() {
        let part = Timeline::of(first, steps[..end].iter().cloned());
        assert_eq!(part.totals.first.is_some(), end > 0);
    }
}

#[test]
fn what_is_not_known_is_kept_as_noted() {
    let step = |extensions| RecordedStep {
        at: Timestamp(START),
        step: serde_json::from_value(json!({ "source": "System", "message": "m", "extensions": extensions })).unwrap(),
    };
    let timeline = Timeline::of(
        1,
        [
            step(json!({ "effect": "of another shape" })),
            step(json!({ "microcoder": { "event": { "type": "new", "note": "n" } } })),
            step(json!({ "one": 1, "two": 2 })),
        ],
    );
    let noted: Vec<(&str, &str)> = timeline
        .entries
        .iter()
        .map(|entry| match &entry.event {
            Event::Noted { name, message, .. } => (name.as_str(), message.as_str()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(noted, [("effect", "m"), ("new", "n"), ("one", "m"), ("two", "m")]);
}

#[test]
fn effects_of_an_earlier_turn_do_not_mix_with_this_ones() {
    let step = |extensions| RecordedStep {
        at: Timestamp(START),
        step: serde_json::from_value(json!({ "source": "System", "message": "", "extensions": extensions })).unwrap(),
    };
    let digest = coder_digest::Digest::of(b"");
    let intent = |script| json!({ "sequence": 1, "kind": "command", "arguments": { "script": script }, "arguments_digest": digest });
    let ended = json!({ "sequence": 1, "kind": "command", "result": { "ending": "exited", "exit": 0 } });
    let timeline = Timeline::of(
        1,
        [
            step(json!({ "carried": { "effect": intent("earlier") } })),
            step(json!({ "effect": intent("now") })),
            step(json!({ "carried": { "effect_result": ended } })),
        ],
    );
    let commands: Vec<(bool, Option<&str>)> = timeline
        .entries
        .iter()
        .map(|entry| match &entry.event {
            Event::Command(command) => (entry.carried, command.end.as_deref()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(commands, [(true, Some("exited")), (false, None)]);
    assert_eq!(timeline.totals.open, 1);
}

#[test]
fn output_keeps_both_ends_in_little_room() {
    let mut output = Output::default();
    for number in 0..100_000 {
        output.push(format!("{number}\n").as_bytes());
    }
    let (head, between, tail) = output.lines();
    assert_eq!((head[0].as_str(), tail.last().unwrap().as_str()), ("0", "99999"));
    let kept: usize = head.iter().chain(&tail).map(|line| line.len() + 1).sum();
    assert!(kept < 50 * 1024, "{kept}");
    // Both cuts fall within lines, whose pieces stand without an end.
    assert!((output.bytes() - between).abs_diff(kept as u64) <= 2);
}

#[test]
fn a_refusal_is_told_with_its_end_and_its_evidence() {
    let hold = json!({
        "provider": "codex", "kind": "usage_limit", "observed_at": 1_796_040_000, "resets_at": 1_796_043_600,
        "until": 1_796_043_600, "evidence": { "source": "field", "name": "resets_at" },
    });
    let route = |model: &str| json!({ "provider": "codex", "model": model, "effort": null });
    let told = |refusal: &Value| {
        let switch = json!({ "from": route("a"), "to": route("b"), "refusal": refusal, "capacity_book": "recorded" });
        let step = json!({ "source": "System", "message": "", "extensions": { "route_switch": switch } });
        let recorded = RecordedStep {
            at: Timestamp(0),
            step: serde_json::from_value(step).unwrap(),
        };
        match &Timeline::of(1, vec![recorded]).entries[0].event {
            Event::Switched(switch) => switch.refusal.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        told(&hold),
        "codex: held until 2026-11-30T13:00:00Z (in 60 min), usage limit met 2026-11-30T12:00:00Z; the provider's field `resets_at` \
         says so"
    );
    assert_eq!(told(&Value::Null), "a route of higher preference has capacity again");
}
