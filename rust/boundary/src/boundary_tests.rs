//! That each layer stops something: an attempt that every layer together refuses succeeds when that layer is left out,
//! with those that stand behind it. The switch exists in tests only.

use super::*;
use crate::policy::{Mode, Workspace};
use coder_process::Ending;
use rstest::rstest;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

struct World {
    base: tempfile::TempDir,
    workspace: PathBuf,
}

fn world() -> World {
    // Not in /tmp, which the rules allow: without the assembled root they would mean the host's.
    let base = tempfile::tempdir_in("/var/tmp").unwrap();
    let workspace = base.path().join("workspace");
    fs::create_dir(&workspace).unwrap();
    fs::write(base.path().join("secret"), "secret").unwrap();
    World { base, workspace }
}

impl World {
    fn exit(&self, without: &[Layer], network: Network, script: &str) -> Ending {
        let policy = Policy {
            workspace: Some(Workspace {
                path: self.workspace.clone(),
                mode: Mode::Write,
            }),
            network,
            ground: Ground::without(without.iter().copied()),
            ..Policy::default()
        };
        let scratch = Scratch::create(self.base.path()).unwrap();
        let boundary = Boundary::prepare(policy, scratch).unwrap();
        let outcome = boundary
            .command("/usr/bin/python3")
            .arguments(["-c", script])
            .capture(1 << 16)
            .unwrap();
        assert_eq!(boundary.enforced(outcome.layers).satisfies(boundary.planned()), Ok(()));
        outcome.ending
    }
}

const CALL: &str = "
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(*arguments): sys.exit(libc.syscall(*(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments)) < 0)
";

#[rstest]
// The mount wall and Landlock each stop a read outside by themselves; only without both does it succeed.
#[case::files_by_the_root(&[Layer::Landlock], Network::None, "open('SECRET').read()", false)]
#[case::files_by_landlock(&[Layer::AssembledRoot], Network::None, "open('SECRET').read()", false)]
#[case::files(&[Layer::AssembledRoot, Layer::Landlock], Network::None, "open('SECRET').read()", true)]
#[case::writes_by_landlock(&[Layer::AssembledRoot], Network::None, "open('SECRET', 'w')", false)]
#[case::writes(&[Layer::AssembledRoot, Layer::Landlock], Network::None, "open('SECRET', 'w')", true)]
#[case::network_namespace(
    &[Layer::NetworkNamespace, Layer::Loopback], Network::None,
    "import socket; socket.create_connection(('127.0.0.1', PORT))", true
)]
#[case::loopback(
    &[Layer::Loopback], Network::None,
    "import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname())", false
)]
#[case::landlock_scope(
    &[Layer::Landlock, Layer::LandlockScope], Network::Host, "import socket; socket.socket(socket.AF_UNIX).connect('\\0microcoder-PORT')", true
)]
#[case::process_namespace(
    // A /proc cannot be mounted for a namespace that is not ours, so the root goes too.
    &[Layer::ProcessNamespace, Layer::AssembledRoot, Layer::Landlock], Network::None, "import os; os.kill(PID, 0)", true
)]
#[case::signals_by_landlock(
    &[Layer::ProcessNamespace, Layer::AssembledRoot], Network::None, "import os; os.kill(PID, 0)", false
)]
#[case::ipc_namespace(&[Layer::IpcNamespace], Network::None, "CALLcall(29, SEGMENT, 0, 0)", true)]
#[case::host_name_namespace(
    &[Layer::HostNameNamespace], Network::None,
    "import os; sys = os.stat('/proc/self/ns/uts').st_ino; exit(sys != UTS)", true
)]
#[case::system_calls(&[Layer::SystemCalls], Network::None, "CALLcall(272, 0x10000000)", true)]
#[case::capabilities(
    // Mounting also needs the filter gone; with the capabilities still dropped it is refused all the same.
    &[Layer::Capabilities, Layer::SystemCalls, Layer::Landlock], Network::None,
    "CALLcall(165, b'x', b'/dev/shm', b'tmpfs', 0, 0)", true
)]
#[case::mounting_by_capabilities(
    &[Layer::SystemCalls, Layer::Landlock], Network::None, "CALLcall(165, b'x', b'/dev/shm', b'tmpfs', 0, 0)", false
)]
// The warden is in the host's memory; capabilities and Landlock each keep a command from it by themselves.
#[case::warden_memory_by_landlock(&[Layer::Capabilities], Network::None, "open('/proc/1/mem', 'rb')", false)]
#[case::warden_memory_by_capabilities(&[Layer::Landlock], Network::None, "open('/proc/1/mem', 'rb')", false)]
#[case::no_new_privileges(
    // Landlock and the filter need it from an ordinary user, so they are left out with it.
    &[Layer::NoNewPrivileges, Layer::Landlock, Layer::SystemCalls, Layer::Capabilities], Network::None,
    "exit('NoNewPrivs:\\t0' not in open('/proc/self/status').read())", true
)]
#[cfg(target_arch = "x86_64")]
fn each_layer_bites(
    #[case] without: &[Layer],
    #[case] network: Network,
    #[case] attempt: &str,
    #[case] succeeds_without: bool,
) {
    use std::os::linux::fs::MetadataExt;
    use std::os::linux::net::SocketAddrExt;

    let world = world();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let address = std::os::unix::net::SocketAddr::from_abstract_name(format!("microcoder-{port}")).unwrap();
    let hidden = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
    // A segment of the host's, as the attempt would find it. Segments are the whole machine's and the cases run side by
    // side: the key is this process's own, and only the case that looks for the segment makes and removes it.
    let key = 0x4d43_0000 ^ std::process::id().cast_signed();
    let segment = attempt.contains("SEGMENT").then(|| {
        // SAFETY: no pointer is passed.
        unsafe { libc::shmget(key, 4096, libc::IPC_CREAT | 0o666) }
    });
    let script = attempt
        .replace("CALL", CALL)
        .replace("SEGMENT", &key.to_string())
        .replace("SECRET", world.base.path().join("secret").to_str().unwrap())
        .replace("PORT", &port.to_string())
        .replace("PID", &std::process::id().to_string())
        .replace("UTS", &fs::metadata("/proc/self/ns/uts").unwrap().st_ino().to_string());

    let with_everything = if without == [Layer::Loopback] {
        Ending::Exited(0)
    } else {
        Ending::Exited(1)
    };
    assert_eq!(world.exit(&[], network.clone(), &script), with_everything);
    let expected = if succeeds_without {
        Ending::Exited(0)
    } else {
        Ending::Exited(1)
    };
    assert_eq!(world.exit(without, network, &script), expected);
    if let Some(segment) = segment {
        // SAFETY: no pointer is passed but the null that removal takes.
        unsafe { libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut()) };
    }
    drop((listener, hidden));
}

#[test]
fn a_program_of_another_architecture_is_ended() {
    // `int 0x80` reaches the 32-bit table: write(1, …) = 4 there, exit = 1.
    let world = world();
    let program = world.workspace.join("foreign");
    let code: &[u8] = &[0xb8, 1, 0, 0, 0, 0x31, 0xdb, 0xcd, 0x80, 0xf4];
    let mut elf = Vec::new();
    elf.write_all(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0").unwrap();
    for field in [2_u16, 62] {
        elf.write_all(&field.to_le_bytes()).unwrap();
    }
    elf.write_all(&1_u32.to_le_bytes()).unwrap();
    for field in [0x40_0078_u64, 64, 0] {
        elf.write_all(&field.to_le_bytes()).unwrap();
    }
    elf.write_all(&0_u32.to_le_bytes()).unwrap();
    for field in [64_u16, 56, 1, 0, 0, 0] {
        elf.write_all(&field.to_le_bytes()).unwrap();
    }
    for field in [1_u32, 5] {
        elf.write_all(&field.to_le_bytes()).unwrap();
    }
    let length = (120 + code.len()) as u64;
    for field in [0_u64, 0x40_0000, 0x40_0000, length, length, 0x1000] {
        elf.write_all(&field.to_le_bytes()).unwrap();
    }
    elf.write_all(code).unwrap();
    fs::write(&program, elf).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let run = |without: &[Layer]| {
        let policy = Policy {
            workspace: Some(Workspace {
                path: world.workspace.clone(),
                mode: Mode::Write,
            }),
            ground: Ground::without(without.iter().copied()),
            ..Policy::default()
        };
        let scratch = Scratch::create(world.base.path()).unwrap();
        let boundary = Boundary::prepare(policy, scratch).unwrap();
        boundary.command(&program).capture(0).unwrap().ending
    };
    assert_eq!(run(&[]), Ending::Signalled(libc::SIGSYS));
    // Where the kernel runs such calls at all they pass without the filter.
    assert!(matches!(
        run(&[Layer::SystemCalls]),
        Ending::Exited(0) | Ending::Signalled(libc::SIGSEGV)
    ));
}

#[rstest]
#[case::fits(Network::None, None, true)]
#[case::other_network(Network::Host, None, false)]
#[case::other_memory(Network::None, Some(1 << 30), false)]
fn what_was_started_early_is_taken_where_it_is_how_a_command_begins(
    #[case] network: Network,
    #[case] memory_bytes: Option<u64>,
    #[case] fits: bool,
) {
    let resources = Resources {
        memory_bytes,
        ..Resources::default()
    };
    let early = Boundary::early(&network, &resources).unwrap();
    let boundary = Boundary::prepare(Policy::default(), Private::Memory).unwrap();
    let taken = boundary.take(early);
    // Another network shows only when the command is run.
    assert_eq!(taken.is_some(), fits || network == Network::Host);
    let command = boundary
        .command("/bin/sh")
        .arguments([
            "-c",
            "test -d /usr/bin && test -c /dev/null && test -d /proc/self && ! test -e /etc/shadow",
        ])
        .stdin(coder_process::Stdin::Inherit)
        .stdout(coder_process::Output::Inherit)
        .stderr(coder_process::Output::Inherit);
    let cancel = coder_process::Cancel::never();
    let observe = &mut |_: coder_process::Event<'_>| coder_process::Flow::Continue;
    let outcome = match taken {
        Some(early) => coder_process::run_early(&command, early, &cancel, observe),
        None => coder_process::run(&command, &cancel, observe),
    }
    .unwrap();
    assert_eq!(outcome.ending, Ending::Exited(0));
    assert_eq!(boundary.enforced(outcome.layers), *boundary.planned());
}

/// In the host's own network its listener would be everybody's.
#[test]
fn there_is_no_gateway_without_a_network_of_the_commands_own() {
    let policy = Policy {
        network: "allow:a.test:1".parse().unwrap(),
        ground: Ground::without([Layer::NetworkNamespace]),
        ..Policy::default()
    };
    let refused = Boundary::prepare(policy, Private::Memory).unwrap_err();
    assert_eq!(refused.code(), "needs_layer");
}
