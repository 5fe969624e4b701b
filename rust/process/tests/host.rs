//! What a host that runs commands becomes: no larger, no fuller, and with nothing left when it dies.
//! Each of these measures or kills a whole host, so each has one of its own.
#![allow(clippy::print_stdout, reason = "a host tells its test what it has seen")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![allow(
    unsafe_code,
    reason = "foreign processes are watched, and descriptors leaked, by plain system calls"
)]

mod common;

use coder_process::*;
use common::*;
use rstest::rstest;
use std::fs;
use std::io::Write;
use std::thread;

/// The other half of the tests here.
#[test]
#[ignore = "run by the other tests, each in a host of its own"]
fn host() {
    match part().as_str() {
        "hold" => hold(false),
        "hold in a namespace" => hold(true),
        "flood" => flood(),
        "crowd" => crowd(),
        "inherit" => inherit(),
        "no streams" => no_streams(),
        "guard" => guard(),
        other => panic!("no part {other}"),
    }
}

/// Runs for ever, with a daemon.
fn hold(namespace: bool) {
    let command = shell("setsid sh -c 'trap \"\" TERM; echo up; exec sleep 1000' & exec sleep 1000");
    let mut known = None;
    let outcome = command
        .confinement(confinement(namespace))
        .run(&Cancel::never(), &mut |event| {
            if let Event::Started { warden, command, .. } = event {
                known = Some((warden, command));
            } else if let Some((warden, command)) = known {
                let children = format!("/proc/{command}/task/{command}/children");
                println!(
                    "PIDS {warden} {command} {}",
                    fs::read_to_string(children).unwrap().trim()
                );
            }
            Flow::Continue
        });
    panic!("the run ended: {outcome:?}");
}

#[rstest]
#[case::no_namespace("hold")]
#[case::namespace("hold in a namespace")]
fn a_killed_host_takes_the_tree_with_it(#[case] part: &str) {
    let mut host = Host::start("host", part);
    let pids: Vec<Watched> = host
        .line("PIDS")
        .split_whitespace()
        .map(|pid| Watched::open(pid.parse().unwrap()))
        .collect();
    assert_eq!(pids.len(), 3, "warden, command and daemon");
    assert!(pids.iter().all(|pid| !pid.ended_within(0)));
    host.child.kill().unwrap();
    host.child.wait().unwrap();
    assert!(
        pids.iter().all(|pid| pid.ended_within(60_000)),
        "something outlived its host"
    );
}

/// Report 25: memory must not grow with what a command prints, one endless line included.
fn flood() {
    let bytes = std::env::var("CODER_PROCESS_FLOOD_BYTES").map_or(1 << 30, |bytes| bytes.parse().unwrap());
    let outcome = shell(&format!("head -c {bytes} /dev/zero"))
        .run(&Cancel::never(), &mut unwatched)
        .unwrap();
    let kept = (
        outcome.stdout.head.len(),
        outcome.stdout.tail.len(),
        outcome.stdout.total_bytes,
    );
    assert_eq!((outcome.ending, kept), (Ending::Exited(0), (64 << 10, 64 << 10, bytes)));
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("PEAK {}", peak.trim().trim_end_matches(" kB"));
}

#[test]
fn memory_is_constant_whatever_a_command_prints() {
    let mut host = Host::start("host", "flood");
    let kibibytes: u64 = host.line("PEAK").parse().unwrap();
    assert!(kibibytes < 32 << 10, "{kibibytes} KiB");
    host.finish();
}

/// Many at once, again and again.
fn crowd() {
    let descriptors = || fs::read_dir("/proc/self/fd").unwrap().count();
    let round = || {
        thread::scope(|scope| {
            for thread in 0..32 {
                scope.spawn(move || {
                    for run in 0..10 {
                        let status = (thread + run) % 256;
                        let namespace = run % 5 == 0;
                        let command = shell(&format!("echo {status}; exit {status}"));
                        let outcome = command.confinement(confinement(namespace)).capture(100).unwrap();
                        let expected = format!("{status}\n").into_bytes();
                        assert_eq!(
                            (outcome.ending, outcome.tree, outcome.stdout.head),
                            (Ending::Exited(status), proof(namespace), expected)
                        );
                        assert_eq!(
                            Command::new("/nowhere").capture(0).unwrap_err().code(),
                            "program_not_found"
                        );
                    }
                });
            }
        });
    };
    let before = descriptors();
    round();
    assert_eq!(descriptors(), before, "descriptors were left open");
    let pid = std::process::id();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    assert_eq!(children, "", "children were left");
    println!("CROWD done");
}

#[test]
fn many_runs_at_once_leave_nothing_behind() {
    let mut host = Host::start("host", "crowd");
    host.line("CROWD");
    host.finish();
}

/// Hands its own streams on.
fn inherit() {
    let command = shell("read line; echo INHERITED $line; echo hidden >&2");
    let command = command
        .stdin(Stdin::Inherit)
        .stdout(Output::Inherit)
        .stderr(Output::Null);
    let outcome = command.run(&Cancel::never(), &mut unwatched).unwrap();
    assert_eq!(
        (outcome.ending, outcome.stdout),
        (Ending::Exited(0), Captured::default())
    );
}

#[test]
fn inherited_streams_are_the_hosts_own() {
    let mut host = Host::start("host", "inherit");
    let mut stdin = host.child.stdin.take().unwrap();
    stdin.write_all(b"and read\n").unwrap();
    assert_eq!(host.line("INHERITED"), "and read");
    host.finish();
}

/// A host without standard streams, as a service may be: the numbers 0 to 2 then come to descriptors of ours.
fn no_streams() {
    // SAFETY: plain calls on this process's own descriptors; nothing else runs in it meanwhile.
    let saved = unsafe { libc::fcntl(1, libc::F_DUPFD_CLOEXEC, 10) };
    // SAFETY: as above.
    (0..3).for_each(|descriptor| assert_eq!(unsafe { libc::close(descriptor) }, 0));
    let captured = shell("cat; echo error >&2")
        .stdin(Stdin::Bytes(b"in\n".to_vec()))
        .capture(100);
    let inherited = shell("cat; echo nowhere")
        .stdin(Stdin::Inherit)
        .stdout(Output::Inherit)
        .capture(100);
    // SAFETY: as above.
    (0..3).for_each(|descriptor| assert_eq!(unsafe { libc::dup2(saved, descriptor) }, descriptor));
    let captured = captured.unwrap();
    assert_eq!(
        (captured.stdout.head, captured.stderr.head),
        (b"in\n".to_vec(), b"error\n".to_vec())
    );
    assert_eq!(inherited.unwrap().ending, Ending::Exited(0));
}

#[test]
fn a_host_without_standard_streams_runs_commands_all_the_same() {
    Host::start("host", "no streams").finish();
}

/// As an ordinary user whom nothing but the host's own guard keeps from its memory.
fn guard() {
    // SAFETY: plain calls that change this process only; one that is not root is such a user already.
    unsafe {
        libc::setresuid(65534, 65534, 65534);
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
    }
    let script = "cat /proc/$PPID/environ > /dev/null 2>&1 && echo open; cat /proc/$$/environ > /dev/null && echo own";
    let outcome = shell(script).capture(100).unwrap();
    assert_eq!(outcome.stdout.head, b"own\n");
}

#[test]
fn a_host_that_hides_its_memory_hides_that_of_its_wardens() {
    Host::start("host", "guard").finish();
}
