use super::*;
use coder_digest::Digest;
use rstest::rstest;
use serde_json::json;

fn outcome(reason: &str) -> Outcome {
    serde_json::from_value(json!({
        "ending": { "reason": reason }, "steps": 1, "uncounted_attempts": 0,
        "tokens": { "input": null, "cached": null, "output": null, "reasoning": null },
        "cost": Cost::FREE, "reply": null, "summary": "",
    }))
    .unwrap()
}

fn ended() -> RunResult {
    let digest = Digest::of(b"manifest");
    RunResult {
        ending: "model_finished".to_owned(),
        reason: None,
        exit_code: Some(0),
        stop_requested: false,
        group_clear: true,
        cleanup: Some("process_namespace_ended".to_owned()),
        elapsed_ms: Some(12),
        trace_digest: Some(Digest::of(b"trace")),
        candidate_snapshot: Some(Digest::of(b"tree")),
        artifact_file: Some(format!("manifest-{}.json", digest.hex())),
        artifact_digest: Some(digest),
        git_restored: Vec::new(),
        appeared: Vec::new(),
        auto_exec: Vec::new(),
        auto_exec_omitted: 0,
        output_incomplete: false,
        cost_status: CostStatus::Priced,
        cost_microusd: Some(0),
        engine_microusd: None,
        jev_microusd: None,
        payer: None,
    }
}

/// The trace of a run that ended like this.
fn effects(result: &RunResult) -> Effects {
    let copy = RunResult {
        trace_digest: None,
        ..result.clone()
    };
    Effects {
        recorded: Some(serde_json::to_value(copy).unwrap()),
        ending: Some("model_finished".to_owned()),
        outcome: Some(outcome("finished")),
        ..Effects::default()
    }
}

#[test]
fn a_result_that_is_the_traces_holds() {
    assert_eq!(result(&effects(&ended()), &ended(), &repository()), Ok(()));
}

/// Each field of the journal's record changed alone: it is the one named.
#[rstest]
#[case("ending", |result: &mut RunResult| result.ending = "stopped".to_owned())]
#[case("exit_code", |result: &mut RunResult| result.exit_code = Some(1))]
#[case("exit_code", |result: &mut RunResult| result.exit_code = None)]
#[case("stop_requested", |result: &mut RunResult| result.stop_requested = true)]
#[case("group_clear", |result: &mut RunResult| result.group_clear = false)]
#[case("cleanup", |result: &mut RunResult| result.cleanup = None)]
#[case("elapsed_ms", |result: &mut RunResult| result.elapsed_ms = Some(13))]
#[case("candidate_snapshot", |result: &mut RunResult| result.candidate_snapshot = None)]
#[case("artifact_file", |result: &mut RunResult| result.artifact_file = Some("manifest-x.json".to_owned()))]
#[case("artifact_digest", |result: &mut RunResult| result.artifact_digest = Some(Digest::of(b"other")))]
#[case("output_incomplete", |result: &mut RunResult| result.output_incomplete = true)]
#[case("cost_status", |result: &mut RunResult| result.cost_status = CostStatus::Unknown)]
#[case("cost_microusd", |result: &mut RunResult| result.cost_microusd = Some(5))]
#[case("engine_microusd", |result: &mut RunResult| result.engine_microusd = Some(0))]
#[case("jev_microusd", |result: &mut RunResult| result.jev_microusd = Some(0))]
#[case("payer", |result: &mut RunResult| result.payer = Some("somebody".to_owned()))]
fn a_field_that_is_not_the_traces_is_named(#[case] field: &str, #[case] change: fn(&mut RunResult)) {
    let mut changed = ended();
    change(&mut changed);
    let said = result(&effects(&ended()), &changed, &repository()).unwrap_err();
    assert!(said.starts_with(&format!("`{field}` is")), "{said}");
}

/// Changed in both places alike, it still has to follow from the effects.
#[rstest]
#[case::exit_code("`exit_code` does not follow", |result: &mut RunResult| result.exit_code = Some(1))]
#[case::ending("`ending` is not the one summed up", |result: &mut RunResult| result.ending = "asked_question".to_owned())]
#[case::file("`artifact_file` is not named", |result: &mut RunResult| result.artifact_file = Some("manifest-x.json".to_owned()))]
#[case::cost("`cost_microusd` is not the sum", |result: &mut RunResult| result.cost_microusd = Some(5))]
#[case::cost_fields("the fields of the cost", |result: &mut RunResult| result.cost_microusd = None)]
fn a_field_that_does_not_follow_is_named(#[case] beginning: &str, #[case] change: fn(&mut RunResult)) {
    let mut changed = ended();
    change(&mut changed);
    let said = result(&effects(&changed), &changed, &repository()).unwrap_err();
    assert!(said.starts_with(beginning), "{said}");
}

#[test]
fn a_fault_of_the_host_is_no_success() {
    let faulted = Effects {
        faulted: true,
        ..effects(&ended())
    };
    assert_eq!(
        result(&faulted, &ended(), &repository()).unwrap_err(),
        "`exit_code` does not follow from how the run ended"
    );
}

/// Trap i: a run is called clear only where every command's processes were proved gone.
#[test]
fn a_clear_group_is_not_claimed_over_a_command_that_left_something() {
    let mut left = effects(&ended());
    left.add_command(json!({ "group_clear": true }));
    assert_eq!(result(&left, &ended(), &repository()), Ok(()));
    left.add_command(json!({ "group_clear": false }));
    let said = result(&left, &ended(), &repository()).unwrap_err();
    assert!(said.starts_with("`group_clear` is claimed"), "{said}");
}

#[test]
fn a_trace_without_the_copy_must_be_incomplete() {
    let mut bare = effects(&ended());
    bare.recorded = None;
    assert_eq!(
        result(&bare, &ended(), &repository()).unwrap_err(),
        "the trace has no copy of it"
    );
    let incomplete = RunResult {
        output_incomplete: true,
        ..ended()
    };
    assert_eq!(result(&bare, &incomplete, &repository()), Ok(()));
}

/// Reports 21 and trap 1: whoever settles a run whose owner was killed may claim nothing that only the owner knew.
#[test]
fn the_result_of_a_vanished_owner_claims_nothing() {
    let closed = RunResult {
        ending: OWNER_PROCESS_ENDED.to_owned(),
        exit_code: None,
        elapsed_ms: None,
        candidate_snapshot: None,
        artifact_file: None,
        artifact_digest: None,
        output_incomplete: true,
        cost_status: CostStatus::Unknown,
        cost_microusd: None,
        ..ended()
    };
    assert_eq!(result(&Effects::default(), &closed, &repository()), Ok(()));
    let claims = RunResult {
        exit_code: Some(0),
        ..closed
    };
    let said = result(&Effects::default(), &claims, &repository()).unwrap_err();
    assert!(said.starts_with("`exit_code` claims"), "{said}");
}

fn repository() -> Identifier {
    Identifier::new(coder_journal::REPOSITORY).unwrap()
}

/// A bounded command has no loop: its exit code is the command's, and none where the host could not go on.
#[rstest]
#[case::as_it_ended(Some(3), false, Some(3), true)]
#[case::claimed(Some(3), false, Some(0), false)]
#[case::a_fault_leaves_none(Some(0), true, None, true)]
#[case::a_fault_and_a_claim(Some(0), true, Some(0), false)]
fn a_bounded_commands_exit_code_is_its_own(
    #[case] exit: Option<i32>,
    #[case] faulted: bool,
    #[case] claimed: Option<i32>,
    #[case] holds: bool,
) {
    let claim = RunResult {
        exit_code: claimed,
        cost_status: CostStatus::Priced,
        cost_microusd: Some(0),
        ..ended()
    };
    let record = coder_trace::ResultRecord {
        sequence: 1,
        kind: coder_trace::EffectKind::Command,
        result: json!({ "ending": "exited", "exit": exit, "group_clear": true }),
    };
    let effects = Effects {
        recorded: Some(serde_json::to_value(&claim).unwrap()),
        ending: Some(claim.ending.clone()),
        faulted,
        results: vec![record],
        ..Effects::default()
    };
    let bounded = Identifier::new(BOUNDED_COMMAND).unwrap();
    assert_eq!(result(&effects, &claim, &bounded).is_ok(), holds);
}
