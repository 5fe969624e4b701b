//! Wardens that are started before it is known what they will run. Each host is one of its own, since its streams are
//! inherited.
#![allow(clippy::print_stdout, reason = "a host tells its test what it has seen")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![allow(unsafe_code, reason = "foreign processes are watched by plain system calls")]

mod common;

use coder_process::*;
use common::*;
use rstest::rstest;
use std::fs;
use std::sync::Arc;

const TOGETHER: i32 = libc::CLONE_NEWUSER | libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWNET;

/// The other half of the tests here.
#[test]
#[ignore = "run by the other tests, each in a host of its own"]
fn host() {
    match part().as_str() {
        "nothing" => run_early(0),
        "namespaces" => run_early(TOGETHER),
        "waiting" => wait_for_ever(),
        other => panic!("no part {other}"),
    }
}

fn run_early(flags: i32) {
    let confinement: Arc<dyn Confinement> = Arc::new(Scripted {
        enter: Ok(0b001),
        seclude: Ok(0b010),
        restrict: Ok(0b100),
        ..Scripted::new(flags)
    });
    let early = Early::start(confinement.clone()).unwrap();
    let command = shell("echo RAN $0 $VALUE; exit 3")
        .argument("early")
        .variable("VALUE", "told")
        .stdin(Stdin::Inherit)
        .stdout(Output::Inherit)
        .stderr(Output::Inherit)
        .confinement(confinement);
    let mut started = 0;
    let outcome = coder_process::run_early(&command, early, &Cancel::never(), &mut |event| {
        started += i32::from(matches!(event, Event::Started { layers: 7, .. }));
        Flow::Continue
    })
    .unwrap();
    assert_eq!((outcome.ending, outcome.layers, started), (Ending::Exited(3), 7, 1));
    assert_eq!(children(), "", "children were left");
}

fn wait_for_ever() {
    let early = Early::start(Arc::new(Scripted::new(TOGETHER))).unwrap();
    let warden = children();
    println!("WARDEN {}", warden.trim());
    std::thread::park();
    drop(early);
}

/// The children of every thread.
fn children() -> String {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    threads
        .map(|thread| fs::read_to_string(thread.unwrap().path().join("children")).unwrap())
        .collect()
}

#[rstest]
#[case("nothing")]
#[case("namespaces")]
fn an_early_warden_runs_what_it_is_told(#[case] part: &str) {
    let mut host = Host::start("host", part);
    assert_eq!(host.line("RAN"), "early told");
    host.finish();
}

#[test]
fn an_early_warden_that_is_told_nothing_ends_with_its_host() {
    let mut host = Host::start("host", "waiting");
    let warden = Watched::open(host.line("WARDEN").parse().unwrap());
    assert!(!warden.ended_within(0));
    host.child.kill().unwrap();
    host.child.wait().unwrap();
    assert!(warden.ended_within(60_000));
}

/// Other namespaces, or streams that the early children do not have: another warden runs the command.
#[rstest]
#[case::namespaces(libc::CLONE_NEWUSER, Output::Inherit)]
#[case::streams(TOGETHER, Output::Capture(Window { head: 100, tail: 0 }))]
fn a_command_that_does_not_fit_gets_a_warden_of_its_own(#[case] early: i32, #[case] stdout: Output) {
    let early = Early::start(Arc::new(Scripted::new(early))).unwrap();
    let command = Command::new("true")
        .stdin(Stdin::Inherit)
        .stdout(stdout)
        .stderr(Output::Inherit)
        .confinement(Arc::new(Scripted::new(TOGETHER)));
    let outcome = coder_process::run_early(&command, early, &Cancel::never(), &mut unwatched).unwrap();
    assert_eq!((outcome.ending, outcome.tree), (Ending::Exited(0), proof(true)));
}

#[rstest]
#[case::seclude(Err(Failure { act: 8, errno: libc::EPERM }), Ok(0), "scripted act 8")]
#[case::restrict(Ok(0), Err(Failure { act: 9, errno: libc::EPERM }), "scripted act 9")]
fn a_failed_act_refuses_an_early_command_too(
    #[case] seclude: Result<u64, Failure>,
    #[case] restrict: Result<u64, Failure>,
    #[case] message: &str,
    #[values(0, TOGETHER)] flags: i32,
) {
    let confinement: Arc<dyn Confinement> = Arc::new(Scripted {
        seclude,
        restrict,
        ..Scripted::new(flags)
    });
    let command = Command::new("true")
        .stdin(Stdin::Inherit)
        .stdout(Output::Inherit)
        .stderr(Output::Inherit)
        .confinement(confinement.clone());
    let early = Early::start(confinement).unwrap();
    let error = coder_process::run_early(&command, early, &Cancel::never(), &mut unwatched).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("confinement_failed", message)
    );
}
