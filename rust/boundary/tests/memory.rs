//! Private places in memory: the same walls without a directory on the host. What they share with private directories
//! is tested there.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use coder_boundary::{Boundary, Mode, Private, Resources, Workspace};
use common::{World, shell};
use std::fs;

fn boundary(world: &World) -> Boundary {
    Boundary::prepare(world.policy(), Private::Memory).unwrap()
}

#[test]
fn home_and_temporary_files_work_and_are_gone_with_the_command() {
    // Elsewhere than /tmp, where the way to a granted tree would be seen.
    let world = World::under("/var/tmp".as_ref());
    let boundary = boundary(&world);
    assert!(boundary.scratch().is_none());
    let script = r#"
        ls -A "$HOME" "$TMPDIR" /dev/shm
        mkdir "$HOME/directory" && echo text > "$HOME/directory/file" && cat "$HOME/directory/file"
        t=$(mktemp) && echo more > "$t" && cat "$t" && stat -c %a "$HOME" && printf '#!/bin/sh\necho ran' > /tmp/program &&
        chmod +x /tmp/program && /tmp/program && echo kept > kept"#;
    let expected = "/dev/shm:\n\n/home/agent:\n\n/tmp:\ntext\nmore\n700\nran\n";
    for _ in 0..2 {
        assert_eq!(shell(&boundary, script).printed(), expected);
    }
    let left = |path| {
        fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect::<Vec<_>>()
    };
    assert_eq!(left(&world.workspace), ["kept"]);
    assert_eq!(left(&world.outside), ["secret"]);
}

#[test]
fn everything_else_of_the_root_is_read_only_for_good() {
    let world = World::new();
    let boundary = boundary(&world);
    for path in [
        "/x",
        "/etc/x",
        "/etc/passwd",
        "/home/x",
        "/run/x",
        "/dev/x",
        "/var/x",
        "/usr/x",
        "/proc/x",
    ] {
        let seen = shell(&boundary, &format!("echo x >> {path}"));
        assert_ne!(seen.code, 0, "{path}: {}", seen.stdout);
    }
    // The private places stand on the same filesystem as the root, and reach nothing of it.
    shell(&boundary, "ln /etc/passwd /tmp/passwd").failed("passwd");
    shell(&boundary, "mv /tmp /elsewhere").failed("/tmp");
    shell(&boundary, "rm -rf /home/agent; rm /etc/passwd").failed("/etc/passwd");
    shell(&boundary, "chmod 0777 /etc /tmp/..").failed("/etc");
    shell(&boundary, &format!("cat {}", world.outside.join("secret").display())).failed("No such file");
}

#[test]
fn the_host_keeps_its_own_temporary_files_and_proc_to_itself() {
    let world = World::new();
    let seen = shell(
        &boundary(&world),
        "cat /proc/1/cmdline; ls /proc/1/root/etc/shadow; grep -c ' /proc ' /proc/self/mounts",
    );
    assert_eq!(seen.stdout, "1\n");
}

#[test]
fn what_fills_the_memory_that_was_given_gets_an_error() {
    let world = World::new();
    let policy = coder_boundary::Policy {
        resources: Resources {
            memory_bytes: Some(32 << 20),
            ..Resources::default()
        },
        ..world.policy()
    };
    let boundary = Boundary::prepare(policy, Private::Memory).unwrap();
    shell(&boundary, "head -c 64M /dev/zero > /tmp/large").failed("No space left on device");
}

#[test]
fn a_grant_in_the_host_s_temporary_directory_is_shown_there() {
    let world = World::under("/tmp".as_ref());
    let file = world.outside.join("file");
    fs::write(&file, "shown").unwrap();
    let policy = coder_boundary::Policy {
        workspace: Some(Workspace {
            path: world.workspace.clone(),
            mode: Mode::Read,
        }),
        reads: vec![file.clone()],
        ..world.policy()
    };
    let boundary = Boundary::prepare(policy, Private::Memory).unwrap();
    assert_eq!(shell(&boundary, &format!("cat {}", file.display())).printed(), "shown");
    shell(&boundary, "touch file").failed("Read-only file system");
    let island = world.base.path().display();
    shell(&boundary, &format!("mv {island} /tmp/other")).failed("busy");
}

#[test]
fn as_an_ordinary_user_too() {
    common::again_as_an_ordinary_user("as_an_ordinary_user_too");
}
