use super::*;
use crate::testing::{World, clock};
use coder_process::Pid;
use coder_trace::{Session, SessionId, Source, Step, Writer};
use rstest::rstest;
use serde_json::json;
use std::io::Write as _;

/// A run under way, whose epoch's intent was recorded or not.
fn task(world: &World, effect_id: Option<&str>) -> Task {
    let mut task = serde_json::to_value(world.submit(&world.store(), "task-1", "Do it.")).unwrap();
    task["status"] = json!("running");
    task["execution"] = json!("running");
    task["run"] = json!({
        "epoch": 1,
        "revision": 2,
        "admission": {
            "grant": {},
            "grant_digest": Digest::of(b"grant"),
            "grant_request": "{}",
            "workspace": "/tree",
            "source_revision": null,
            "source_snapshot": Digest::of(b"source").hex(),
            "program_digest": Digest::of(b"program"),
            "adapter": "microcoder-repository",
            "network": "network_namespace_isolated",
            "read_scope": "workspace_and_system",
            "authority": "local_os_user",
            "trace_file": "task-1.1.atif.jsonl",
            "context": null,
        },
    });
    if let Some(effect_id) = effect_id {
        task["run"]["effect_id"] = json!(effect_id);
    }
    serde_json::from_value(task).unwrap()
}

fn own() -> HolderRecord {
    let own = Holder::of(Pid(std::process::id().cast_signed())).unwrap();
    HolderRecord {
        effect: 1,
        process: own.process,
        start_ticks: own.start_ticks,
        boot: own.boot,
        namespace: own.namespace,
        contains: true,
    }
}

fn gone() -> HolderRecord {
    HolderRecord {
        start_ticks: own().start_ticks + 1,
        ..own()
    }
}

/// A trace with one command whose processes `holders` name, and perhaps its result.
fn trace(world: &World, holders: &[HolderRecord], group_clear: Option<bool>) {
    let session = Session {
        id: SessionId::new(&TaskId::new("task-1").unwrap(), 1),
        model: None,
        door: "microcoder-repository".to_owned(),
        repository: None,
        version: "0".to_owned(),
    };
    let mut writer = Writer::create(&world.path("store/task-1.1.atif.jsonl"), &session, clock()).unwrap();
    let intent = writer
        .intend(
            Step::new(Source::System, ""),
            EffectKind::Command,
            json!({ "script": "x" }),
        )
        .unwrap();
    for holder in holders {
        let step = Step::new(Source::System, "").with_extension("holder", holder).unwrap();
        writer.append(&step).unwrap();
    }
    if let Some(clear) = group_clear {
        let result = json!({ "ending": "exited", "group_clear": clear });
        let step = Step::new(Source::System, "");
        writer
            .conclude(step, intent, &result)
            .map_err(|left| left.error)
            .unwrap();
    }
}

// Trap i: a free lock alone does not prove that the processes of a run are gone; the names in the trace do.
#[rstest]
#[case::nothing_named(&[], None, Some("no_process_was_left"), 0)]
#[case::ended(&[gone()], None, Some("process_namespace_ended"), 0)]
#[case::restarted(&[HolderRecord { boot: "another".to_owned(), ..own() }], None, Some("machine_restarted"), 0)]
#[case::its_own_result_says_so(&[own()], Some(true), Some("no_process_was_left"), 0)]
#[case::its_own_result_does_not(&[HolderRecord { contains: false, ..gone() }], Some(false), Some("machine_restarted"), 1)]
#[case::held_by_what_contains_nothing(&[HolderRecord { contains: false, ..gone() }], None, Some("machine_restarted"), 1)]
#[case::another_namespace(&[HolderRecord { namespace: 1, ..own() }], None, Some("machine_restarted"), 1)]
fn a_run_is_clear_only_where_every_name_proves_it(
    #[case] holders: &[HolderRecord],
    #[case] group_clear: Option<bool>,
    #[case] proof: Option<&'static str>,
    #[case] open: usize,
) {
    let world = World::new();
    let task = task(&world, Some("task-1:1:command"));
    trace(&world, holders, group_clear);
    let found = inspect(&world.path("store"), &task);
    assert_eq!((found.proof, found.open.len()), (proof, open), "{:?}", found.open);
    let cleanup = match open {
        0 => Cleanup::ProvedClear {
            how: proof.unwrap().to_owned(),
        },
        _ => Cleanup::Unknown,
    };
    let bytes = std::fs::read(world.path("store/task-1.1.atif.jsonl")).unwrap();
    let trace_digest = Some(Digest::of(&bytes));
    assert_eq!(found.remains(), Remains { cleanup, trace_digest });
}

#[test]
fn a_run_whose_epoch_was_never_announced_started_nothing() {
    let world = World::new();
    let found = inspect(&world.path("store"), &task(&world, None));
    assert_eq!((found.proof, found.open), (Some("nothing_was_started"), Vec::new()));
}

/// What cannot be read may have named something; half of the last line cannot, since nothing starts before its name is whole.
#[rstest]
#[case::missing(None, false)]
#[case::torn(Some("{\"record\":\"step\",\"st"), true)]
#[case::damaged(Some("not a record\n"), false)]
fn a_trace_that_cannot_be_read_proves_nothing(#[case] tail: Option<&str>, #[case] clear: bool) {
    let world = World::new();
    let task = task(&world, Some("task-1:1:command"));
    if let Some(tail) = tail {
        trace(&world, &[gone()], None);
        let path = world.path("store/task-1.1.atif.jsonl");
        let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(tail.as_bytes()).unwrap();
    }
    let found = inspect(&world.path("store"), &task);
    assert_eq!(
        matches!(found.remains().cleanup, Cleanup::ProvedClear { .. }),
        clear,
        "{:?}",
        found.open
    );
}
