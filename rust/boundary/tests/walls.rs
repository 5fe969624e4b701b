//! What a command cannot do, each tried for real. Every run also proves by its report that no layer was missing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use coder_boundary::{Bound, Boundary, Error, Exhausted, Mode, Network, Policy, Resources, Workspace};
use coder_process::Ending;
use common::{World, again_as_an_ordinary_user, is_root, python, shell};
use rstest::rstest;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};

#[test]
fn as_an_ordinary_user() {
    again_as_an_ordinary_user("as_an_ordinary_user");
}

#[test]
fn what_was_not_granted_is_absent() {
    let world = World::new();
    let outside = world.outside.display();
    let script = format!(
        "ls -d {outside} /root /etc/shadow /etc/ssh /etc/ssl/private /etc/sudoers /sys /boot /srv /opt /var/log /mnt \
         /proc/1/cwd/etc/shadow /home/* 2>&1; true"
    );
    let printed = world.shell(&script).printed();
    let there: Vec<&str> = printed
        .lines()
        .filter(|line| !line.starts_with("ls: cannot access"))
        .collect();
    assert_eq!(there, ["/home/agent"]);
}

#[rstest]
#[case::beside_the_workspace("touch ../x")]
#[case::the_root("touch /x")]
#[case::usr("touch /usr/x")]
#[case::etc("touch /etc/x")]
#[case::etc_file("echo x >> /etc/passwd")]
#[case::var("touch /var/x")]
#[case::proc_sys("echo x > /proc/sys/kernel/core_pattern")]
#[case::sysrq("echo x > /proc/sysrq-trigger")]
#[case::dev("touch /dev/x")]
#[case::run("touch /run/x")]
#[case::home_parent("touch /home/x")]
#[case::the_workspace_itself("cd / && rmdir \"$OLDPWD\" || mv \"$OLDPWD\" /tmp/x")]
fn writes_outside_the_grant_are_refused(#[case] script: &str) {
    let world = World::new();
    assert_ne!(world.shell(script).code, 0);
    let left: Vec<_> = fs::read_dir(world.base.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_read_grant_cannot_be_written_and_a_read_only_workspace_neither() {
    let world = World::new();
    let policy = Policy {
        workspace: Some(Workspace {
            path: world.workspace.clone(),
            mode: Mode::Read,
        }),
        reads: vec![world.outside.clone()],
        ..Policy::default()
    };
    let boundary = world.prepare(policy);
    let outside = world.outside.display();
    assert_eq!(shell(&boundary, &format!("cat {outside}/secret")).printed(), "secret");
    shell(&boundary, &format!("echo x > {outside}/secret")).failed("Read-only file system");
    shell(&boundary, "touch x").failed("Read-only file system");
    assert_eq!(fs::read_to_string(world.outside.join("secret")).unwrap(), "secret");
}

#[test]
fn a_sealed_path_inside_a_read_is_covered_and_inside_a_write_is_refused() {
    let world = World::new();
    let store = world.outside.join("store");
    fs::create_dir(&store).unwrap();
    fs::write(store.join("journal"), "private").unwrap();
    let file = world.outside.join("sealed-file");
    fs::write(&file, "private").unwrap();
    let policy = Policy {
        reads: vec![world.outside.clone()],
        sealed: vec![store.clone(), file.clone()],
        ..world.policy()
    };
    let script = format!(
        "cat {}/secret; ls -A {}; cat {}",
        world.outside.display(),
        store.display(),
        file.display()
    );
    assert_eq!(shell(&world.prepare(policy.clone()), &script).printed(), "secret");

    for write in [&world.outside, &store, &store.join("journal")] {
        let policy = Policy {
            writes: vec![write.clone()],
            ..policy.clone()
        };
        let error = Boundary::prepare(policy, world.scratch()).unwrap_err();
        assert_eq!(error.code(), "grant_meets_sealed", "{error}");
    }
    let policy = Policy {
        reads: vec![store.join("journal")],
        ..policy
    };
    assert_eq!(
        Boundary::prepare(policy, world.scratch()).unwrap_err().code(),
        "grant_meets_sealed"
    );
}

#[rstest]
#[case::relative("relative", "path_not_absolute")]
#[case::missing("/nonexistent/path", "path_unusable")]
#[case::root("/", "path_reserved")]
#[case::etc("/etc", "path_reserved")]
#[case::etc_by_detour("/usr/../etc", "path_reserved")]
#[case::proc("/proc/self", "path_reserved")]
#[case::device("/dev/null", "path_reserved")]
fn a_grant_that_cannot_be_is_refused(#[case] path: &str, #[case] code: &str) {
    let world = World::new();
    for policy in [
        Policy {
            reads: vec![path.into()],
            ..world.policy()
        },
        Policy {
            writes: vec![path.into()],
            ..world.policy()
        },
        Policy {
            workspace: Some(Workspace {
                path: path.into(),
                mode: Mode::Write,
            }),
            ..Policy::default()
        },
    ] {
        let error = Boundary::prepare(policy, world.scratch()).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
    }
}

#[test]
fn a_scratch_inside_the_grant_is_refused() {
    let world = World::new();
    let scratch = coder_boundary::Scratch::create(&world.workspace).unwrap();
    let path = scratch.path().to_path_buf();
    let error = Boundary::prepare(world.policy(), scratch).unwrap_err();
    assert!(
        matches!(error, Error::ScratchInsideGrant { scratch, granted } if scratch == path && granted == world.workspace)
    );
}

#[test]
fn a_directory_nobody_granted_cannot_be_the_start() {
    let world = World::new();
    let policy = Policy {
        directory: Some(world.outside.clone()),
        ..world.policy()
    };
    assert_eq!(
        Boundary::prepare(policy, world.scratch()).unwrap_err().code(),
        "directory_hidden"
    );
}

#[test]
fn the_hosts_loopback_is_unreachable_and_so_are_its_sockets() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let named = UnixListener::bind(world.outside.join("socket")).unwrap();
    let name = format!("microcoder-test-{port}");
    let hidden = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let script = format!(
        r#"
import socket, os
def attempt(family, address):
    try:
        socket.socket(family).connect(address)
        return "connected"
    except OSError as error:
        return type(error).__name__
print(attempt(socket.AF_INET, ("127.0.0.1", {port})))
print(attempt(socket.AF_UNIX, {:?}))
print(attempt(socket.AF_UNIX, "\0{name}"))
"#,
        world.outside.join("socket")
    );
    assert_eq!(
        world.python(&script).printed(),
        "ConnectionRefusedError\nFileNotFoundError\nConnectionRefusedError\n"
    );

    // With the host's network the abstract socket is cut off by Landlock's scope, where the kernel has it.
    let policy = Policy {
        network: Network::Host,
        ..world.policy()
    };
    let boundary = world.prepare(policy);
    let scoped = boundary.planned().abstract_sockets == coder_boundary::AbstractSockets::Scoped;
    let third = if scoped { "PermissionError" } else { "connected" };
    assert_eq!(
        python(&boundary, &script).printed(),
        format!("connected\nFileNotFoundError\n{third}\n")
    );
    drop((listener, named, hidden));
}

/// The calls of report 7's kind: refused by what they reach, not by their name's likeness to something harmful.
#[rstest]
#[case::ptrace("call(101, 0, 0, 0, 0)", "EPERM")]
#[case::process_vm_readv("call(310, os.getpid(), 0, 0, 0, 0, 0)", "EPERM")]
#[case::process_vm_writev("call(311, os.getpid(), 0, 0, 0, 0, 0)", "EPERM")]
#[case::pidfd_getfd("call(438, 0, 0, 0)", "EPERM")]
#[case::kcmp("call(312, 1, 1, 0, 0, 0)", "EPERM")]
#[case::io_uring_setup("call(425, 1, 0)", "EPERM")]
#[case::keyctl("call(250, 0, 0, 0)", "EPERM")]
#[case::bpf("call(321, 0, 0, 0)", "EPERM")]
#[case::perf_event_open("call(298, 0, 0, 0, 0, 0)", "EPERM")]
#[case::userfaultfd("call(323, 0)", "EPERM")]
#[case::mount("call(165, b'x', b'/tmp', b'tmpfs', 0, 0)", "EPERM")]
#[case::umount("call(166, b'/proc', 2)", "EPERM")]
#[case::fsopen("call(430, b'tmpfs', 0)", "EPERM")]
#[case::open_tree("call(428, -100, b'/', 1)", "EPERM")]
#[case::open_tree_attr("call(467, -100, b'/', 1, 0, 0)", "EPERM")]
#[case::mount_setattr("call(442, -100, b'/', 0, 0, 0)", "EPERM")]
#[case::pivot_root("call(155, b'/', b'/')", "EPERM")]
#[case::chroot("call(161, b'/tmp')", "EPERM")]
#[case::setns("call(308, 0, 0)", "EPERM")]
#[case::unshare_user("call(272, 0x10000000)", "EPERM")]
#[case::unshare_time("call(272, 0x80)", "EPERM")]
#[case::unshare_files_is_harmless("call(272, 0x400)", "0")]
#[case::clone_user("call(56, 0x10000011, 0, 0, 0, 0)", "EPERM")]
#[case::clone3("call(435, 0, 0)", "ENOSYS")]
#[case::open_by_handle("call(304, 0, 0, 0)", "EPERM")]
#[case::name_to_handle("call(303, -100, b'/', 0, 0, 0)", "EPERM")]
#[case::kexec("call(246, 0, 0, 0, 0)", "EPERM")]
#[case::init_module("call(175, 0, 0, b'')", "EPERM")]
#[case::reboot("call(169, 0, 0, 0, 0)", "EPERM")]
#[case::swapoff("call(168, b'/x')", "EPERM")]
#[case::personality_odd("call(135, 0x0400000)", "EPERM")]
#[case::personality_query("call(135, 0xffffffff)", "0")]
#[case::tiocsti("call(16, 0, 0x5412, b'x')", "EPERM")]
#[case::tiocsti_with_high_bits("call(16, 0, 0xff00005412, b'x')", "EPERM")]
#[case::tioclinux("call(16, 0, 0x541c, b'x')", "EPERM")]
#[case::vsock("call(41, 40, 1, 0)", "EPERM")]
#[case::packet("call(41, 17, 3, 0)", "EPERM")]
#[case::kernel_crypto("call(41, 38, 5, 0)", "EPERM")]
#[case::netlink_audit("call(41, 16, 3, 9)", "EPERM")]
#[case::netlink_route("min(0, call(41, 16, 3, 0))", "0")]
#[case::x32("call(0x40000000 + 39)", "ENOSYS")]
#[cfg(target_arch = "x86_64")]
fn a_call_past_the_namespaces_is_refused(#[case] call: &str, #[case] answer: &str) {
    let script = format!(
        r"
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    value = libc.syscall(ctypes.c_long(number), *wide)
    return errno.errorcode[ctypes.get_errno()] if value < 0 else value
def min(low, value): return low if isinstance(value, int) else value
print({call})
"
    );
    assert_eq!(World::new().python(&script).printed().trim(), answer);
}

#[test]
fn nothing_of_the_hosts_processes_is_seen_and_the_warden_cannot_be_read() {
    let world = World::new();
    let script = r#"
import os
print(sorted(int(name) for name in os.listdir("/proc") if name.isdigit()) == [os.getpid()])
for name in ("cmdline", "mem", "environ", "maps", "root", "cwd", "fd"):
    path = "/proc/1/" + name
    try:
        path += "/" + os.listdir(path)[0] if name == "fd" else ""
        os.readlink(path) if name in ("root", "cwd", "fd") else open(path, "rb").read(1)
        print(name, "read")
    except OSError as error:
        print(name, type(error).__name__)
try:
    os.kill(1, 9)
except OSError as error:
    print("kill", type(error).__name__)
"#;
    let names = ["cmdline", "mem", "environ", "maps", "root", "cwd", "fd"];
    let refused = names.map(|name| format!("{name} FileNotFoundError\n"));
    let printed = world.python(script).printed();
    assert_eq!(printed.lines().next(), Some("True"));
    assert!(printed.contains(&refused.concat()), "{printed}");
}

#[test]
fn there_is_no_capability_and_none_to_be_had() {
    let world = World::new();
    let printed = world
        .shell("grep -E '^(Cap|NoNewPrivs)' /proc/self/status | tr -d '\\t'")
        .printed();
    let none = "0".repeat(16);
    assert_eq!(
        printed,
        format!("CapInh:{none}\nCapPrm:{none}\nCapEff:{none}\nCapBnd:{none}\nCapAmb:{none}\nNoNewPrivs:1\n")
    );
    // Root without capabilities is held to permissions like anybody.
    let script = "touch x && chmod 0 x && ! cat x && ! chown 12 x && ! mknod y c 1 3";
    world.shell(script).printed();
}

#[test]
fn a_set_user_id_program_gains_nothing() {
    if !is_root() {
        println!("skipped: only root can make one that belongs to somebody else");
        return;
    }
    let world = World::new();
    fs::copy("/usr/bin/id", world.workspace.join("id")).unwrap();
    fs::set_permissions(world.workspace.join("id"), fs::Permissions::from_mode(0o6755)).unwrap();
    std::os::unix::fs::chown(world.workspace.join("id"), Some(12), Some(12)).unwrap();
    fs::set_permissions(world.workspace.join("id"), fs::Permissions::from_mode(0o6755)).unwrap();
    assert_eq!(world.shell("./id -u; ./id -g").printed(), "0\n0\n");
}

#[test]
fn no_descriptor_of_the_host_is_inherited() {
    let world = World::new();
    let file = fs::File::open(world.outside.join("secret")).unwrap();
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    assert_eq!(
        world
            .python("import os; print(sorted(os.listdir('/proc/self/fd'))[:4])")
            .printed(),
        "['0', '1', '2', '3']\n"
    );
    drop(file);
}

#[test]
fn the_bounds_of_each_process_hold() {
    let world = World::new();
    let resources = Resources {
        open_files: Some(64),
        file_bytes: Some(1 << 20),
        cpu_seconds: Some(30),
        ..Resources::default()
    };
    let boundary = world.prepare(Policy {
        resources,
        ..world.policy()
    });
    let script = r#"
import resource
for name in ("DATA", "NOFILE", "FSIZE", "CPU", "CORE"):
    print(name, resource.getrlimit(getattr(resource, "RLIMIT_" + name))[0])
"#;
    assert_eq!(
        python(&boundary, script).printed(),
        "DATA -1\nNOFILE 64\nFSIZE 1048576\nCPU 30\nCORE 0\n"
    );
    let planned = boundary.planned();
    assert_eq!(
        (planned.memory, planned.process_count, planned.open_files),
        (Bound::None, Bound::None, Bound::PerProcess(64))
    );
    let seconds = world.prepare(Policy {
        resources: Resources {
            cpu_seconds: Some(1),
            ..Resources::default()
        },
        ..world.policy()
    });
    let outcome = seconds
        .command("/bin/sh")
        .arguments(["-c", "while :; do :; done"])
        .capture(0)
        .unwrap();
    assert_eq!(outcome.ending, Ending::Signalled(libc::SIGXCPU));
}

/// Memory and processes are those of the whole tree where this user may make control groups, else of each process and of
/// the user; which it was is said, and so is that they ran out.
#[test]
fn the_bounds_of_memory_and_processes_hold_and_are_told() {
    let world = World::new();
    let boundary = world.prepare(Policy {
        resources: Resources {
            memory_bytes: Some(96 << 20),
            processes: Some(20),
            ..Resources::default()
        },
        ..world.policy()
    });
    let grouped = boundary.planned().group.is_some();
    let run = |script: &str| {
        let outcome = boundary
            .command("/usr/bin/python3")
            .arguments(["-c", script])
            .capture(1 << 16)
            .unwrap();
        assert_eq!(boundary.enforced(outcome.layers), *boundary.planned());
        let printed = String::from_utf8(outcome.stdout.head).unwrap();
        (outcome.ending, printed, boundary.exhausted(outcome.exhausted))
    };
    let told = |memory, processes| Exhausted {
        out_of_memory: grouped.then_some(memory),
        out_of_processes: grouped.then_some(processes),
        out_of_scratch: None,
    };
    let (ending, printed, exhausted) = run("print('nothing')");
    assert_eq!(
        (ending, printed.as_str(), exhausted),
        (Ending::Exited(0), "nothing\n", told(false, false))
    );
    // No process holds more than its share; together they hold too much. A group counts that, a limit of each does not.
    let shared = r#"
import os, signal
ready, go = os.pipe()
children = []
for n in range(4):
    child = os.fork()
    if child == 0:
        block = bytearray(os.urandom(1 << 20) * 40)
        os.write(go, b"x")
        os.close(go)
        signal.pause()
    children.append(child)
os.close(go)
whole = 0
for child in children:
    whole += len(os.read(ready, 1))
for child in children: os.kill(child, 9)
print(sum(os.WIFSIGNALED(os.waitpid(child, 0)[1]) for child in children), whole)
"#;
    let (_, printed, exhausted) = run(shared);
    assert_eq!(exhausted, told(true, false), "{printed}");
    assert_eq!(printed == "4 4\n", !grouped, "{printed}");
    let forks = r#"
import os, time
try:
    for n in range(40):
        if os.fork() == 0: time.sleep(60)
except BlockingIOError: print("bounded")
"#;
    let (ending, printed, exhausted) = run(forks);
    assert_eq!((ending, printed.as_str()), (Ending::Exited(0), "bounded\n"));
    assert_eq!(exhausted, told(false, true));
    if !grouped {
        let (_, printed, _) = run("try: bytearray(256 << 20)\nexcept MemoryError: print('no memory')");
        assert_eq!(printed, "no memory\n");
    }
}

/// The listing of the workspace from outside never shows a name of ours: before, during and after a command.
#[test]
fn nothing_of_ours_appears_in_the_workspace() {
    let world = World::new();
    let names = |world: &World| {
        let mut names: Vec<OsString> = fs::read_dir(&world.workspace)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    let view = common::checkout(&world);
    fs::create_dir(world.workspace.join("inner")).unwrap();
    fs::write(world.workspace.join("inner/kept"), "").unwrap();
    let before = names(&world);
    let fifo = world.workspace.join("fifo");
    let policy = Policy {
        git: Some(view),
        reads: vec![world.workspace.join("inner")],
        ..world.policy()
    };
    let boundary = world.prepare(policy);
    assert_eq!(names(&world), before);
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let during = std::thread::scope(|scope| {
        let running = scope.spawn(|| shell(&boundary, "echo ready > fifo; read go < fifo; test ! -w inner").code);
        let mut ready = String::new();
        fs::File::open(&fifo).unwrap().read_to_string(&mut ready).unwrap();
        let during = (
            names(&world),
            fs::read_dir(world.workspace.join("inner")).unwrap().count(),
        );
        fs::write(&fifo, "go\n").unwrap();
        assert_eq!(running.join().unwrap(), 0);
        during
    });
    fs::remove_file(&fifo).unwrap();
    let mut with_fifo = before.clone();
    with_fifo.push("fifo".into());
    with_fifo.sort();
    assert_eq!(during, (with_fifo, 1));
    assert_eq!(names(&world), before);
}

#[test]
fn a_granted_directory_that_was_replaced_is_refused() {
    let world = World::new();
    let boundary = world.boundary();
    fs::rename(&world.workspace, world.base.path().join("moved")).unwrap();
    fs::create_dir(&world.workspace).unwrap();
    let error = boundary.command("/bin/true").capture(0).unwrap_err();
    assert_eq!(error.code(), "confinement_failed");
    assert!(
        error
            .to_string()
            .contains(&format!("show {}", world.workspace.display())),
        "{error}"
    );
    fs::remove_dir(&world.workspace).unwrap();
    std::os::unix::fs::symlink(world.base.path().join("outside"), &world.workspace).unwrap();
    assert_eq!(
        boundary.command("/bin/true").capture(0).unwrap_err().code(),
        "confinement_failed"
    );
}

#[test]
fn a_workspace_of_any_bytes_and_any_place_works() {
    let places = if is_root() {
        vec![std::env::temp_dir(), "/root".into()]
    } else {
        vec![std::env::temp_dir()]
    };
    for place in places {
        let mut world = World::under(&place);
        let odd = world.base.path().join(OsString::from_vec(b"odd \xff\n'name".to_vec()));
        fs::create_dir(&odd).unwrap();
        world.workspace = odd;
        world.shell("pwd > here && test -f here").printed();
        assert!(world.workspace.join("here").exists());
    }
}

/// Report 15: the hooks of a nested repository can neither be changed nor put aside in one command.
#[test]
fn report_15_what_is_guarded_in_a_writable_tree_stays_as_it_is() {
    let world = World::new();
    let nested = world.workspace.join("vendor/x/.git");
    fs::create_dir_all(nested.join("hooks")).unwrap();
    fs::write(nested.join("config"), "own").unwrap();
    let policy = Policy {
        guarded: vec![nested.clone(), world.workspace.join("gone/.git")],
        ..world.policy()
    };
    let boundary = world.prepare(policy);
    let script = "cd vendor/x
        for attempt in 'echo evil >.git/hooks/pre-commit' 'echo evil >.git/config' 'mv .git .g2' 'rm -rf .git/hooks' \
            'mkdir ../y && mv .git ../y' 'mv .git/hooks .git/h2'; do
            if sh -c \"$attempt\" 2>/dev/null; then echo \"done: $attempt\"; fi
        done
        echo fine >file";
    assert_eq!(shell(&boundary, script).printed(), "");
    assert_eq!(fs::read(nested.join("config")).unwrap(), b"own");
    assert_eq!(fs::read_dir(nested.join("hooks")).unwrap().count(), 0);
    assert_eq!(fs::read(world.workspace.join("vendor/x/file")).unwrap(), b"fine\n");
    // One that is put aside with its whole repository is not there for the next command, which starts all the same.
    shell(&boundary, "mv vendor/x vendor/z").printed();
    shell(&boundary, "true").printed();
}
