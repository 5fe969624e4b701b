//! When a boundary ends: with its command, with its host, and without leaving anything.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use coder_boundary::{Boundary, Enforced, Private, Reach, Scratch};
use coder_process::{Ending, Proof, Tree};
use common::{World, again_as_an_ordinary_user, shell};
use seccompiler::{SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::{fs, thread};

#[test]
fn as_an_ordinary_user() {
    again_as_an_ordinary_user("as_an_ordinary_user");
}

/// Report 13: children end with the step.
#[test]
fn report_13_a_daemon_ends_with_its_command() {
    let world = World::new();
    let boundary = world.boundary();
    let script = "setsid setsid sh -c 'exec 3> lock; flock 3; echo up > ready; sleep 600' >/dev/null 2>&1 & \
                  until test -s ready; do sleep 0.01; done";
    let outcome = boundary
        .command("/bin/sh")
        .arguments(["-c", script])
        .capture(1 << 16)
        .unwrap();
    assert!(
        matches!(outcome.tree, Tree::Clear(Proof::Namespace)),
        "{:?}",
        outcome.tree
    );
    // The lock the daemon held for its life is free.
    let lock = fs::File::open(world.workspace.join("lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
}

/// Only run by the next test, in a process of its own.
#[test]
#[ignore = "a host to be killed"]
fn a_host() {
    let Some(workspace) = std::env::var_os("BOUNDARY_TEST_WORKSPACE") else {
        return;
    };
    let mut world = World::new();
    world.workspace = workspace.into();
    shell(&world.boundary(), "exec 3> lock; flock 3; echo up > ready; sleep 600");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the host under test is a process of its own")]
fn the_end_of_the_host_by_kill_is_the_end_of_the_command() {
    let world = World::new();
    let ready = world.workspace.join("ready");
    rustix::fs::mkfifoat(rustix::fs::CWD, &ready, rustix::fs::Mode::RWXU).unwrap();
    let mut host = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "a_host"])
        .env("BOUNDARY_TEST_WORKSPACE", &world.workspace)
        .env("TMPDIR", world.base.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(fs::File::open(&ready).unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "up\n");
    host.kill().unwrap();
    host.wait().unwrap();
    // Blocks until the command, which holds the lock for its life, is gone.
    let lock = fs::File::open(world.workspace.join("lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();

    // What the killed host could not remove, the next one can.
    let beneath = |directory: &Path| fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let left: Vec<_> = beneath(world.base.path())
        .filter(|path| path.join("outside").exists())
        .flat_map(|world| beneath(&world).collect::<Vec<_>>())
        .filter(|path| path.join("home").exists())
        .collect();
    assert_eq!(left.len(), 1);
    let memory = fs::read_link(left[0].join("memory")).unwrap();
    assert!(memory.exists());
    Scratch::remove_leftover(&left[0]).unwrap();
    assert!(!left[0].exists() && !memory.exists());
}

/// Only run by the next test, in a process of its own: the filter it takes is for good.
#[test]
#[ignore = "a host whose kernel lets nobody configure a network"]
fn a_host_without_network_configuration() {
    let Some(workspace) = std::env::var_os("BOUNDARY_TEST_WORKSPACE") else {
        return;
    };
    let when = |argument, value| {
        let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value);
        vec![SeccompRule::new(vec![condition.unwrap()]).unwrap()]
    };
    let rules = [
        (libc::SYS_socket, when(0, libc::AF_NETLINK as u64)),
        (libc::SYS_ioctl, when(1, libc::SIOCSIFFLAGS)),
    ];
    let filter = SeccompFilter::new(
        rules.into_iter().collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM as u32),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let program: seccompiler::BpfProgram = filter.unwrap().try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
    let mut world = World::new();
    world.workspace = workspace.into();
    let boundary = world.boundary();
    let outcome = boundary
        .command("/bin/sh")
        .arguments(["-c", "echo ran > ran"])
        .capture(1 << 10);
    let outcome = outcome.unwrap();
    assert_eq!(outcome.ending, Ending::Exited(0));
    // All that was planned holds but the interface, and the record says so.
    let less = Enforced {
        network: Reach::Nothing,
        ..boundary.planned().clone()
    };
    assert_eq!(boundary.enforced(outcome.layers), less);
}

/// Report 1: where a network namespace is given but not the right to configure it, every command died.
#[test]
#[expect(clippy::disallowed_methods, reason = "the host under test is a process of its own")]
fn report_1_a_loopback_that_cannot_be_brought_up_keeps_no_command_from_running() {
    let world = World::new();
    let host = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "a_host_without_network_configuration"])
        .env("BOUNDARY_TEST_WORKSPACE", &world.workspace)
        .env("TMPDIR", world.base.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&host.stdout).into_owned();
    assert!(host.status.success(), "{said}");
    assert_eq!(
        fs::read_to_string(world.workspace.join("ran")).unwrap(),
        "ran\n",
        "{said}"
    );
}

#[test]
fn many_commands_at_once_share_one_boundary() {
    let world = World::new();
    let boundary = world.boundary();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|number| {
                let boundary = &boundary;
                scope.spawn(move || shell(boundary, &format!("echo {number} > {number}; cat {number}")).printed())
            })
            .collect();
        for (number, thread) in threads.into_iter().enumerate() {
            assert_eq!(thread.join().unwrap(), format!("{number}\n"));
        }
    });
}

/// How many at once the test below starts; `benches/parallel.sh` does the same with a thousand programs.
const AT_ONCE: usize = 64;

#[test]
fn many_commands_at_once_leave_no_process_mount_or_file() {
    // Elsewhere than /tmp, so that its name is nobody else's mount.
    let world = World::under("/var/tmp".as_ref());
    let start = std::sync::Barrier::new(AT_ONCE);
    thread::scope(|scope| {
        for number in 0..AT_ONCE {
            let (world, start) = (&world, &start);
            scope.spawn(move || {
                let private = match number % 2 {
                    0 => Private::Memory,
                    _ => world.scratch().into(),
                };
                start.wait();
                let boundary = Boundary::prepare(world.policy(), private).unwrap();
                let seen = shell(&boundary, "echo $$ > $HOME/own; sleep 600 & cat $HOME/own");
                assert_eq!((seen.code, seen.stdout.trim().is_empty()), (0, false));
            });
        }
    });
    let base = world.base.path().to_str().unwrap().to_owned();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let holding = processes.filter_map(|process| {
        // One that ended meanwhile holds nothing.
        let mounts = fs::read(process.path().join("mountinfo")).unwrap_or_default();
        coder_digest::display_bytes(&mounts)
            .contains(&base)
            .then(|| process.file_name())
    });
    assert_eq!(holding.collect::<Vec<_>>(), Vec::<std::ffi::OsString>::new());
    let mut names: Vec<_> = fs::read_dir(&base)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["outside", "workspace"]);
    assert_eq!(fs::read_dir(&world.workspace).unwrap().count(), 0);
}
