use super::*;
use crate::hold::LimitKind;
use crate::reset::ResetSource;
use crate::usage::UsageFailure;
use rstest::rstest;
use std::os::unix::fs::PermissionsExt as _;

const NOW: i64 = 1_796_040_000;

fn hold(account: &str, until: i64) -> Hold {
    Hold {
        provider: "codex".to_owned(),
        kind: LimitKind::UsageLimit,
        observed_at: NOW,
        resets_at: Some(until),
        until,
        plan: Some("pro".to_owned()),
        window_minutes: Some(300),
        account: Some(account.to_owned()),
        evidence: Some(ResetSource::Header {
            name: "retry-after".to_owned(),
        }),
    }
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_book_is_private_readable_and_whole() {
    let place = tempfile::tempdir().unwrap();
    let books = Books::new(place.path());
    assert_eq!(books.capacity().unwrap(), CapacityBook::default());
    assert_eq!(names(place.path()), [] as [&str; 0], "looking makes nothing");
    let written = books.record(hold("a", NOW + 60)).unwrap();
    assert_eq!(books.capacity().unwrap(), written);
    let path = place.path().join("capacity.json");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let text: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(
        text,
        serde_json::json!({
            "schema": "openagents.coder.provider-capacity.v1",
            "refusals": [{
                "provider": "codex", "kind": "usage_limit", "observed_at": NOW, "resets_at": NOW + 60, "until": NOW + 60,
                "plan": "pro", "window_minutes": 300, "account": "a",
                "evidence": {"source": "header", "name": "retry-after"},
            }],
        })
    );
    assert_eq!(books.clear("codex").unwrap(), [hold("a", NOW + 60)]);
    assert_eq!(books.capacity().unwrap(), CapacityBook::default());
    assert_eq!(
        names(place.path()),
        ["books.lock", "capacity.json"],
        "nothing half-written stays"
    );
}

#[test]
fn a_book_of_another_program_is_read() {
    let place = tempfile::tempdir().unwrap();
    let text = format!(
        r#"{{"schema":"openagents.coder.provider-capacity.v1","refusals":[
            {{"provider":"claude","kind":"rate_limit","observed_at":{NOW},"until":{}}}]}}"#,
        NOW + 1_800
    );
    std::fs::write(place.path().join("capacity.json"), text).unwrap();
    let book = Books::new(place.path()).record(hold("a", NOW + 60)).unwrap();
    let held: Vec<&str> = book.entries().iter().map(|hold| hold.provider.as_str()).collect();
    assert_eq!(held, ["claude", "codex"]);
}

#[test]
fn usage_is_kept_the_same_way() {
    let place = tempfile::tempdir().unwrap();
    let books = Books::new(place.path());
    let entry = UsageEntry {
        provider: "codex".to_owned(),
        account: None,
        attempted_at: NOW,
        next_probe_at: NOW + 300,
        reading: None,
        failure: Some(UsageFailure::Network),
    };
    let written = books.record_usage(entry.clone()).unwrap();
    assert_eq!(books.usage().unwrap(), written);
    assert_eq!(written.entries(), [entry]);
}

// Trap d: a book that was rewritten in place looked empty to whoever read it meanwhile.
#[test]
fn trap_d_concurrent_writers_lose_nothing_and_readers_see_a_whole_book() {
    let place = tempfile::tempdir().unwrap();
    let books = Books::new(place.path());
    books.record(hold("first", NOW + 60)).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let books = &books;
            scope.spawn(move || {
                for number in 0..10 {
                    books.record(hold(&format!("{writer}-{number}"), NOW + 60)).unwrap();
                }
            });
        }
        scope.spawn(|| {
            let mut seen = 0;
            while seen < 41 {
                let entries = books.capacity().unwrap().entries().len();
                assert!(entries >= seen.max(1), "{entries} after {seen}");
                seen = entries;
            }
        });
    });
    assert_eq!(books.capacity().unwrap().entries().len(), 41);
    assert_eq!(names(place.path()), ["books.lock", "capacity.json"]);
}

#[rstest]
#[case::cut(br#"{"schema":"openagents.coder.provider-capacity.v1","ref"#, "book_malformed")]
#[case::empty(b"", "book_malformed")]
#[case::no_schema(br#"{"refusals":[]}"#, "book_malformed")]
#[case::a_field_of_a_newer_program(
    br#"{"schema":"openagents.coder.provider-capacity.v1","refusals":[],"more":1}"#,
    "book_malformed"
)]
#[case::a_newer_version(br#"{"schema":"openagents.coder.provider-capacity.v2","holds":{}}"#, "book_version")]
fn a_book_that_is_not_understood_refuses_and_is_left_alone(#[case] text: &[u8], #[case] code: &str) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("capacity.json");
    std::fs::write(&path, text).unwrap();
    let books = Books::new(place.path());
    assert_eq!(books.capacity().unwrap_err().code(), code);
    let refused = books.record(hold("a", NOW + 60)).unwrap_err();
    assert_eq!(refused.code(), code);
    assert!(
        refused.to_string().contains("capacity.json") && refused.to_string().contains("left as it is"),
        "{refused}"
    );
    assert_eq!(books.clear("codex").unwrap_err().code(), code);
    assert_eq!(std::fs::read(&path).unwrap(), text);
}

#[test]
fn a_link_a_pipe_and_a_huge_file_are_no_books() {
    let place = tempfile::tempdir().unwrap();
    let books = Books::new(place.path());
    let path = place.path().join("capacity.json");
    let refused = |expected: &str| assert_eq!(books.capacity().unwrap_err().code(), expected);
    std::os::unix::fs::symlink("elsewhere", &path).unwrap();
    refused("book_unsafe");
    std::fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    refused("book_unsafe");
    std::fs::remove_file(&path).unwrap();
    File::create(&path).unwrap().set_len(2 * 1024 * 1024).unwrap();
    refused("book_unsafe");
}

#[test]
fn a_book_that_cannot_be_written_leaves_the_old_one() {
    let place = tempfile::tempdir().unwrap();
    let gone = Books::new(&place.path().join("missing"));
    assert_eq!(gone.record(hold("a", NOW + 60)).unwrap_err().code(), "book_lock");
    assert_eq!(gone.capacity().unwrap(), CapacityBook::default());
}
