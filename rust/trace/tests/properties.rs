//! What holds of every log: any cut and any flipped bit shows, and leaves what came before readable.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use coder_digest::Timestamp;
use coder_trace::{
    Call, EvidenceState, Expectation, Fault, FaultKind, PageSize, Reader, RecordedStep, Source, Step, Tokens, Writer,
    evidence_state,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::path::Path;

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(".{0,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_call() -> impl Strategy<Value = Call> {
    (
        ".{0,6}",
        "[a-z]{1,6}",
        any_json(),
        ".{0,30}",
        any::<u32>(),
        proptest::option::of(".{0,9}"),
    )
        .prop_map(|(id, name, arguments, output, milliseconds, purpose)| Call {
            id,
            name,
            arguments,
            output,
            outcome: "ok".into(),
            milliseconds: u64::from(milliseconds),
            purpose,
            extra: Map::new(),
        })
}

fn any_tokens() -> impl Strategy<Value = Tokens> {
    let count = || proptest::option::of(0..1_000_000_u64);
    (count(), count(), count()).prop_map(|(input, output, cost_microusd)| Tokens {
        input,
        output,
        cost_microusd,
        ..Tokens::default()
    })
}

fn any_step() -> impl Strategy<Value = Step> {
    let source = prop_oneof![Just(Source::System), Just(Source::User), Just(Source::Agent)];
    let optional = (
        proptest::option::of(".{0,9}"),
        proptest::option::of("[a-z]{1,9}"),
        proptest::option::of(any_call()),
        proptest::option::of(any_tokens()),
        proptest::option::of(0..99_999_u64),
        proptest::collection::btree_map("x_[a-z]{0,5}", any_json(), 0..3),
    );
    (source, ".{0,40}", optional).prop_map(
        |(source, message, (reasoning, model, call, tokens, milliseconds, extensions))| Step {
            source,
            message,
            reasoning,
            model,
            call,
            tokens,
            milliseconds,
            extensions: extensions.into_iter().collect(),
        },
    )
}

/// Writes and seals the steps; answers the log's bytes.
fn write(path: &Path, steps: &[Step]) -> Vec<u8> {
    let mut writer = Writer::create(path, &common::session(), common::clock()).unwrap();
    for step in steps {
        writer.append(step).unwrap();
    }
    writer.seal().unwrap();
    std::fs::read(path).unwrap()
}

fn messages(reader: &Reader) -> Vec<Step> {
    let page = reader.page(1, PageSize::default()).unwrap();
    page.into_iter().map(|recorded| recorded.step).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_log_reads_back_as_it_was_written_and_exports_clean(steps in proptest::collection::vec(any_step(), 1..8)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        write(&path, &steps);
        let reader = Reader::open(&path).unwrap();
        prop_assert_eq!(reader.index().faults(), vec![]);
        prop_assert_eq!(messages(&reader), steps);
        let document = coder_trace::atif_document(&reader).unwrap();
        prop_assert_eq!(coder_trace::check::strict(document.to_string().as_bytes()), vec![]);
    }

    // Report 21 in general: wherever a crash cuts the log, all before it is usable and the cut is named once.
    #[test]
    fn a_cut_at_any_byte_leaves_the_whole_lines(
        steps in proptest::collection::vec(any_step(), 0..6),
        place in any::<prop::sample::Index>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let bytes = write(&path, &steps);
        let cut = place.index(bytes.len());
        std::fs::write(&path, &bytes[..cut]).unwrap();
        let whole = bytes[..cut].iter().filter(|byte| **byte == b'\n').count();
        let at_a_boundary = cut == 0 || bytes[cut - 1] == b'\n';

        let reader = Reader::open(&path).unwrap();
        let torn = Fault { line: whole as u64 + 1, kind: FaultKind::Torn };
        prop_assert_eq!(reader.index().faults(), if at_a_boundary { vec![] } else { vec![torn] });
        prop_assert_eq!(messages(&reader), &steps[..whole.saturating_sub(1)]);
        let state = match (whole, at_a_boundary) {
            (0, _) => EvidenceState::Malformed,
            (_, true) => EvidenceState::Unsealed,
            (_, false) => EvidenceState::Damaged,
        };
        prop_assert_eq!(evidence_state(&reader, Expectation::default()), state);

        // The owner's repair brings it to the boundary.
        coder_trace::repair(&path).unwrap();
        let repaired = Reader::open(&path).unwrap();
        prop_assert_eq!(repaired.index().faults(), vec![]);
        prop_assert_eq!(messages(&repaired), &steps[..whole.saturating_sub(1)]);
    }

    #[test]
    fn a_flipped_bit_always_shows(
        steps in proptest::collection::vec(any_step(), 0..6),
        place in any::<prop::sample::Index>(),
        bit in 0..8_u32,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut bytes = write(&path, &steps);
        let digest = coder_digest::Digest::of(&bytes);
        let place = place.index(bytes.len());
        bytes[place] ^= 1 << bit;
        std::fs::write(&path, &bytes).unwrap();
        let reader = Reader::open(&path).unwrap();
        // No line follows the last one to vouch for it: that is what the seal's digest is for.
        let in_the_last_line = !bytes[place..bytes.len() - 1].contains(&b'\n') && bytes[place] != b'\n';
        prop_assert!(in_the_last_line || reader.index().fault_count() > 0, "byte {place}");
        let expectation = Expectation { digest: Some(digest), ..Expectation::default() };
        prop_assert!(matches!(
            evidence_state(&reader, expectation),
            EvidenceState::DigestMismatch | EvidenceState::Malformed
        ));
    }
}

#[test]
fn carried_steps_keep_their_times() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut writer = Writer::create(&path, &common::session(), common::clock()).unwrap();
    let carried = RecordedStep {
        at: Timestamp(1_700_000_000_000),
        step: Step::new(Source::User, "earlier"),
    };
    writer.append_carried(&carried).unwrap();
    writer.append(&Step::new(Source::User, "now")).unwrap();
    let document = coder_trace::atif_document(&Reader::open(&path).unwrap()).unwrap();
    let times: Vec<_> = document["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["timestamp"].clone())
        .collect();
    assert_eq!(
        times,
        [json!("2023-11-14T22:13:20.000Z"), json!("2026-11-30T12:00:01.000Z")]
    );
}
