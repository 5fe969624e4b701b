//! What is held where a machine gives less: each test really takes something away from the thread that starts the command,
//! as containers, AppArmor and older kernels do, and looks at what is left.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use coder_boundary::{Bound, Boundary, Error, Ground, Layer, Level, Mode, Network, Policy, Private, Reach, Workspace};
use common::{World, again_as_an_ordinary_user, is_root, python, shell};
use rstest::rstest;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

#[test]
fn as_an_ordinary_user() {
    again_as_an_ordinary_user("as_an_ordinary_user");
}

/// What is taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    /// Every namespace, as container runtimes and `user.max_user_namespaces=0` do.
    Namespaces,
    /// Landlock, as before Linux 5.13.
    Landlock,
    /// The right to configure a network, as AppArmor does (report 1).
    Loopback,
    /// Mounts, as AppArmor and containers with a masked /proc do.
    Mounts,
    /// Further filters.
    Filters,
}

fn flag_set(flag: i32) -> SeccompRule {
    let flag = u64::from(flag.unsigned_abs());
    let any = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag), flag).unwrap();
    SeccompRule::new(vec![any]).unwrap()
}

impl Taken {
    fn filter(self) -> BpfProgram {
        let namespaces = [
            libc::CLONE_NEWUSER,
            libc::CLONE_NEWNS,
            libc::CLONE_NEWPID,
            libc::CLONE_NEWNET,
            libc::CLONE_NEWIPC,
            libc::CLONE_NEWUTS,
        ];
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
        let errno = match self {
            Self::Namespaces => {
                let flags: Vec<_> = namespaces.into_iter().map(flag_set).collect();
                rules.insert(libc::SYS_clone, flags.clone());
                rules.insert(libc::SYS_unshare, flags);
                libc::EPERM
            }
            Self::Landlock => {
                rules.insert(libc::SYS_landlock_create_ruleset, Vec::new());
                libc::ENOSYS
            }
            Self::Loopback => {
                let request = libc::SIOCSIFFLAGS;
                let set = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, request).unwrap();
                rules.insert(libc::SYS_ioctl, vec![SeccompRule::new(vec![set]).unwrap()]);
                libc::EPERM
            }
            Self::Mounts => {
                rules.insert(libc::SYS_mount, Vec::new());
                libc::EPERM
            }
            Self::Filters => {
                rules.insert(libc::SYS_seccomp, Vec::new());
                libc::EINVAL
            }
        };
        let architecture = TargetArch::try_from(std::env::consts::ARCH).unwrap();
        let refuse = SeccompAction::Errno(errno.unsigned_abs());
        SeccompFilter::new(rules, SeccompAction::Allow, refuse, architecture)
            .unwrap()
            .try_into()
            .unwrap()
    }
}

/// Works in a thread of its own from which things were taken away; what it starts lacks them too.
fn without<T: Send>(taken: &[Taken], work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            for one in taken {
                seccompiler::apply_filter(&one.filter()).unwrap();
            }
            work()
        });
        worker.join().unwrap()
    })
}

/// Tries what a boundary is to hold, and what is to work in it.
const ATTEMPTS: &str = r#"
import os, socket
def attempt(name, act):
    try:
        act()
        print(name, "yes")
    except OSError as error:
        print(name, "no")
def unix(name):
    socket.socket(socket.AF_UNIX).connect(name)
attempt("read_outside", lambda: open("SECRET").read())
attempt("write_outside", lambda: open("SECRET", "a"))
attempt("write_workspace", lambda: open("WORKSPACE/made", "w"))
attempt("write_home", lambda: open(os.environ["HOME"] + "/made", "w"))
attempt("write_temporary", lambda: open(os.environ["TMPDIR"] + "/made", "w"))
attempt("read_programs", lambda: os.listdir("/usr/bin"))
attempt("host_network", lambda: socket.create_connection(("127.0.0.1", PORT)))
def loopback():
    server = socket.create_server(("127.0.0.1", 0))
    socket.create_connection(server.getsockname())
attempt("own_loopback", loopback)
attempt("path_socket", lambda: unix("SOCKET"))
attempt("abstract_socket", lambda: unix("\0levels-PORT"))
pair = socket.socketpair()
attempt("socket_pair", lambda: pair[0].send(b"x"))
attempt("signal_host", lambda: os.kill(PID, 0))
attempt("signal_child", lambda: os.kill(os.posix_spawn("/bin/sleep", ["sleep", "9"], {}), 15))
attempt("memory_of_host", lambda: open("/proc/PID/mem", "rb"))
"#;

fn allowed(boundary: &Boundary, world: &World) -> Vec<String> {
    use std::os::linux::net::SocketAddrExt;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let address = std::os::unix::net::SocketAddr::from_abstract_name(format!("levels-{port}")).unwrap();
    let hidden = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
    let path = world.outside.join("socket");
    let named = std::os::unix::net::UnixListener::bind(&path).unwrap();
    // Somebody else's process, as far as the command is concerned.
    #[expect(clippy::disallowed_methods, reason = "the test prepares the host itself")]
    let mut other = Command::new("/bin/sleep").arg("60").spawn().unwrap();
    let script = ATTEMPTS
        .replace("SECRET", world.outside.join("secret").to_str().unwrap())
        .replace("WORKSPACE", world.workspace.to_str().unwrap())
        .replace("SOCKET", path.to_str().unwrap())
        .replace("PORT", &port)
        .replace("PID", &other.id().to_string());
    let printed = python(boundary, &script).printed();
    other.kill().unwrap();
    other.wait().unwrap();
    drop((hidden, named, listener));
    fs::remove_file(path).unwrap();
    let allowed = printed.lines().filter_map(|line| line.strip_suffix(" yes"));
    allowed.map(str::to_owned).collect()
}

fn prepare(world: &World, ground: Ground) -> Boundary {
    world.prepare(Policy {
        ground,
        ..world.policy()
    })
}

const WORK: [&str; 5] = [
    "write_workspace",
    "write_home",
    "write_temporary",
    "read_programs",
    "socket_pair",
];

#[rstest]
#[case::nothing(&[], Level::Complete, Reach::Loopback, &["own_loopback", "signal_child"])]
#[case::report_1_loopback(&[Taken::Loopback], Level::Complete, Reach::Nothing, &["signal_child"])]
#[case::landlock(&[Taken::Landlock], Level::Namespaces, Reach::Loopback, &["own_loopback", "signal_child"])]
#[case::namespaces(&[Taken::Namespaces], Level::Landlock, Reach::Refused, &["signal_child"])]
// A network namespace is left, and holds what it holds.
#[case::mounts(&[Taken::Mounts], Level::Landlock, Reach::Loopback, &["own_loopback", "signal_child"])]
#[case::both(
    &[Taken::Namespaces, Taken::Landlock], Level::SystemCalls, Reach::Refused,
    &["signal_child", "read_outside", "write_outside", "signal_host", "memory_of_host"]
)]
fn what_is_left_holds(#[case] taken: &[Taken], #[case] level: Level, #[case] network: Reach, #[case] beside: &[&str]) {
    let world = World::under("/var/tmp".as_ref());
    let (planned, mut seen) = without(taken, || {
        let ground = Ground::find(Level::SystemCalls, &Network::None).unwrap();
        let boundary = prepare(&world, ground);
        let planned = boundary.planned().clone();
        // `python` compares what really held with what was planned; a loopback that cannot be had shows only here.
        let seen = allowed(&boundary, &world);
        let outcome = boundary.command("/bin/true").capture(0).unwrap();
        let held = boundary.enforced(outcome.layers);
        assert_eq!((held.level, held.network), (Some(level), network));
        (planned, seen)
    });
    assert_eq!(planned.level, Some(level));
    let mut expected: Vec<String> = WORK.iter().chain(beside).map(|name| (*name).to_owned()).collect();
    // Root's own capabilities are dropped, so that it cannot look into processes that have theirs.
    if is_root() {
        expected.retain(|name| name != "memory_of_host");
    }
    expected.sort();
    seen.sort();
    assert_eq!(seen, expected);
    assert!(fs::read_dir(&world.workspace).unwrap().count() == 1);
}

/// Less than is accepted is refused, with what is there and what to do.
#[rstest]
#[case::no_namespaces(&[Taken::Namespaces], Level::Namespaces, Some(Level::Landlock), Layer::UserNamespace)]
#[case::no_landlock(&[Taken::Landlock, Taken::Namespaces], Level::Landlock, Some(Level::SystemCalls), Layer::UserNamespace)]
#[case::no_filter(&[Taken::Filters], Level::SystemCalls, None, Layer::SystemCalls)]
fn less_than_is_accepted_is_refused(
    #[case] taken: &[Taken],
    #[case] least: Level,
    #[case] there: Option<Level>,
    #[case] missing: Layer,
) {
    let error = without(taken, || Ground::find(least, &Network::None).unwrap_err());
    let Error::LevelTooLow {
        least: said,
        level,
        ref gap,
    } = error
    else {
        panic!("{error}")
    };
    assert_eq!((said, level), (least, there));
    assert!(
        gap.starts_with(&format!("no {missing}")) && gap.ends_with(missing.fix()),
        "{gap}"
    );
}

/// Report 3: by default nothing is done with less. The kernel shows it when a command starts.
#[test]
fn report_3_by_default_less_refuses() {
    let world = World::new();
    without(&[Taken::Landlock], || {
        let refused = Boundary::prepare(world.policy(), Private::Memory).unwrap_err();
        assert!(
            matches!(
                refused,
                Error::Layer {
                    layer: Layer::Landlock,
                    ..
                }
            ),
            "{refused}"
        );
    });
    without(&[Taken::Namespaces], || {
        let boundary = Boundary::prepare(world.policy(), Private::Memory).unwrap();
        let refused = boundary.command("/bin/true").capture(0).unwrap_err();
        let gap = coder_boundary::explain(&refused).unwrap();
        assert_eq!((gap.layer, gap.fix), (Layer::UserNamespace, Layer::UserNamespace.fix()));
    });
    without(&[Taken::Mounts], || {
        let boundary = Boundary::prepare(world.policy(), Private::Memory).unwrap();
        let refused = boundary.command("/bin/true").capture(0).unwrap_err();
        let coder_process::Error::Confinement { act, .. } = refused else {
            panic!("{refused}")
        };
        assert!(
            act.ends_with(&format!("(assembled_root: {})", Layer::AssembledRoot.fix())),
            "{act}"
        );
    });
}

/// Landlock takes nothing away beneath what it grants: what only a mount can do is refused where there are none.
#[test]
fn what_only_a_mount_can_hold_is_refused_without_one() {
    let world = World::new();
    let inner = world.workspace.join("inner");
    fs::create_dir(&inner).unwrap();
    let ground = without(&[Taken::Namespaces], || {
        Ground::find(Level::Landlock, &Network::None).unwrap()
    });
    let refused = |policy: Policy| match Boundary::prepare(Policy { ground, ..policy }, world.scratch()) {
        Err(error) => error.code(),
        Ok(_) => "prepared",
    };
    let read_inside = Policy {
        reads: vec![inner.clone()],
        ..world.policy()
    };
    assert_eq!(refused(read_inside), "needs_assembled_root");
    let sealed_inside = Policy {
        workspace: Some(Workspace {
            path: world.workspace.clone(),
            mode: Mode::Read,
        }),
        sealed: vec![inner],
        ..Policy::default()
    };
    assert_eq!(refused(sealed_inside), "needs_assembled_root");
    let in_memory = Boundary::prepare(
        Policy {
            ground,
            ..world.policy()
        },
        Private::Memory,
    );
    assert_eq!(in_memory.unwrap_err().code(), "needs_layer");
    let debugger = Policy {
        debugger: coder_boundary::Permission::Allowed,
        ..world.policy()
    };
    assert_eq!(refused(debugger), "needs_layer");
    assert_eq!(refused(world.policy()), "prepared");
}

/// A granted directory that was replaced meanwhile is not the one that was granted.
#[test]
fn without_mounts_the_very_directories_are_granted() {
    let world = World::under("/var/tmp".as_ref());
    let granted = world.base.path().join("granted");
    fs::create_dir(&granted).unwrap();
    without(&[Taken::Namespaces], || {
        let boundary = world.prepare(Policy {
            reads: vec![granted.clone()],
            ground: Ground::find(Level::Landlock, &Network::None).unwrap(),
            ..world.policy()
        });
        let look = format!("ls {}", granted.display());
        shell(&boundary, &look).printed();
        fs::remove_dir(&granted).unwrap();
        std::os::unix::fs::symlink(&world.outside, &granted).unwrap();
        shell(&boundary, &format!("{look}/")).failed("Permission denied");
    });
}

/// A command's end is the end of its descendants, whatever session they went to.
#[test]
fn report_13_without_a_process_namespace_nothing_is_left() {
    let world = World::new();
    without(&[Taken::Namespaces], || {
        let boundary = prepare(&world, Ground::find(Level::Landlock, &Network::None).unwrap());
        let outcome = boundary
            .command("/bin/sh")
            .arguments(["-c", "setsid sh -c 'setsid sleep 60 & echo $! > left' ; sleep 0.1"])
            .capture(1 << 10)
            .unwrap();
        let reaped = coder_process::Tree::Clear(coder_process::Proof::Reaped);
        assert_eq!(outcome.tree, reaped);
        let left = fs::read_to_string(world.workspace.join("left")).unwrap();
        assert!(!fs::exists(format!("/proc/{}", left.trim())).unwrap());
    });
}

#[test]
fn bounds_of_each_process_hold_at_every_level() {
    let world = World::new();
    let boundary = without(&[Taken::Namespaces, Taken::Landlock], || {
        world.prepare(Policy {
            ground: Ground::find(Level::SystemCalls, &Network::None).unwrap(),
            resources: coder_boundary::Resources {
                open_files: Some(64),
                file_bytes: Some(4096),
                ..coder_boundary::Resources::default()
            },
            ..world.policy()
        })
    });
    let planned = boundary.planned();
    assert_eq!(
        (planned.open_files, planned.file_bytes),
        (Bound::PerProcess(64), Bound::PerProcess(4096))
    );
    let script = "ulimit -n; head -c 5000 /dev/zero > large; stat -c %s large";
    let printed = shell(&boundary, script).printed();
    assert_eq!(printed, "64\n4096\n");
}
