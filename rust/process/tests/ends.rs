//! How a run ends, what it says of that, and what is left of it: nothing.
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
use std::time::Duration;

/// Far longer than any test takes: a run that needs it has failed.
const NEVER: Duration = Duration::from_secs(3600);

#[rstest]
#[case::success("exit 0", Ending::Exited(0))]
#[case::failure("exit 3", Ending::Exited(3))]
#[case::largest("exit 255", Ending::Exited(255))]
#[case::crash("kill -SEGV $$", Ending::Signalled(libc::SIGSEGV))]
#[case::interrupt("kill -INT $$", Ending::Signalled(libc::SIGINT))]
#[case::kill("kill -KILL $$", Ending::Signalled(libc::SIGKILL))]
fn an_end_by_itself_is_told_as_it_was(
    #[case] script: &str,
    #[case] expected: Ending,
    #[values(false, true)] namespace: bool,
) {
    let outcome = shell(script).confinement(confinement(namespace)).capture(100).unwrap();
    assert_eq!(
        (outcome.ending, outcome.tree, outcome.stop_signal),
        (expected, proof(namespace), StopSignal::None)
    );
}

/// Report 17: a deadline must hold whatever the command does with the polite signal.
#[rstest]
#[case::obeys("", Death::Signalled(libc::SIGTERM), StopSignal::Terminate)]
#[case::exits("trap 'exit 5' TERM;", Death::Exited(5), StopSignal::Terminate)]
#[case::ignores("trap '' TERM;", Death::Signalled(libc::SIGKILL), StopSignal::Kill)]
fn report_17_a_deadline_ends_the_command(
    #[case] trap: &str,
    #[case] death: Death,
    #[case] stop_signal: StopSignal,
    #[values(false, true)] namespace: bool,
) {
    let grace = if stop_signal == StopSignal::Kill {
        Duration::from_millis(50)
    } else {
        NEVER
    };
    let outcome = shell(&format!("{trap} while :; do sleep 0.01; done"))
        .confinement(confinement(namespace))
        .deadline(Duration::from_millis(1000))
        .grace(grace)
        .run(&Cancel::never(), &mut unwatched)
        .unwrap();
    assert_eq!(
        (outcome.ending, outcome.tree, outcome.stop_signal),
        (Ending::DeadlineExceeded { death }, proof(namespace), stop_signal)
    );
}

#[test]
fn a_stopped_command_hears_the_polite_signal() {
    let outcome = shell("trap 'exit 6' TERM; echo ready; kill -STOP $$; sleep 1000")
        .grace(NEVER)
        .run(&Cancel::never(), &mut |event| match event {
            Event::Holding { .. } | Event::Started { .. } => Flow::Continue,
            Event::Output { .. } => Flow::Stop,
        })
        .unwrap();
    assert!(matches!(
        outcome.ending,
        Ending::Stopped {
            death: Death::Exited(6) | Death::Signalled(libc::SIGTERM)
        }
    ));
}

/// A second signal to the host must not wait for the grace of the first, and must still leave an outcome.
#[rstest]
fn an_urgent_end_leaves_out_the_grace(#[values(false, true)] asked_before: bool) {
    let cancel = Cancel::new().unwrap();
    let outcome = shell("trap '' TERM; echo ready; while :; do sleep 1000; done")
        .grace(NEVER)
        .run(&cancel, &mut |event| {
            if let Event::Output { .. } = event {
                if asked_before {
                    cancel.cancel(Reason::Requested);
                }
                cancel.hurry(Reason::Interrupted);
            }
            Flow::Continue
        })
        .unwrap();
    let reason = if asked_before {
        Reason::Requested
    } else {
        Reason::Interrupted
    };
    let death = Death::Signalled(libc::SIGKILL);
    assert_eq!(outcome.ending, Ending::Cancelled { reason, death });
    assert!(cancel.is_urgent());
}

#[test]
fn no_grace_is_the_end_at_once() {
    let outcome = shell("trap '' TERM; echo ready; sleep 1000")
        .grace(Duration::ZERO)
        .run(&Cancel::never(), &mut |event| match event {
            Event::Holding { .. } | Event::Started { .. } => Flow::Continue,
            Event::Output { .. } => Flow::Stop,
        })
        .unwrap();
    assert_eq!(
        (outcome.ending, outcome.stop_signal, outcome.tree),
        (
            Ending::Stopped {
                death: Death::Signalled(libc::SIGKILL)
            },
            StopSignal::Kill,
            proof(false)
        )
    );
}

#[test]
fn a_run_cancelled_before_its_start_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let cancel = Cancel::new().unwrap();
    cancel.cancel(Reason::Superseded);
    cancel.cancel(Reason::Interrupted);
    let command = Command::new("touch").argument(folder.path().join("ran"));
    let error = command.run(&cancel, &mut unwatched).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Cancelled {
                reason: Reason::Superseded
            }
        ),
        "{error:?}"
    );
    assert!(!folder.path().join("ran").exists(), "the command ran");
}

#[test]
fn one_switch_cancels_every_run_that_watches_it() {
    let cancel = Cancel::new().unwrap();
    let (started, starts) = std::sync::mpsc::channel();
    let endings: Vec<Ending> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4)
            .map(|_| {
                let started = started.clone();
                let cancel = &cancel;
                scope.spawn(move || {
                    let observer = &mut |_: Event<'_>| {
                        started.send(()).unwrap();
                        Flow::Continue
                    };
                    Command::new("sleep")
                        .argument("1000")
                        .run(cancel, observer)
                        .unwrap()
                        .ending
                })
            })
            .collect();
        (0..4).for_each(|_| starts.recv().unwrap());
        cancel.cancel(Reason::Requested);
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let cancelled = Ending::Cancelled {
        reason: Reason::Requested,
        death: Death::Signalled(libc::SIGTERM),
    };
    assert_eq!(endings, [cancelled; 4]);
}

#[test]
fn the_first_reason_stays() {
    let cancel = Cancel::new().unwrap();
    assert_eq!((cancel.reason(), cancel.is_cancelled()), (None, false));
    let clone = cancel.clone();
    clone.cancel(Reason::HostClosing);
    cancel.cancel(Reason::Requested);
    assert_eq!(
        (cancel.reason(), cancel.is_cancelled()),
        (Some(Reason::HostClosing), true)
    );
}

#[test]
fn a_command_that_prints_too_much_is_ended() {
    let mut shown = 0;
    let outcome = Command::new("yes")
        .stdout_stop(Some(1 << 20))
        .run(&Cancel::never(), &mut |event| {
            if let Event::Output { bytes, offset, .. } = event {
                assert_eq!(offset, shown);
                shown += bytes.len() as u64;
            }
            Flow::Continue
        })
        .unwrap();
    assert_eq!(
        outcome.ending,
        Ending::OutputLimit {
            death: Death::Signalled(libc::SIGTERM)
        }
    );
    assert!(
        (1 << 20..(1 << 20) + (64 << 10)).contains(&shown),
        "{shown} bytes were shown"
    );
    assert!(outcome.stdout.total_bytes >= shown && outcome.stdout.truncated());
}

/// Report 29: a grandchild that holds the output open kept the run waiting for ever.
#[rstest]
fn what_is_left_behind_ends_with_the_command(#[values(false, true)] namespace: bool) {
    let outcome = shell("sleep 1000 & echo done")
        .confinement(confinement(namespace))
        .capture(100)
        .unwrap();
    assert_eq!(
        (
            outcome.ending,
            outcome.tree,
            outcome.stdout.complete().unwrap().as_ref()
        ),
        (Ending::Exited(0), proof(namespace), b"done\n".as_slice())
    );
}

#[test]
fn an_outsider_that_holds_the_output_is_not_waited_for() {
    let mut outsider = None;
    let outcome = shell("echo first; read line; echo last")
        .stdin(Stdin::Bytes(b"go\n".to_vec()))
        .run(&Cancel::never(), &mut |event| {
            if let Event::Started { command, .. } = event {
                let path = format!("/proc/{command}/fd/1");
                outsider = fs::OpenOptions::new().write(true).open(path).ok();
            }
            Flow::Continue
        })
        .unwrap();
    assert_eq!(outcome.ending, Ending::Exited(0));
    assert_eq!(outcome.stdout.head, b"first\nlast\n");
    drop(outsider);
}

/// Trap 25: a daemon that made a session of its own, twice, escaped the group and outlived the run.
#[rstest]
fn a_daemon_ends_with_the_command(#[values(false, true)] namespace: bool) {
    let folder = tempfile::tempdir().unwrap();
    let go = folder.path().join("go");
    let script = r#"
        setsid sh -c 'setsid sh -c "trap \"\" TERM HUP; echo up; exec sleep 1000" & exit' &
        while [ ! -e "$GO" ]; do sleep 0.01; done; exit 7"#;
    let mut command_pid = None;
    let mut seen = Vec::new();
    let outcome = shell(script)
        .variable("GO", &go)
        .confinement(confinement(namespace))
        .run(&Cancel::never(), &mut |event| {
            match event {
                Event::Holding { .. } => {}
                Event::Started { command, .. } => command_pid = Some(command),
                Event::Output { .. } => {
                    seen = daemons(&folder, command_pid.unwrap());
                    fs::write(&go, "").unwrap();
                }
            }
            Flow::Continue
        })
        .unwrap();
    assert_eq!((outcome.ending, outcome.tree), (Ending::Exited(7), proof(namespace)));
    assert!(!seen.is_empty(), "the daemon was never seen");
    assert!(
        seen.iter().all(|daemon| daemon.ended_within(0)),
        "the daemon outlived the run"
    );
}

/// The processes that this test's folder is in the environment of, but for the command itself.
fn daemons(folder: &tempfile::TempDir, command: Pid) -> Vec<Watched> {
    let name = folder.path().to_str().unwrap();
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != command.0)
        .filter(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.windows(name.len()).any(|window| window == name.as_bytes())
        })
        // The command's own short sleeps may be gone by now.
        .filter_map(Watched::find)
        .collect()
}

/// Forks faster than it is looked at: a tree of many, and a process that is always its own child.
#[rstest]
#[case::tree(
    "f() { if [ $1 -gt 0 ]; then f $(($1-1)) & f $(($1-1)) & fi; wait; sleep 1000; }; f 6 & sleep 0.2; echo ready; wait"
)]
#[case::comet("perl -e 'print \"ready\\n\"; close STDOUT; while (1) { my $p = fork; exit if $p }' & wait; sleep 1000")]
fn a_tree_that_forks_is_ended_whole(#[case] script: &str, #[values(false, true)] namespace: bool) {
    let outcome = shell(script)
        .confinement(confinement(namespace))
        .grace(Duration::ZERO)
        .run(&Cancel::never(), &mut |event| match event {
            Event::Holding { .. } | Event::Started { .. } => Flow::Continue,
            Event::Output { .. } => Flow::Stop,
        })
        .unwrap();
    assert_eq!(
        (outcome.ending, outcome.tree),
        (
            Ending::Stopped {
                death: Death::Signalled(libc::SIGKILL)
            },
            proof(namespace)
        )
    );
}

/// Trap 8: a warden that cannot finish in time is said to be unknown, never taken for a user's stop or a clean end.
#[rstest]
fn a_warden_that_hangs_is_not_called_clean(#[values(false, true)] namespace: bool) {
    let mut pids = None;
    let outcome = Command::new("sleep")
        .argument("1000")
        .confinement(confinement(namespace))
        .deadline(Duration::from_millis(100))
        .grace(Duration::from_millis(50))
        .settle(Duration::from_millis(500))
        .run(&Cancel::never(), &mut |event| {
            if let Event::Started { warden, command, .. } = event {
                signal(warden, libc::SIGSTOP);
                pids = Some((warden, Watched::open(command.0)));
            }
            Flow::Continue
        })
        .unwrap();
    let (warden, command) = pids.unwrap();
    assert_eq!(outcome.ending, Ending::DeadlineExceeded { death: Death::Unknown });
    if namespace {
        assert_eq!(outcome.tree, Tree::Clear(Proof::Namespace));
        assert!(command.ended_within(0));
    } else {
        assert_eq!(outcome.tree, Tree::Unknown);
        // Once it runs again it does what it was told, though nobody listens.
        signal(warden, libc::SIGCONT);
        assert!(command.ended_within(60_000));
    }
}

#[rstest]
fn a_warden_that_is_killed_leaves_an_unknown_end(#[values(false, true)] namespace: bool) {
    let mut pid = None;
    let outcome = Command::new("sleep")
        .argument("1000")
        .confinement(confinement(namespace))
        .run(&Cancel::never(), &mut |event| {
            if let Event::Started { warden, command, .. } = event {
                pid = Some(command);
                signal(warden, libc::SIGKILL);
            }
            Flow::Continue
        })
        .unwrap();
    let tree = if namespace {
        Tree::Clear(Proof::Namespace)
    } else {
        Tree::Unknown
    };
    assert_eq!(
        (outcome.ending, outcome.tree, outcome.usage),
        (Ending::Unknown, tree, None)
    );
    if !namespace {
        signal(pid.unwrap(), libc::SIGKILL);
    }
}

#[test]
fn the_peak_of_memory_is_the_commands_own() {
    let large = Command::new("perl")
        .arguments(["-e", "my $x = 'a' x (200 << 20)"])
        .capture(100)
        .unwrap();
    let PeakMemory::Exactly(bytes) = large.usage.unwrap().peak_memory else {
        panic!("{large:?}")
    };
    assert!((200 << 20..500 << 20).contains(&bytes), "{bytes}");
}
