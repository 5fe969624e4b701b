//! How a command starts: exactly what it is given, or one error that says what was wrong.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![allow(
    unsafe_code,
    reason = "foreign processes are watched, and descriptors leaked, by plain system calls"
)]

mod common;

use coder_process::*;
use common::*;
use rstest::rstest;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

#[test]
fn arguments_arrive_byte_for_byte() {
    let arguments: [&[u8]; 5] = [b"", b"two words", b"\xff\xfe", b"-n\n", "é$(x)`y`*".as_bytes()];
    let outcome = Command::new("/bin/sh")
        .arguments(["-c", r#"printf '%s\0' "$@""#, "name"])
        .arguments(arguments.map(OsStr::from_bytes))
        .capture(1000)
        .unwrap();
    let expected: Vec<u8> = arguments
        .iter()
        .flat_map(|argument| [argument, b"\0".as_slice()].concat())
        .collect();
    assert_eq!((outcome.ending, outcome.stdout.head), (Ending::Exited(0), expected));
}

#[test]
fn the_environment_is_exactly_what_was_set() {
    let outcome = Command::new("env")
        .argument("-0")
        .variable("LATER", "replaced")
        .variable("ODD", OsString::from_vec(b"\xff\n=".to_vec()))
        .variable("LATER", "")
        .capture(1000)
        .unwrap();
    assert_eq!(outcome.stdout.head, b"ODD=\xff\n=\0LATER=\0");
}

#[test]
fn a_name_is_looked_up_in_the_commands_own_path() {
    let folder = tempfile::tempdir().unwrap();
    script(&folder.path().join("greet"), "#!/bin/sh\necho found\n", 0o755);
    let both = [OsStr::new("/nowhere:relative:"), folder.path().as_os_str()]
        .map(OsStr::to_owned)
        .concat_path();
    let outcome = Command::new("greet").variable("PATH", both).capture(100).unwrap();
    assert_eq!(outcome.stdout.head, b"found\n");
    let error = Command::new("greet")
        .directory(folder.path())
        .variable("PATH", ".:")
        .capture(100)
        .unwrap_err();
    assert_eq!(
        error.code(),
        "program_not_found",
        "a relative entry of PATH is no place to look"
    );
}

trait ConcatPath {
    fn concat_path(self) -> OsString;
}

impl ConcatPath for [OsString; 2] {
    fn concat_path(self) -> OsString {
        self.into_iter().fold(OsString::new(), |mut all, part| {
            all.push(part);
            all
        })
    }
}

fn script(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[rstest]
#[case::missing("missing", "program_not_found")]
#[case::below_a_file("plain/program", "program_not_found")]
#[case::folder("folder", "program_not_executable")]
#[case::no_permission("plain", "program_not_executable")]
#[case::no_interpreter_line("bare", "program_format_unknown")]
#[case::interpreter_missing("lost", "interpreter_not_found")]
#[case::nul("nul\0byte", "nul_byte")]
fn an_unusable_program_is_named(#[case] name: &str, #[case] code: &str) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    script(&folder.path().join("plain"), "#!/bin/sh\n", 0o644);
    script(&folder.path().join("bare"), "echo ran\n", 0o755);
    script(&folder.path().join("lost"), "#!/nowhere/interpreter\n", 0o755);
    let program = folder.path().join(name);
    let error = Command::new(&program).capture(100).unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    assert!(error.to_string().contains(name.split('\0').next().unwrap()), "{error}");
}

#[rstest]
#[case::directory(Command::new("/bin/true").directory("/nowhere"), "directory_unusable", "enter directory `/nowhere`")]
#[case::file(Command::new("/bin/true").directory("/bin/true"), "directory_unusable", "enter directory `/bin/true`")]
#[case::no_program(Command::new(""), "program_not_found", "program `` was not found")]
#[case::argument(Command::new("/bin/true").argument("a\0b"), "nul_byte", r#"argument "a\0b" holds a NUL byte"#)]
#[case::secret(Command::new("/bin/true").variable("KEY", "se\0cret"), "nul_byte", r#"variable "KEY" holds a NUL byte"#)]
#[case::variable(
    Command::new("/bin/true").variable("A=B", ""),
    "variable_name_invalid",
    r#""A=B" is no name for an environment variable"#
)]
#[case::large(
    Command::new("/bin/true").argument("x".repeat(1 << 20)),
    "arguments_too_large",
    "the arguments and environment of `/bin/true` are too large"
)]
fn an_unusable_command_is_refused(#[case] command: Command, #[case] code: &str, #[case] message: &str) {
    let error = command.capture(100).unwrap_err();
    assert_eq!((error.code(), error.to_string().as_str()), (code, message));
}

#[test]
fn a_program_starts_with_default_signals_and_none_blocked() {
    // Rust's runtime ignores SIGPIPE in every host, and a host started in the background ignores SIGINT.
    let outcome = Command::new("grep")
        .arguments(["-E", "^Sig(Blk|Ign):", "/proc/self/status"])
        .capture(1000)
        .unwrap();
    assert_eq!(
        outcome.stdout.head,
        b"SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
    );
}

#[test]
fn a_program_has_the_three_standard_descriptors_alone() {
    // SAFETY: a literal path; deliberately left open over exec, as a careless host would.
    let careless = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY) };
    let kept = fs::File::open("/dev/null").unwrap();
    let mut scripted = Scripted::new(0);
    scripted.kept = vec![kept.as_raw_fd()];
    let outcome = Command::new("sh")
        .arguments(["-c", "echo /proc/$$/fd/*"])
        .confinement(Arc::new(scripted))
        .capture(1000)
        .unwrap();
    // SAFETY: opened above.
    unsafe { libc::close(careless) };
    let listed = String::from_utf8(outcome.stdout.head).unwrap();
    let mut numbers: Vec<&str> = listed
        .split_whitespace()
        .map(|path| path.rsplit('/').next().unwrap())
        .collect();
    // The shell's own, for reading the folder.
    numbers.retain(|number| *number != "3");
    assert_eq!(numbers, ["0", "1", "2"]);
}

#[rstest]
#[case::nothing(Stdin::Null, b"")]
#[case::no_bytes(Stdin::Bytes(vec![]), b"")]
#[case::bytes(Stdin::Bytes(b"a\0\xff".to_vec()), b"a\0\xff")]
fn standard_input_is_what_was_given(#[case] stdin: Stdin, #[case] expected: &[u8]) {
    let outcome = Command::new("cat").stdin(stdin).capture(1000).unwrap();
    assert_eq!(outcome.stdout.head, expected);
}

#[test]
fn a_large_input_goes_through_and_comes_back() {
    let bytes: Vec<u8> = (0..3 << 20).map(|index| (index % 251) as u8).collect();
    let outcome = Command::new("cat")
        .stdin(Stdin::Bytes(bytes.clone()))
        .capture(bytes.len())
        .unwrap();
    assert!(
        outcome.stdout.head == bytes,
        "{} bytes came back",
        outcome.stdout.total_bytes
    );
}

#[rstest]
#[case::never_reads("exit 4")]
#[case::closes_first("exec <&-; echo x; exit 4")]
fn a_command_that_does_not_read_is_not_waited_for(#[case] script: &str) {
    let outcome = shell(script)
        .stdin(Stdin::Bytes(vec![b'x'; 1 << 20]))
        .capture(100)
        .unwrap();
    assert_eq!((outcome.ending, outcome.tree), (Ending::Exited(4), proof(false)));
}

#[test]
fn streams_that_are_not_captured_are_empty() {
    let command = shell("echo out; echo error >&2")
        .stdout(Output::Null)
        .stderr(Output::Null)
        .stdout_stop(Some(0));
    let outcome = command.run(&Cancel::never(), &mut unwatched).unwrap();
    assert_eq!(
        (outcome.ending, outcome.stdout, outcome.stderr),
        (Ending::Exited(0), Captured::default(), Captured::default())
    );
}

#[test]
fn limits_hold_for_the_program() {
    let limits = Limits {
        address_space: Some(1 << 30),
        data: Some(512 << 20),
        processes: Some(1000),
        open_files: Some(64),
        file_size: Some(1 << 20),
        cpu_seconds: Some(7),
    };
    let outcome = Command::new("cat")
        .argument("/proc/self/limits")
        .limits(limits)
        .capture(10_000)
        .unwrap();
    let text = String::from_utf8(outcome.stdout.head).unwrap();
    let row = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line[name.len()..]
            .split_whitespace()
            .take(2)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(row("Max address space"), ["1073741824", "1073741824"]);
    assert_eq!(row("Max data size"), ["536870912", "536870912"]);
    assert_eq!(row("Max processes"), ["1000", "1000"]);
    assert_eq!(row("Max open files"), ["64", "64"]);
    assert_eq!(row("Max file size"), ["1048576", "1048576"]);
    assert_eq!(row("Max cpu time"), ["7", "8"]);
    assert_eq!(row("Max core file size"), ["0", "0"]);
}

/// Namespaces that the command's process makes while the warden enters.
const TOGETHER: i32 =
    libc::CLONE_NEWUSER | libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWNET | libc::CLONE_NEWIPC;

#[rstest]
#[case::enter(Err(Failure { act: 7, errno: libc::EPERM }), Ok(0), Ok(0), "scripted act 7")]
#[case::seclude(Ok(0), Err(Failure { act: 8, errno: libc::EPERM }), Ok(0), "scripted act 8")]
#[case::restrict(Ok(0), Ok(0), Err(Failure { act: 9, errno: libc::ENOSYS }), "scripted act 9")]
fn a_failed_act_of_the_confinement_refuses(
    #[case] enter: Result<u64, Failure>,
    #[case] seclude: Result<u64, Failure>,
    #[case] restrict: Result<u64, Failure>,
    #[case] message: &str,
    #[values(0, libc::CLONE_NEWUSER | libc::CLONE_NEWPID, TOGETHER)] flags: i32,
) {
    let folder = tempfile::tempdir().unwrap();
    let confinement = Scripted {
        enter,
        seclude,
        restrict,
        ..Scripted::new(flags)
    };
    let command = Command::new("touch")
        .argument(folder.path().join("ran"))
        .confinement(Arc::new(confinement));
    let error = command.capture(100).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("confinement_failed", message)
    );
    assert!(!folder.path().join("ran").exists(), "the command ran");
}

#[test]
fn the_layers_of_every_step_are_reported_before_any_output() {
    let confinement = Scripted {
        enter: Ok(0b001),
        seclude: Ok(0b010),
        restrict: Ok(0b100),
        ..Scripted::new(0)
    };
    let mut heard = Vec::new();
    let outcome = shell("echo $$")
        .confinement(Arc::new(confinement))
        .run(&Cancel::never(), &mut |event| {
            heard.push(match event {
                Event::Holding { warden, contains } => format!("{} {contains}", warden.0 > 0),
                Event::Started {
                    warden,
                    command,
                    layers,
                } => format!("{} {command} {layers}", warden != command),
                Event::Output { offset, bytes, .. } => format!("{offset} {}", bytes.escape_ascii()),
            });
            Flow::Continue
        })
        .unwrap();
    let pid = String::from_utf8(outcome.stdout.head.clone()).unwrap();
    assert_eq!(
        heard,
        [
            "true false".to_owned(),
            format!("true {} 7", pid.trim()),
            format!("0 {}\\n", pid.trim())
        ]
    );
    assert_eq!(outcome.layers, 7);
}

#[rstest]
#[case::flags(Scripted { flags: libc::CLONE_VM as u64, ..Scripted::new(0) }, "clone_flags_invalid")]
#[case::standard(Scripted { kept: vec![1], ..Scripted::new(0) }, "kept_descriptor_invalid")]
#[case::closed(Scripted { kept: vec![9999], ..Scripted::new(0) }, "kept_descriptor_invalid")]
fn a_confinement_cannot_ask_for_anything_else(#[case] confinement: Scripted, #[case] code: &str) {
    let command = Command::new("/bin/true").confinement(Arc::new(confinement));
    assert_eq!(command.capture(100).unwrap_err().code(), code);
}

/// What the command's process makes for itself is the warden's too: through a pid 1 in the host's network a command
/// could see it.
#[test]
fn the_warden_is_in_the_namespaces_of_its_command() {
    let mut seen = None;
    let outcome = Command::new("sleep")
        .argument("1000")
        .confinement(Arc::new(Scripted::new(TOGETHER | libc::CLONE_NEWUTS)))
        .run(&Cancel::never(), &mut |event| {
            if let Event::Started { warden, command, .. } = event {
                let namespaces = |process: &str| {
                    ["net", "ipc", "uts", "user", "pid", "mnt"]
                        .map(|name| std::fs::read_link(format!("/proc/{process}/ns/{name}")).unwrap())
                };
                seen = Some([warden.to_string().as_str(), &command.to_string(), "self"].map(namespaces));
                return Flow::Stop;
            }
            Flow::Continue
        })
        .unwrap();
    let [warden, command, host] = seen.unwrap();
    assert_eq!((outcome.tree, warden), (proof(true), command.clone()));
    assert!(
        command.iter().zip(&host).all(|(inside, outside)| inside != outside),
        "{command:?}"
    );
}
