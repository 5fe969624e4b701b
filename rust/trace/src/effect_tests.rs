use super::*;
use crate::testing::{log, step};
use crate::{PageSize, Reader};
use rstest::rstest;
use serde_json::json;

#[rstest]
#[case(EffectKind::Generation, "generation")]
#[case(EffectKind::Decision, "decision")]
#[case(EffectKind::CodexRequest, "codex_request")]
#[case(EffectKind::ClaudeRequest, "claude_request")]
#[case(EffectKind::AnthropicRequest, "anthropic_request")]
#[case(EffectKind::OpenaiRequest, "openai_request")]
#[case(EffectKind::ScriptedRequest, "scripted_request")]
#[case(EffectKind::Read, "read")]
#[case(EffectKind::Command, "command")]
#[case(EffectKind::ContainerCommand, "container_command")]
#[case(EffectKind::AgentSession(Identifier::new("devin").unwrap()), "devin_session")]
#[case(EffectKind::AgentPrompt(Identifier::new("open_code").unwrap()), "open_code_prompt")]
fn every_kind_has_its_word(#[case] kind: EffectKind, #[case] word: &str) {
    assert_eq!(serde_json::to_value(&kind).unwrap(), json!(word));
    assert_eq!(serde_json::from_value::<EffectKind>(json!(word)).unwrap(), kind);
}

#[rstest]
#[case("")]
#[case("_session")]
#[case("-x_prompt")]
#[case("Command")]
fn other_words_are_no_kind(#[case] word: &str) {
    assert_eq!(word.parse::<EffectKind>(), Err(EffectKindError));
}

#[test]
fn an_effect_from_intent_to_result() {
    let mut log = log();
    let arguments = json!({"script": "make"});
    let intent = log
        .writer
        .intend(step("run"), EffectKind::Command, arguments.clone())
        .unwrap();
    assert_eq!((intent.sequence(), intent.appended().line), (1, 2));
    // The intent is on disk before the act it announces.
    let announced = Reader::open(&log.path).unwrap().page(1, PageSize::default()).unwrap();
    assert_eq!(
        EffectRecord::of(&announced[0].step),
        Some(EffectRecord {
            sequence: 1,
            kind: EffectKind::Command,
            arguments_digest: json::digest(&arguments),
            arguments,
        })
    );
    log.writer.conclude(step("ran"), intent, &json!({"exit": 0})).unwrap();
    let second = log.writer.intend(step("read"), EffectKind::Read, json!({})).unwrap();
    assert_eq!(second.sequence(), 2);
    let steps = Reader::open(&log.path).unwrap().page(1, PageSize::default()).unwrap();
    assert_eq!(
        ResultRecord::of(&steps[1].step),
        Some(ResultRecord {
            sequence: 1,
            kind: EffectKind::Command,
            result: json!({"exit": 0}),
        })
    );
    assert_eq!(
        serde_json::to_value(&steps[2].step.extensions).unwrap(),
        json!({"effect": {
            "sequence": 2,
            "kind": "read",
            "arguments": {},
            "arguments_digest": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        }})
    );
}

#[test]
fn an_intent_that_was_not_retained_holds_every_other_one_back() {
    let mut log = log();
    let large = json!({"script": "x".repeat(9 << 20)});
    let refused = log
        .writer
        .intend(step(""), EffectKind::Command, large.clone())
        .unwrap_err();
    assert_eq!(refused.code(), "step_too_large");
    let other = log.writer.intend(step(""), EffectKind::Read, json!({})).unwrap_err();
    assert_eq!(
        other.to_string(),
        "effect 1 is not retained; no other effect is admitted until it is"
    );
    // The same intent may be tried again, and fails for its own reason.
    let again = log.writer.intend(step(""), EffectKind::Command, large).unwrap_err();
    assert_eq!(again.code(), "step_too_large");
    // Other observations and the disposition are still taken.
    log.writer.append(&step("note")).unwrap();
    log.writer.append_final(&step("host fault")).unwrap();
}

#[test]
fn a_result_that_was_not_retained_holds_every_intent_back_until_it_is() {
    let mut log = log();
    let first = log.writer.intend(step(""), EffectKind::Command, json!(1)).unwrap();
    let second = log.writer.intend(step(""), EffectKind::Decision, json!(2)).unwrap();
    let failed = log
        .writer
        .conclude(step(""), first, &json!("x".repeat(9 << 20)))
        .unwrap_err();
    assert_eq!((failed.intent.sequence(), failed.error.code()), (1, "step_too_large"));
    let held = log.writer.intend(step(""), EffectKind::Read, json!({})).unwrap_err();
    assert_eq!(held.code(), "effect_unretained");
    // The result of an effect already under way is evidence and is taken.
    log.writer.conclude(step(""), second, &json!(true)).unwrap();
    assert_eq!(
        log.writer
            .intend(step(""), EffectKind::Read, json!({}))
            .unwrap_err()
            .code(),
        "effect_unretained"
    );
    log.writer
        .conclude(step(""), failed.intent, &json!({"omitted": 9 << 20}))
        .unwrap();
    assert_eq!(
        log.writer
            .intend(step(""), EffectKind::Read, json!({}))
            .unwrap()
            .sequence(),
        3
    );
}

#[test]
fn an_intent_belongs_to_its_log() {
    let (mut one, mut other) = (log(), log());
    let session = crate::Session {
        version: "other".into(),
        ..crate::testing::session()
    };
    let path = other.folder.path().join("other");
    other.writer = Writer::create(&path, &session, crate::testing::clock()).unwrap();
    let intent = one.writer.intend(step(""), EffectKind::Read, json!({})).unwrap();
    let refused = other.writer.conclude(step(""), intent, &json!({})).unwrap_err();
    assert_eq!(refused.error.code(), "foreign_intent");
    one.writer.conclude(step(""), refused.intent, &json!({})).unwrap();
}

#[test]
fn a_carried_step_keeps_its_effects_apart_from_this_logs_own() {
    let mut earlier = log();
    let intent = earlier.writer.intend(step("a"), EffectKind::Read, json!({})).unwrap();
    earlier.writer.conclude(step("b"), intent, &json!("read")).unwrap();
    let steps = Reader::open(&earlier.path)
        .unwrap()
        .page(1, PageSize::default())
        .unwrap();

    let mut log = log();
    for carried in &steps {
        log.writer.append_carried(carried).unwrap();
    }
    let intent = log.writer.intend(step("c"), EffectKind::Command, json!({})).unwrap();
    assert_eq!(intent.sequence(), 1);
    let mut reader = Reader::open(&log.path).unwrap();
    assert_eq!(reader.index().unfinished_effects(), [1]);
    let again = reader.page(1, PageSize::default()).unwrap();
    for (carried, original) in again.iter().zip(&steps) {
        assert_eq!(carried.at, original.at);
        assert_eq!(
            json!(carried.step.extensions),
            json!({"carried": original.step.extensions})
        );
    }
    // Carried once more it stays as it is.
    log.writer
        .append_carried(&crate::RecordedStep {
            at: log.writer.now(),
            ..again[0].clone()
        })
        .unwrap();
    log.writer.conclude(step("d"), intent, &json!({})).unwrap();
    reader.refresh().unwrap();
    assert_eq!(reader.index().unfinished_effects(), Vec::<u64>::new());
    let last = reader.page(4, PageSize::new(1).unwrap()).unwrap();
    assert_eq!(last[0].step, again[0].step);
}
