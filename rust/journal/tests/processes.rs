//! Many processes and threads on one store, and writers killed at any moment. The children are this test binary again, told
//! what to be by an environment variable.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use coder_journal::{Cleanup, Remains, Status, Store};
use common::{World, admitted, clock, effect, ended, id, result};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const ROLE: &str = "CODER_JOURNAL_TEST_ROLE";

#[expect(
    clippy::disallowed_methods,
    reason = "the child is this test binary, killed by the test on purpose"
)]
fn child(test: &str, role: &str, store: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env("CODER_JOURNAL_TEST_STORE", store)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn role() -> Option<(String, Store)> {
    let role = std::env::var(ROLE).ok()?;
    let path = std::env::var_os("CODER_JOURNAL_TEST_STORE").unwrap();
    Some((role, Store::open(Path::new(&path), clock()).unwrap()))
}

fn submit(worker: &str, number: usize) -> (String, Vec<u8>) {
    let task = format!("t-{worker}-{number}");
    let bytes = common::submit(&format!("s-{worker}-{number}"), &task, &format!("/trees/{task}"));
    (task, bytes)
}

/// Three commands for each task: submitted and corrected twice.
fn work(store: &Store, worker: &str, tasks: usize) {
    for number in 0..tasks {
        let (task, bytes) = submit(worker, number);
        assert_eq!(store.command(&bytes).unwrap().revision, 1);
        for revision in 1..=2 {
            let bytes = common::correct(&format!("x-{task}-{revision}"), &id(&task), revision);
            assert_eq!(store.command(&bytes).unwrap().revision, revision + 1);
        }
    }
}

fn all_there(store: &Store, tasks: usize) {
    assert_eq!(store.verify_all().unwrap(), []);
    let listed = store.list().unwrap();
    assert_eq!(listed.len(), tasks);
    assert!(listed.iter().all(|summary| summary.revision == 3));
}

/// Looks at everything there is, again and again, until `over`; how often.
fn look(path: &Path, over: &AtomicBool) -> usize {
    let mut looks = 0;
    while !over.load(Ordering::Acquire) {
        let reader = Store::open_read_only(path, clock()).unwrap();
        let listed = reader.list().unwrap();
        for summary in listed.iter().rev().take(3) {
            let shown = reader.show(&summary.task_id).unwrap();
            assert!(shown.revision >= summary.revision);
            assert_eq!(reader.verify(&summary.task_id).unwrap(), []);
        }
        looks += 1;
    }
    looks
}

/// On a real disk: 32 processes of 60 commands each, all at once, and readers beside them. Each command is answered, none is
/// lost, and neither writer nor reader is ever told that something is busy or locked.
#[test]
fn thirty_two_processes_lose_nothing_and_are_never_turned_away() {
    let test = "thirty_two_processes_lose_nothing_and_are_never_turned_away";
    if let Some((role, store)) = role() {
        return work(&store, &role, 20);
    }
    let home = tempfile::TempDir::new().unwrap();
    let path = home.path().join("store");
    let store = Store::open(&path, clock()).unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| look(&path, &over));
        let children: Vec<_> = (0..32).map(|worker| child(test, &worker.to_string(), &path)).collect();
        let outputs: Vec<_> = children
            .into_iter()
            .map(|child| child.wait_with_output().unwrap())
            .collect();
        over.store(true, Ordering::Release);
        for output in outputs {
            assert!(output.status.success(), "{}", output.stdout.escape_ascii());
        }
        assert!(looking.join().unwrap() > 0);
    });
    all_there(&store, 640);
}

#[test]
fn sixteen_threads_lose_nothing_whether_they_share_a_handle_or_not() {
    let world = World::new();
    std::thread::scope(|scope| {
        for worker in 0..16 {
            let store = if worker % 2 == 0 {
                world.store.clone()
            } else {
                world.again()
            };
            scope.spawn(move || work(&store, &worker.to_string(), 10));
        }
    });
    all_there(&world.store, 160);
}

#[test]
fn sixteen_openings_at_once_make_one_store() {
    let home = tempfile::TempDir::new().unwrap();
    let path = home.path().join("deep/store");
    std::thread::scope(|scope| {
        for worker in 0..16 {
            let path = &path;
            scope.spawn(move || {
                let store = Store::open(path, clock()).unwrap();
                store.command(&submit(&worker.to_string(), 0).1).unwrap();
            });
        }
    });
    let store = Store::open(&path, clock()).unwrap();
    assert_eq!(store.list().unwrap().len(), 16);
}

#[test]
fn the_same_bytes_from_sixteen_threads_are_one_command() {
    let world = World::new();
    let (task, bytes) = submit("w", 0);
    let receipts: Vec<_> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..16)
            .map(|_| {
                let store = world.again();
                let bytes = &bytes;
                scope.spawn(move || store.command(bytes).unwrap())
            })
            .collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    });
    assert!(receipts.iter().all(|receipt| *receipt == receipts[0]));
    assert_eq!(world.store.history(&id(&task)).unwrap().len(), 1);
}

/// Writes until it is killed, saying on stdout what was acknowledged, each as soon as it was.
fn write_on(store: &Store, round: &str) {
    let mut out = std::io::stdout().lock();
    let mut say = |line: String| {
        out.write_all(line.as_bytes()).unwrap();
        out.flush().unwrap();
    };
    for number in 0..30 {
        let (task, bytes) = submit(round, number);
        let receipt = store.command(&bytes).unwrap();
        say(format!("\nreceipt {}\n", serde_json::to_string(&receipt).unwrap()));
        let task = id(&task);
        let owner = store.own(&task, Duration::ZERO).unwrap();
        let mut step = |event| {
            let shown = owner.record(&event, None).unwrap();
            say(format!("\nrevision {} {}\n", task, shown.revision));
            shown
        };
        let shown = step(admitted(&store.show(&task).unwrap()));
        step(effect(&shown));
        step(ended(result()));
    }
}

fn check_acknowledged(store: &Store, round: &str, lines: &[String]) -> usize {
    let mut receipts = 0;
    for line in lines {
        if let Some(receipt) = line.strip_prefix("receipt ") {
            let (_, bytes) = submit(round, receipts);
            receipts += 1;
            let again = store.command(&bytes).unwrap();
            assert_eq!(serde_json::to_string(&again).unwrap(), receipt);
        } else if let Some(said) = line.strip_prefix("revision ") {
            let (task, revision) = said.split_once(' ').unwrap();
            let shown = store.show(&id(task)).unwrap();
            assert!(shown.revision >= revision.parse().unwrap(), "{said}");
        }
    }
    receipts
}

// Report 21: a writer that is killed at any moment leaves a store that opens, with everything it acknowledged and no half record.
#[test]
fn a_killed_writer_loses_nothing_it_acknowledged() {
    if let Some((role, store)) = role() {
        return write_on(&store, &role);
    }
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let mut acknowledged = 0;
    for _ in 0..12 {
        // On a real disk, unlike the other tests: the log is written, synced and recovered as in use.
        let home = tempfile::TempDir::new().unwrap();
        let path = home.path().join("store");
        for round in 0..10 {
            let round = round.to_string();
            let mut child = child("a_killed_writer_loses_nothing_it_acknowledged", &round, &path);
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let mut said = Vec::new();
            for _ in 0..next(60) {
                said.extend(lines.next().map(Result::unwrap));
            }
            // Not to wait for anything: to land anywhere inside the next commit.
            std::thread::sleep(Duration::from_micros(next(4000)));
            child.kill().unwrap();
            child.wait().unwrap();
            said.extend(lines.map(Result::unwrap));
            let store = Store::open(&path, clock()).unwrap();
            assert_eq!(store.verify_all().unwrap(), []);
            acknowledged += check_acknowledged(&store, &round, &said);
            settle_all(&store);
        }
    }
    assert!(
        acknowledged > 100,
        "only {acknowledged} were acknowledged before a kill"
    );
}

fn settle_all(store: &Store) {
    for summary in store.list().unwrap() {
        let settled = store.recover(&summary.task_id, |_| Remains {
            cleanup: Cleanup::ProvedClear {
                how: "killed by the test".into(),
            },
            trace_digest: None,
        });
        let status = settled.unwrap().status;
        assert!(matches!(status, Status::Queued | Status::Finished), "{status:?}");
    }
    assert_eq!(store.verify_all().unwrap(), []);
}
