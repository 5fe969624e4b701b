use super::*;
use crate::admission::Admission;
use crate::command::Command;
use crate::fixtures::{self, admission, admission_of, checked, effect, ended, grant, report, result};
use crate::task::apply_command;
use rstest::rstest;
use serde_json::json;

fn submitted() -> Task {
    let command = Command::parse(&fixtures::submit("c", "t", "/trees/t")).unwrap();
    apply_command(Rules::CURRENT, None, &command).unwrap()
}

fn after(task: &Task, event: &Event) -> Result<Task, Error> {
    apply_event(Rules::CURRENT, task, epoch_of(task, event), event)
}

fn rule(result: Result<Task, Error>) -> &'static str {
    match result {
        Err(Error::InvalidTransition { rule, .. }) => rule,
        other => panic!("not refused by a rule: {other:?}"),
    }
}

fn admit(admission: Admission) -> Event {
    Event::Admitted {
        admission: Box::new(admission),
    }
}

fn running() -> Task {
    let task = submitted();
    after(&task, &admit(admission(&task))).unwrap()
}

fn started() -> Task {
    let task = running();
    after(&task, &effect(&task)).unwrap()
}

fn finished() -> Task {
    after(&started(), &ended(result())).unwrap()
}

fn command(task: &Task, bytes: &[u8]) -> Task {
    apply_command(Rules::CURRENT, Some(task), &Command::parse(bytes).unwrap()).unwrap()
}

#[test]
fn a_run_from_admission_to_verdict() {
    let task = finished();
    assert_eq!(
        (task.revision, task.status, task.execution),
        (4, Status::Finished, Execution::Finished)
    );
    let task = after(&task, &Event::CheckIntent {}).unwrap();
    assert!(task.reserves_tree());
    let task = after(&task, &checked(report(&task))).unwrap();
    assert_eq!((task.revision, task.checks), (6, Checks::Passed));
    assert!(!task.reserves_tree());
    let written = serde_json::to_string(&task).unwrap();
    assert_eq!(serde_json::from_str::<Task>(&written).unwrap(), task);
}

#[rstest]
#[case::grant_text(|a: &mut Admission| a.grant_request.push(' '), "the grant is not that of its text and digest")]
#[case::grant_value(|a: &mut Admission| a.grant["memory_bytes"] = json!(1), "the grant is not that of its text and digest")]
#[case::grant_digest(|a: &mut Admission| a.grant_digest = Digest::of(b""), "the grant is not that of its text and digest")]
#[case::workspace(|a: &mut Admission| a.workspace = "/trees".into(), "the workspace is not the one requested")]
#[case::adapter(|a: &mut Admission| a.adapter = "bounded-command".parse().unwrap(), "the adapter is not the one requested")]
#[case::revision_id(|a: &mut Admission| a.source_revision = Some("main".into()), "the source revision is not a full commit id")]
#[case::network(
    |a: &mut Admission| a.network = "host_network".into(),
    "the network and read scope are not those of the grant's configuration"
)]
#[case::read_scope(
    |a: &mut Admission| a.read_scope = "host_user".into(),
    "the network and read scope are not those of the grant's configuration"
)]
#[case::authority(|a: &mut Admission| a.authority = "root".into(), "the authority is not the local user's")]
#[case::trace(|a: &mut Admission| a.trace_file = "t.2.atif.jsonl".into(), "the trace file is not that of this turn")]
#[case::context_prompt(|a: &mut Admission| a.context["prompt"] = json!("x"), "the context is for another revision or prompt")]
#[case::context_revision(
    |a: &mut Admission| a.context["task_revision"] = json!(9),
    "the context is for another revision or prompt"
)]
fn an_admission_of_something_else_is_refused(#[case] change: fn(&mut Admission), #[case] expected: &str) {
    let task = submitted();
    let mut admission = admission(&task);
    change(&mut admission);
    assert_eq!(rule(after(&task, &admit(admission))), expected);
}

#[rstest]
#[case::task("task_id", json!("other"), "the grant is for another task")]
#[case::intent("intent_digest", json!("sha256:00"), "the grant is for another intent")]
#[case::revision("expected_revision", json!(2), "the grant is for another revision of the task")]
#[case::pin("expected_source_snapshot", json!("0".repeat(64)), "the grant pins another source snapshot")]
#[case::garbled_pin("expected_source_snapshot", json!("x"), "the grant pins another source snapshot")]
#[case::model(
    "adapter_configuration",
    json!({"model": "other"}),
    "the requested model is not one of the grant's models"
)]
#[case::bounded_with_model(
    "adapter_configuration",
    json!(null),
    "the requested model is not one of the grant's models"
)]
#[case::full(
    "adapter_configuration",
    json!({"model": "gpt-6-luna", "access": "full"}),
    "the network and read scope are not those of the grant's configuration"
)]
#[case::contained_full(
    "adapter_configuration",
    json!({"model": "gpt-6-luna", "access": "full", "container": {"image": "i"}}),
    "the network and read scope are not those of the grant's configuration"
)]
fn a_grant_for_something_else_is_refused(#[case] field: &str, #[case] value: Value, #[case] expected: &str) {
    let task = submitted();
    let mut grant = grant(&task);
    grant[field] = value;
    assert_eq!(rule(after(&task, &admit(admission_of(&task, grant)))), expected);
}

// Trap j: a pin may be written with or without its prefix, and both name the same snapshot.
#[rstest]
#[case::bare(Digest::of(b"tree").hex())]
#[case::prefixed(Digest::of(b"tree").to_string())]
fn a_pin_matches_in_either_form(#[case] pin: String) {
    let task = submitted();
    let mut grant = grant(&task);
    grant["expected_source_snapshot"] = json!(pin);
    grant["intent_digest"] = json!(task.intent_digest.hex());
    after(&task, &admit(admission_of(&task, grant))).unwrap();
}

#[rstest]
#[case(json!({"model": "gpt-6-luna", "access": "boundary"}), "network_namespace_isolated", "workspace_and_system")]
#[case(json!({"model": "gpt-6-luna"}), "external_ip_denied_localhost_allowed", "workspace_and_system")]
#[case(json!({"model": "gpt-6-luna", "access": "toolchains"}), "host_network", "workspace_system_and_toolchains")]
#[case(json!({"model": "gpt-6-luna", "access": "full"}), "host_network", "host_user")]
#[case(json!({"model": "gpt-6-luna", "network": {"allow": ["a.test:1"]}}), "network_allow_list", "workspace_and_system")]
#[case(json!({"model": "gpt-6-luna", "network": "host"}), "host_network", "workspace_and_system")]
#[case(
    json!({"model": "gpt-6-luna", "access": "toolchains", "network": "none"}),
    "network_namespace_isolated",
    "workspace_system_and_toolchains"
)]
#[case(
    json!({"model": "x", "fallbacks": [{"model": "gpt-6-luna"}], "container": {"image": "i"}}),
    "container_network_none",
    "workspace_host_reads_and_pinned_container_image"
)]
fn the_labels_of_each_configuration(#[case] configuration: Value, #[case] network: &str, #[case] read_scope: &str) {
    let task = submitted();
    let mut grant = grant(&task);
    grant["adapter_configuration"] = configuration;
    let mut admission = admission_of(&task, grant);
    admission.network = network.into();
    admission.read_scope = read_scope.into();
    after(&task, &admit(admission)).unwrap();
}

#[test]
fn a_bounded_command_takes_no_model() {
    let mut task = submitted();
    task.intent.configuration.adapter = "bounded-command".parse().unwrap();
    task.intent.configuration.model = None;
    task.intent_digest = task.intent.digest();
    let mut grant = grant(&task);
    grant["adapter_configuration"] = Value::Null;
    let task = after(&task, &admit(admission_of(&task, grant))).unwrap();
    let task = after(&task, &effect(&task)).unwrap();
    let task = after(&task, &Event::Spawned { process_id: 42 }).unwrap();
    assert_eq!(task.run.unwrap().process_id, Some(42));
}

#[test]
fn each_step_is_taken_once_and_in_order() {
    let queued = submitted();
    assert_eq!(rule(after(&queued, &effect(&queued))), "nothing was admitted");
    assert_eq!(rule(after(&queued, &Event::OwnerLost {})), "nothing was admitted");
    let running = running();
    assert_eq!(
        rule(after(&running, &admit(admission(&running)))),
        "the turn was admitted before"
    );
    let spawn = Event::Spawned { process_id: 42 };
    assert_eq!(
        rule(after(&running, &spawn)),
        "a process starts only after its effect was announced"
    );
    let other = Event::EffectIntent {
        effect_id: "t:2:command".into(),
    };
    assert_eq!(
        rule(after(&running, &other)),
        "the effect id is not `<task>:<turn>:command`"
    );
    let started = started();
    assert_eq!(
        rule(after(&started, &effect(&started))),
        "the turn's effect was announced before"
    );
    assert_eq!(
        rule(after(&started, &Event::Spawned { process_id: 0 })),
        "a process id is not zero"
    );
    let spawned = after(&started, &spawn).unwrap();
    assert_eq!(rule(after(&spawned, &spawn)), "the turn's process was recorded before");
    assert_eq!(
        rule(after(&spawned, &Event::CheckIntent {})),
        "only a finished run is checked"
    );
    assert_eq!(
        rule(after(&spawned, &Event::CheckOwnerLost {})),
        "no checks are under way"
    );
    assert_eq!(
        rule(after(&spawned, &checked(report(&spawned)))),
        "no checks are under way"
    );
    let finished = finished();
    assert_eq!(rule(after(&finished, &ended(result()))), "the turn has a result");
    assert_eq!(rule(after(&finished, &Event::OwnerLost {})), "no run is under way");
    assert_eq!(rule(after(&finished, &spawn)), "no run is under way");
}

#[test]
fn no_effect_begins_once_a_stop_was_asked() {
    let task = running();
    let task = command(&task, &fixtures::cancel("x", &task.task_id, task.revision));
    assert_eq!(
        rule(after(&task, &effect(&task))),
        "an effect begins only while the task runs and no stop was asked"
    );
    let task = after(&task, &ended(result())).unwrap();
    assert_eq!((task.status, task.execution), (Status::Finished, Execution::Stopped));
}

#[rstest]
#[case::clear(|_: &mut RunResult| (), Status::Finished, Execution::Finished)]
#[case::code(|r: &mut RunResult| r.exit_code = Some(1), Status::Finished, Execution::Failed)]
#[case::no_code(|r: &mut RunResult| r.exit_code = None, Status::Finished, Execution::Failed)]
#[case::stopped(|r: &mut RunResult| r.stop_requested = true, Status::Finished, Execution::Stopped)]
#[case::not_clear(|r: &mut RunResult| r.group_clear = false, Status::Unknown, Execution::Unknown)]
fn what_a_result_makes(#[case] change: fn(&mut RunResult), #[case] status: Status, #[case] execution: Execution) {
    let mut result = result();
    change(&mut result);
    let task = after(&started(), &ended(result)).unwrap();
    assert_eq!((task.status, task.execution), (status, execution));
    assert_eq!(task.reserves_tree(), status == Status::Unknown);
}

#[rstest]
#[case::ending(|r: &mut RunResult| r.ending = "Not a word".into(), "an ending is a snake_case word of at most 64 bytes")]
#[case::cost(|r: &mut RunResult| r.cost_microusd = Some(1), "the cost fields contradict each other")]
#[case::cleanup(
    |r: &mut RunResult| { r.group_clear = false; r.cleanup = Some("cgroup".into()); },
    "a proof of cleanup without a clear group"
)]
fn a_result_that_contradicts_itself_is_refused(#[case] change: fn(&mut RunResult), #[case] expected: &str) {
    let mut result = result();
    change(&mut result);
    assert_eq!(rule(after(&started(), &ended(result))), expected);
}

#[test]
fn a_lost_owner_leaves_the_run_unknown_and_only_settling_ends_it() {
    let task = after(&started(), &Event::OwnerLost {}).unwrap();
    let run = task.run.as_ref().unwrap();
    assert_eq!(
        (task.status, task.execution, run.epoch, run.reason.as_deref()),
        (Status::Unknown, Execution::Unknown, 2, Some(OWNER_LOST))
    );
    assert_eq!(rule(after(&task, &Event::OwnerLost {})), "no run is under way");
    assert_eq!(rule(after(&task, &ended(result()))), "no run is under way");
    let mut settled = result();
    settled.ending = OWNER_PROCESS_ENDED.into();
    settled.exit_code = None;
    let stale = apply_event(Rules::CURRENT, &task, 1, &ended(settled.clone()));
    assert_eq!(rule(stale), "the owner's epoch is over");
    let task = after(&task, &ended(settled)).unwrap();
    assert_eq!((task.status, task.execution), (Status::Finished, Execution::Failed));
}

#[test]
fn lost_checks_are_unavailable() {
    let task = after(&finished(), &Event::CheckIntent {}).unwrap();
    let task = after(&task, &Event::CheckOwnerLost {}).unwrap();
    let run = task.run.as_ref().unwrap();
    assert_eq!(
        (task.checks, run.epoch, run.check_reason.as_deref()),
        (Checks::Unavailable, 2, Some(CHECKER_OWNER_LOST))
    );
    assert_eq!(rule(after(&task, &Event::CheckIntent {})), "checks run once in a turn");
}

#[test]
fn checks_of_a_corrected_request_are_disputed() {
    let task = finished();
    let corrected = command(&task, &fixtures::correct("x", &task.task_id, task.revision));
    assert_eq!(
        rule(after(&corrected, &Event::CheckIntent {})),
        "checks run once in a turn"
    );
    let checking = after(&task, &Event::CheckIntent {}).unwrap();
    let corrected = command(&checking, &fixtures::correct("x", &task.task_id, checking.revision));
    assert_eq!(corrected.checks, Checks::Running);
    let task = after(&corrected, &checked(report(&corrected))).unwrap();
    assert_eq!(task.checks, Checks::Disputed);
    assert_eq!(task.run.unwrap().report.unwrap().verdict, Verdict::Passed);
}

#[test]
fn checks_need_requirements() {
    let task = submitted();
    let mut grant = grant(&task);
    grant["requirements"] = Value::Null;
    let task = after(&task, &admit(admission_of(&task, grant))).unwrap();
    let task = after(&task, &ended(result())).unwrap();
    assert_eq!(
        rule(after(&task, &Event::CheckIntent {})),
        "the grant pins no requirements"
    );
}

#[rstest]
#[case::schema(|r: &mut CheckReport| r.schema = "other".into(), "the report has another schema")]
#[case::requirements(|r: &mut CheckReport| r.requirements_digest = Digest::of(b""), "the report is for other requirements")]
#[case::context(|r: &mut CheckReport| r.context_digest = None, "the report is for another context")]
#[case::candidate(|r: &mut CheckReport| r.candidate_snapshot = Some(Digest::of(b"")), "the report is for another candidate")]
#[case::no_evidence(|r: &mut CheckReport| r.evidence = Value::Null, "checks pass or fail only with evidence")]
#[case::other_evidence(|r: &mut CheckReport| r.evidence = json!([]), "the evidence is not of the known form")]
fn a_report_of_something_else_is_refused(#[case] change: fn(&mut CheckReport), #[case] expected: &str) {
    let task = after(&finished(), &Event::CheckIntent {}).unwrap();
    let mut report = report(&task);
    change(&mut report);
    assert_eq!(rule(after(&task, &checked(report))), expected);
}

#[rstest]
#[case(Verdict::Unavailable, Checks::Unavailable)]
#[case(Verdict::Disputed, Checks::Disputed)]
fn a_verdict_without_evidence_is_shown(#[case] verdict: Verdict, #[case] checks: Checks) {
    let task = after(&finished(), &Event::CheckIntent {}).unwrap();
    let mut report = report(&task);
    report.verdict = verdict;
    report.evidence = Value::Null;
    assert_eq!(
        rule(after(&task, &checked(report.clone()))),
        "a report without evidence says why"
    );
    report.reason = Some("the suite could not be started".into());
    assert_eq!(after(&task, &checked(report)).unwrap().checks, checks);
}
