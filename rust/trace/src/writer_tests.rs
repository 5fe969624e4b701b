use super::*;
use crate::testing::{Failing, FailingDisk, clock, log, session, step};
use crate::{EvidenceState, Expectation, FaultKind, Reader, Source, evidence_state};
use coder_digest::FixedClock;
use rstest::rstest;
use rustix::io::Errno;
use serde_json::json;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::sync::Mutex;

#[test]
fn a_whole_small_log_byte_for_byte() {
    let mut log = log();
    let first = log.writer.append(&Step::new(Source::User, "fix it")).unwrap();
    let sealed = log.writer.seal().unwrap();
    let bytes = std::fs::read(&log.path).unwrap();
    let session_line = concat!(
        r#"{"record":"session","schema_version":"ATIF-v1.8","at":1796040000000,"session":{"id":"fix-1","#,
        r#""model":"model-a","door":"repository","repository":"/data/repository","version":"0.1.0"},"previous":null}"#,
        "\n"
    );
    let step_line = format!(
        "{{\"record\":\"step\",\"step\":{{\"at\":1796040001000,\"source\":\"User\",\"message\":\"fix it\"}},\
         \"previous\":\"{}\"}}\n",
        Digest::of(session_line.as_bytes())
    );
    let end_line = format!(
        "{{\"record\":\"end\",\"at\":1796040002000,\"state\":\"ended\",\"previous\":\"{}\"}}\n",
        Digest::of(step_line.as_bytes())
    );
    let whole = format!("{session_line}{step_line}{end_line}");
    assert_eq!(String::from_utf8(bytes).unwrap(), whole);
    assert_eq!(
        first,
        Appended {
            line: 2,
            digest: Digest::of(step_line.as_bytes()),
            at: Timestamp(1_796_040_001_000),
        }
    );
    assert_eq!(
        sealed,
        Sealed {
            digest: Digest::of(whole.as_bytes()),
            lines: 3,
            bytes: whole.len() as u64,
        }
    );
    assert_eq!(log.writer.seal().unwrap(), sealed);
}

#[test]
fn the_file_is_private_new_and_keeps_no_space_once_sealed() {
    let mut log = log();
    let facts = std::fs::metadata(&log.path).unwrap();
    assert_eq!(facts.permissions().mode() & 0o777, 0o600);
    assert_eq!(log.writer.reserve(), Reserve::Held);
    assert!(facts.blocks() * 512 >= limits::RESERVE, "{} blocks", facts.blocks());
    log.writer.seal().unwrap();
    assert!(std::fs::metadata(&log.path).unwrap().blocks() * 512 < limits::RESERVE);
    let again = Writer::create(&log.path, &session(), clock()).unwrap_err();
    assert_eq!(
        (again.code(), again.to_string().contains("exists already")),
        ("trace_exists", true)
    );
}

#[rstest]
#[case::to_nothing("nowhere")]
#[case::to_a_file("target")]
fn a_link_is_not_followed(#[case] target: &str) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("target"), "kept").unwrap();
    let path = folder.path().join("log");
    std::os::unix::fs::symlink(target, &path).unwrap();
    let error = Writer::create(&path, &session(), clock()).unwrap_err();
    assert_eq!(error.code(), "trace_exists");
    assert_eq!(std::fs::read(folder.path().join("target")).unwrap(), b"kept");
    assert!(!folder.path().join("nowhere").exists());
}

#[test]
fn nothing_stays_where_the_log_cannot_be_begun() {
    let folder = tempfile::tempdir().unwrap();
    let early = Arc::new(FixedClock::new(Timestamp(-1), 0));
    let error = Writer::create(&folder.path().join("log"), &session(), early).unwrap_err();
    assert_eq!(error.code(), "bad_step");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let missing = Writer::create(&folder.path().join("no/log"), &session(), clock()).unwrap_err();
    assert_eq!(missing.code(), "trace_io");
}

#[test]
fn a_step_at_its_bound_is_taken_and_one_byte_more_is_not() {
    let mut log = log();
    let frame = r#"{"at":1796040001000,"source":"System","message":""}"#.len() as u64;
    let fits = usize::try_from(limits::STEP - limits::ENVELOPE - frame).unwrap();
    log.writer.append(&step(&"x".repeat(fits))).unwrap();
    let before = log.writer.bytes();
    match log.writer.append(&step(&"x".repeat(fits + 1))).unwrap_err() {
        Error::StepTooLarge { bytes, limit } => assert_eq!((bytes, limit), (limits::STEP + 1, limits::STEP)),
        other => panic!("{other}"),
    }
    assert_eq!(log.writer.bytes(), before);
    assert_eq!(std::fs::metadata(&log.path).unwrap().len(), before);
}

#[test]
fn a_full_log_still_takes_its_disposition_and_its_end() {
    let mut log = log();
    let large = step(&"x".repeat(7 << 20));
    let mut taken = 0;
    let refusal = loop {
        match log.writer.append(&large) {
            Ok(_) => taken += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((taken, refusal.code()), (6, "evidence_full"));
    // Beyond what an ordinary record may take, and beyond the ordinary total.
    log.writer.append_final(&step(&"y".repeat(9 << 20))).unwrap();
    assert_eq!(log.writer.append(&step("more")).unwrap_err().code(), "trace_finished");
    assert_eq!(
        log.writer.append_final(&step("more")).unwrap_err().code(),
        "trace_finished"
    );
    let sealed = log.writer.seal().unwrap();
    let reader = Reader::open(&log.path).unwrap();
    let expectation = Expectation {
        digest: Some(sealed.digest),
        ..Expectation::default()
    };
    assert_eq!(evidence_state(&reader, expectation), EvidenceState::Sealed);
    assert_eq!(reader.index().steps(), 7);
}

#[test]
fn a_disposition_over_the_readers_bound_is_refused_and_a_shorter_one_taken() {
    let mut log = log();
    let huge = log.writer.append_final(&step(&"y".repeat(64 << 20))).unwrap_err();
    assert_eq!(huge.code(), "step_too_large");
    log.writer.append_final(&step("short")).unwrap();
    log.writer.seal().unwrap();
}

#[rstest]
#[case::deep(|step: Step| step.with_extension("deep", &nested(70)))]
#[case::large_integer(|step: Step| step.with_extension("count", &u64::MAX))]
#[case::reserved_name(|step: Step| step.with_extension("tokens", &1))]
#[case::forged_intent(|step: Step| step.with_extension("effect", &json!({"sequence": 1})))]
#[case::forged_result(|step: Step| step.with_extension("effect_result", &json!({"sequence": 1})))]
#[case::twice(|step: Step| step.with_extension("a", &1).and_then(|step| step.with_extension("a", &2)))]
fn what_no_reader_would_take_is_never_written(#[case] make: fn(Step) -> Result<Step, Error>) {
    let mut log = log();
    let before = std::fs::read(&log.path).unwrap();
    let error = make(step("x")).and_then(|step| log.writer.append(&step)).unwrap_err();
    assert_eq!(error.code(), "bad_step");
    assert_eq!(std::fs::read(&log.path).unwrap(), before);
    log.writer.append(&step("after")).unwrap();
}

fn nested(levels: usize) -> serde_json::Value {
    (0..levels).fold(json!(0), |inner, _| json!([inner]))
}

#[test]
fn time_never_runs_backwards() {
    let folder = tempfile::tempdir().unwrap();
    let back = Arc::new(FixedClock::new(Timestamp(5000), -1000));
    let mut writer = Writer::create(&folder.path().join("log"), &session(), back).unwrap();
    let of = |at| RecordedStep {
        at: Timestamp(at),
        step: step("of an earlier turn"),
    };
    let carried = writer.append_carried(&of(4500)).unwrap();
    let next = writer.append(&step("now")).unwrap();
    assert_eq!((carried.at, next.at), (Timestamp(4500), Timestamp(4500)));
    let error = writer.append_carried(&of(4499)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the step is of 1970-01-01T00:00:04.499Z, before the last recorded one of 1970-01-01T00:00:04.500Z"
    );
}

struct Failed {
    writer: Writer,
    failing: Arc<Mutex<Failing>>,
    path: PathBuf,
    _folder: tempfile::TempDir,
}

fn failing_log(error: Errno) -> Failed {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .unwrap();
    let failing = Arc::new(Mutex::new(Failing::Nothing));
    let disk = FailingDisk {
        file,
        failing: failing.clone(),
        error: error.raw_os_error(),
    };
    let mut writer = Writer::begin(Box::new(disk), &path, &session(), clock()).unwrap();
    writer.append(&step("kept")).unwrap();
    Failed {
        writer,
        failing,
        path,
        _folder: folder,
    }
}

// Trap 7: a half-written line was glued to the next record.
#[rstest]
#[case::nothing_written(Failing::Write(0), Errno::IO, "trace_io")]
#[case::half_written(Failing::Write(40), Errno::IO, "trace_io")]
#[case::half_written_on_a_full_disk(Failing::Write(40), Errno::NOSPC, "disk_full")]
#[case::half_written_over_quota(Failing::Write(40), Errno::DQUOT, "disk_full")]
#[case::not_synced(Failing::Sync, Errno::IO, "trace_io")]
fn a_failed_record_is_taken_back_whole(#[case] failing: Failing, #[case] error: Errno, #[case] code: &str) {
    let mut log = failing_log(error);
    let before = std::fs::read(&log.path).unwrap();
    *log.failing.lock().unwrap() = failing;
    let answer = log.writer.append(&step("lost")).unwrap_err();
    assert_eq!(answer.code(), code);
    assert_eq!(std::fs::read(&log.path).unwrap(), before);
    *log.failing.lock().unwrap() = Failing::Nothing;
    assert_eq!(log.writer.append(&step("after")).unwrap().line, 3);
    assert_eq!(log.writer.reserve(), Reserve::Held);
    log.writer.seal().unwrap();
    let reader = Reader::open(&log.path).unwrap();
    assert_eq!((reader.index().steps(), reader.index().faults()), (2, vec![]));
}

#[test]
fn a_record_that_cannot_be_taken_back_ends_all_writing() {
    let mut log = failing_log(Errno::IO);
    *log.failing.lock().unwrap() = Failing::WriteAndCut(40);
    assert_eq!(log.writer.append(&step("half")).unwrap_err().code(), "trace_poisoned");
    *log.failing.lock().unwrap() = Failing::Nothing;
    assert!(log.writer.is_poisoned());
    assert_eq!(log.writer.append(&step("more")).unwrap_err().code(), "trace_poisoned");
    assert_eq!(
        log.writer.append_final(&step("more")).unwrap_err().code(),
        "trace_poisoned"
    );
    assert_eq!(log.writer.seal().unwrap_err().code(), "trace_poisoned");
    let reader = Reader::open(&log.path).unwrap();
    let faults = reader.index().faults();
    assert_eq!(
        faults.iter().map(|fault| (fault.line, fault.kind)).collect::<Vec<_>>(),
        [(3, FaultKind::Torn)]
    );
    assert_eq!(reader.index().steps(), 1);
}

// Report 23: on a full disk a run ended as if the agent had failed, with nothing on record.
#[test]
fn space_that_cannot_be_had_refuses_ordinary_records_but_not_the_last_ones() {
    let mut log = failing_log(Errno::NOSPC);
    *log.failing.lock().unwrap() = Failing::Allocate;
    // What is set aside already is used up first.
    let refused = (0..100)
        .find_map(|_| log.writer.append(&step(&"x".repeat(40_000))).err())
        .unwrap();
    assert!(refused.is_disk_full());
    assert_eq!(log.writer.reserve(), Reserve::Held);
    log.writer
        .append_final(&step(&"the disk is full".repeat(1000)))
        .unwrap();
    log.writer.seal().unwrap();
    let reader = Reader::open(&log.path).unwrap();
    assert!(reader.index().ended().is_some());
    assert_eq!(reader.index().faults(), vec![]);
}

#[test]
fn a_file_system_without_reservation_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let disk = FailingDisk {
        file: File::create_new(&path).unwrap(),
        failing: Arc::new(Mutex::new(Failing::AllocateUnsupported)),
        error: 0,
    };
    let mut writer = Writer::begin(Box::new(disk), &path, &session(), clock()).unwrap();
    assert_eq!(writer.reserve(), Reserve::Unsupported);
    writer.append(&step("x")).unwrap();
    writer.seal().unwrap();
}
