use super::*;
use rstest::rstest;
use serde_json::json;

fn intent(sequence: u64, kind: EffectKind) -> EffectRecord {
    let arguments = json!({ "script": format!("step {sequence}") });
    EffectRecord {
        sequence,
        kind,
        arguments_digest: json::digest(&arguments),
        arguments,
    }
}

fn result(sequence: u64, kind: EffectKind) -> ResultRecord {
    ResultRecord {
        sequence,
        kind,
        result: Value::Null,
    }
}

fn paired(intents: &[u64], results: &[u64], complete: bool) -> Result<(), String> {
    let effects = Effects {
        intents: intents
            .iter()
            .map(|sequence| intent(*sequence, EffectKind::Command))
            .collect(),
        results: results
            .iter()
            .map(|sequence| result(*sequence, EffectKind::Command))
            .collect(),
        ..Effects::default()
    };
    effects.paired(complete)
}

#[rstest]
#[case::none(&[], &[], true)]
#[case::in_order(&[1, 2, 3], &[1, 2, 3], true)]
#[case::nested(&[1, 2, 3], &[2, 3, 1], true)]
#[case::killed(&[1, 2, 3], &[2], false)]
fn effects_that_hold_together(#[case] intents: &[u64], #[case] results: &[u64], #[case] complete: bool) {
    assert_eq!(paired(intents, results, complete), Ok(()));
}

#[rstest]
#[case::gap(&[1, 3], &[1], false, "effect 3 stands where effect 2 belongs")]
#[case::repeat(&[1, 1], &[1], false, "effect 1 stands where effect 2 belongs")]
#[case::not_from_one(&[2], &[2], false, "effect 2 stands where effect 1 belongs")]
#[case::two_results(&[1, 2], &[1, 1, 2], false, "effect 1 has two results")]
#[case::no_intent(&[1], &[1, 2], false, "the result of effect 2 answers no intent of its kind")]
#[case::unanswered(&[1, 2], &[1], true, "effect 2 has no result")]
fn effects_that_do_not(#[case] intents: &[u64], #[case] results: &[u64], #[case] complete: bool, #[case] said: &str) {
    assert_eq!(paired(intents, results, complete), Err(said.to_owned()));
}

#[test]
fn a_result_of_another_kind_and_altered_arguments() {
    let mut effects = Effects {
        intents: vec![intent(1, EffectKind::Command)],
        results: vec![result(1, EffectKind::Read)],
        ..Effects::default()
    };
    let said = effects.paired(true).unwrap_err();
    assert_eq!(said, "the result of effect 1 answers no intent of its kind");
    effects.results.clear();
    effects.intents[0].arguments = json!({ "script": "other" });
    let said = effects.paired(false).unwrap_err();
    assert_eq!(said, "the arguments of effect 1 are not those digested");
}
