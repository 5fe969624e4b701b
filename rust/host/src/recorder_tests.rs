use super::*;
use crate::testing::{World, clock};
use coder_digest::TaskId;
use coder_trace::{PageSize, Reader, Session, SessionId};
use serde_json::json;
use std::path::PathBuf;

struct Log {
    _world: World,
    path: PathBuf,
    recorder: Recorder,
}

fn log(patience: Patience) -> Log {
    let world = World::new();
    let path = world.path("trace");
    let session = Session {
        id: SessionId::new(&TaskId::new("task-1").unwrap(), 1),
        model: None,
        door: "test".to_owned(),
        repository: None,
        version: "0".to_owned(),
    };
    let writer = Writer::create(&path, &session, clock()).unwrap();
    Log {
        _world: world,
        path,
        recorder: Recorder::new(writer, patience),
    }
}

fn full() -> coder_trace::Error {
    coder_trace::Error::DiskFull {
        path: "trace".into(),
        act: coder_trace::Act::Write,
        source: std::io::ErrorKind::StorageFull.into(),
    }
}

/// The disk is full so many times, and then not.
fn full_for(times: usize) -> impl FnMut(&mut Writer) -> Result<(), coder_trace::Error> {
    let mut left = times;
    move |writer| {
        if left > 0 {
            left -= 1;
            return Err(full());
        }
        writer.append(&Step::new(Source::System, "kept")).map(drop)
    }
}

fn messages(log: Log) -> Vec<(String, Value)> {
    let (mut writer, _) = log.recorder.finish().unwrap();
    writer.seal().unwrap();
    let steps = Reader::open(&log.path).unwrap().page(1, PageSize::default()).unwrap();
    let told = |recorded: coder_trace::RecordedStep| {
        let waited = recorded.step.extensions.get("disk_wait").cloned();
        (recorded.step.message, waited.unwrap_or(Value::Null))
    };
    steps.into_iter().map(told).collect()
}

#[test]
fn space_that_comes_back_is_waited_for_and_the_trace_says_so() {
    let log = log(crate::patience::of(Duration::from_millis(30)));
    log.recorder.guarded(full_for(1)).unwrap();
    assert_eq!(
        messages(log),
        [
            ("kept".to_owned(), Value::Null),
            (
                "The disk was full; the run waited for space.".to_owned(),
                json!({ "seconds": 0.03 })
            )
        ]
    );
}

#[test]
fn space_that_does_not_come_back_ends_the_run() {
    let log = log(crate::patience::of(Duration::from_millis(30)));
    log.recorder.guarded(full_for(usize::MAX)).unwrap_err();
    assert_eq!(log.recorder.fault().unwrap().kind, FaultKind::DiskFull);
    // And nothing is kept any more after a record that is missing.
    log.recorder.guarded(full_for(0)).unwrap_err();
    assert_eq!(messages(log), []);
}

/// A run that waited for space could not be stopped until its patience was over.
#[test]
fn a_stop_ends_the_waiting() {
    let cancel = coder_process::Cancel::new().unwrap();
    cancel.cancel(coder_process::Reason::Requested);
    let patience = Patience::of(&|_| None, cancel).unwrap();
    let log = log(patience);
    log.recorder.guarded(full_for(1)).unwrap_err();
    assert_eq!(log.recorder.fault().unwrap().kind, FaultKind::DiskFull);
}

#[test]
fn an_intent_is_concluded_after_waiting() {
    let log = log(crate::patience::of(Duration::from_millis(30)));
    let intent = log.recorder.intend("a", EffectKind::Command, json!({})).unwrap();
    log.recorder
        .conclude(Step::new(Source::System, "b"), intent, &json!(1))
        .unwrap();
    let told: Vec<String> = messages(log).into_iter().map(|(message, _)| message).collect();
    assert_eq!(told, ["a", "b"]);
}
