//! A world of its own for each test: home, temporary directory, store and repository under one directory that is removed
//! at the end, and commands that see nothing of the tester's environment.

use coder_digest::Digest;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;
use tempfile::TempDir;

/// How long anything may take before a test gives up; far above what a loaded machine needs.
const PATIENCE: Timespec = Timespec {
    tv_sec: 120,
    tv_nsec: 0,
};
/// `nobody`, whose home and files are the world's own.
const ORDINARY: u32 = 65534;
pub const PROMPT: &str = "Put a second line into notes.txt.";
pub const MODEL: &str = "recorded";

/// Who runs the commands of a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// Whoever runs the tests.
    Same,
    /// A user without any privilege.
    Ordinary,
}

pub struct World {
    base: TempDir,
    user: User,
}

impl World {
    /// An empty world.
    pub fn empty() -> Self {
        Self::of(User::Same)
    }

    pub fn of(user: User) -> Self {
        let base = tempfile::Builder::new()
            .prefix("world-")
            .tempdir_in(std::env::temp_dir().canonicalize().unwrap())
            .unwrap();
        let world = Self { base, user };
        fs::set_permissions(world.path(""), fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["home", "tmp", "work"] {
            world.directory(name);
        }
        world
    }

    /// A world with a repository of one commit.
    pub fn new() -> Self {
        let world = Self::empty();
        world.repository();
        world
    }

    pub fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() {
            self.base.path().to_owned()
        } else {
            self.base.path().join(name)
        }
    }

    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Makes a directory that the world's user owns.
    pub fn directory(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir(&path).unwrap();
        if self.user == User::Ordinary && is_root() {
            std::os::unix::fs::chown(&path, Some(ORDINARY), Some(ORDINARY)).unwrap();
        }
        path
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// `repo`: `notes.txt`, a directory with a file, one commit.
    pub fn repository(&self) -> PathBuf {
        let repository = self.directory("repo");
        fs::create_dir(repository.join("inner")).unwrap();
        self.write("repo/notes.txt", "first\n");
        self.write("repo/inner/file", "inner\n");
        self.git("repo", &["init", "--quiet", "--initial-branch=main", "--template="]);
        self.git("repo", &["add", "--all"]);
        self.git("repo", &["commit", "--quiet", "--message=first"]);
        repository
    }

    /// `tree`: a linked worktree of the repository, detached.
    pub fn worktree(&self) -> PathBuf {
        self.git("repo", &["worktree", "add", "--quiet", "--detach", &self.text("tree")]);
        self.path("tree")
    }

    /// Runs Git in a directory of the world and returns what it printed.
    #[track_caller]
    pub fn git(&self, directory: &str, arguments: &[&str]) -> String {
        let identity = ["AUTHOR", "COMMITTER"].into_iter().flat_map(|who| {
            [
                (format!("GIT_{who}_NAME"), "tester"),
                (format!("GIT_{who}_EMAIL"), "tester@localhost"),
            ]
        });
        let seen = self
            .program("git")
            .arguments(arguments)
            .variables(identity)
            .variable("GIT_CONFIG_NOSYSTEM", "1")
            .inside(directory)
            .run();
        assert_eq!(seen.status, 0, "git {arguments:?}: {}", seen.stderr);
        seen.stdout
    }

    pub fn microcoder(&self, arguments: &[&str]) -> Call {
        self.program(program(env!("CARGO_BIN_EXE_microcoder")))
            .arguments(arguments)
    }

    pub fn coder(&self, arguments: &[&str]) -> Call {
        self.program(program(env!("CARGO_BIN_EXE_coder"))).arguments(arguments)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a test starts the programs it is about as any shell would"
    )]
    fn program(&self, program: &str) -> Call {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .current_dir(self.path("work"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if self.user == User::Ordinary && is_root() {
            command.uid(ORDINARY).gid(ORDINARY);
        }
        Call {
            command,
            base: self.path(""),
            input: Vec::new(),
        }
    }

    /// Everything below a directory of the world: each path with its kind, mode and content.
    pub fn listing(&self, name: &str) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        list(&self.path(name), "", &mut found);
        found
    }
}

/// What SQLite makes and removes on a look: an index in shared memory, and a log, which is nothing while it is empty.
fn is_of_a_look(name: &std::ffi::OsStr, bytes: u64) -> bool {
    name == "journal.db-shm" || (name == "journal.db-wal" && bytes == 0)
}

fn list(directory: &Path, prefix: &str, found: &mut BTreeMap<String, String>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.map(Result::unwrap) {
        let name = format!("{prefix}{}", entry.file_name().display());
        let status = entry.path().symlink_metadata().unwrap();
        let mode = status.mode();
        if is_of_a_look(&entry.file_name(), status.len()) {
            continue;
        }
        let said = if status.is_dir() {
            list(&entry.path(), &format!("{name}/"), found);
            format!("directory {mode:o}")
        } else if status.is_symlink() {
            format!("link {}", fs::read_link(entry.path()).unwrap().display())
        } else if status.is_file() {
            format!("file {mode:o} {}", Digest::of(&fs::read(entry.path()).unwrap()))
        } else {
            format!("other {mode:o}")
        };
        found.insert(name, said);
    }
}

/// What of two listings differs, in words; empty when nothing does.
pub fn differences(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let names: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let differs = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
    differs
        .map(|name| format!("{name}: {:?}, then {:?}", before.get(name), after.get(name)))
        .collect()
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The program under a path that every user can reach: what was built may lie below a private directory.
fn program(built: &'static str) -> &'static str {
    static COPIES: OnceLock<Vec<(PathBuf, &'static str)>> = OnceLock::new();
    let reachable = Path::new(built)
        .ancestors()
        .skip(1)
        .all(|directory| directory.metadata().unwrap().mode() & 1 == 1);
    if reachable {
        return built;
    }
    let copies = COPIES.get_or_init(|| {
        let place = Box::leak(Box::new(tempfile::tempdir().unwrap()));
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let built = [env!("CARGO_BIN_EXE_microcoder"), env!("CARGO_BIN_EXE_coder")];
        built
            .map(|built| {
                let copy = place.path().join(Path::new(built).file_name().unwrap());
                fs::copy(built, &copy).unwrap();
                (PathBuf::from(built), &*copy.to_str().unwrap().to_owned().leak())
            })
            .into()
    });
    copies
        .iter()
        .find(|(original, _)| original == Path::new(built))
        .unwrap()
        .1
}

/// One call of a program.
pub struct Call {
    command: Command,
    base: PathBuf,
    input: Vec<u8>,
}

impl Call {
    pub fn arguments<S: AsRef<std::ffi::OsStr>>(mut self, arguments: &[S]) -> Self {
        self.command.args(arguments);
        self
    }

    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn variables(mut self, variables: impl IntoIterator<Item = (String, &'static str)>) -> Self {
        self.command.envs(variables);
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Runs in another directory of the world.
    pub fn inside(mut self, directory: &str) -> Self {
        self.command.current_dir(self.base.join(directory));
        self
    }

    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self.command.stdin(Stdio::piped());
        self
    }

    pub fn stdout(mut self, stdout: Stdio) -> Self {
        self.command.stdout(stdout);
        self
    }

    pub fn start(mut self) -> Started {
        let mut child = self.command.spawn().unwrap();
        let pid = Pid::from_child(&child);
        let descriptor = rustix::process::pidfd_open(pid, PidfdFlags::empty()).unwrap();
        if let Some(mut stdin) = child.stdin.take() {
            let input = std::mem::take(&mut self.input);
            // A program that refuses reads nothing; its closed end is no fault of the test.
            std::thread::spawn(move || stdin.write_all(&input));
        }
        Started {
            child: Some(child),
            pid,
            descriptor,
        }
    }

    #[track_caller]
    pub fn run(self) -> Seen {
        self.start().wait()
    }

    /// Runs and must succeed; what it printed, as JSON.
    #[track_caller]
    pub fn json(self) -> Value {
        self.run().json(0)
    }
}

/// A running program; killed with its whole tree if a test gives up.
pub struct Started {
    child: Option<Child>,
    pub pid: Pid,
    pub descriptor: OwnedFd,
}

impl Started {
    #[track_caller]
    pub fn wait(mut self) -> Seen {
        let child = self.child.take().unwrap();
        Seen::from(child.wait_with_output().unwrap())
    }

    /// Waits so long for its end; whether it came.
    pub fn ends_within(&self, time: Duration) -> bool {
        let time = Timespec {
            tv_sec: time.as_secs().cast_signed(),
            tv_nsec: time.subsec_nanos().into(),
        };
        rustix::event::poll(&mut [PollFd::new(&self.descriptor, PollFlags::IN)], Some(&time)).unwrap() == 1
    }

    pub fn signal(&self, signal: Signal) {
        rustix::process::pidfd_send_signal(&self.descriptor, signal).unwrap();
    }

    /// The same to one that may have ended by itself.
    pub fn signal_if_alive(&self, signal: Signal) {
        let sent = rustix::process::pidfd_send_signal(&self.descriptor, signal);
        assert!(matches!(sent, Ok(()) | Err(rustix::io::Errno::SRCH)), "{sent:?}");
    }

    /// Every process below this one, each held by a descriptor, while this one is stopped.
    pub fn freeze(&self) -> Vec<OwnedFd> {
        self.signal_if_alive(Signal::STOP);
        let mut pending = vec![self.pid.as_raw_nonzero().get()];
        let mut held = Vec::new();
        while let Some(pid) = pending.pop() {
            let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
                continue;
            };
            for thread in threads.flatten() {
                // A thread may end while its file is read.
                let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
                for child in children.split_whitespace().map(|child| child.parse().unwrap()) {
                    pending.push(child);
                    let child = Pid::from_raw(child).unwrap();
                    held.extend(rustix::process::pidfd_open(child, PidfdFlags::empty()));
                }
            }
        }
        held
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits until a descriptor is readable, which a process's own is once it has ended.
#[track_caller]
pub fn wait_readable(descriptor: impl AsFd, what: &str) {
    let mut polled = [PollFd::new(&descriptor, PollFlags::IN)];
    assert_eq!(rustix::event::poll(&mut polled, Some(&PATIENCE)).unwrap(), 1, "{what}");
}

/// A pipe with a name, through which a command says that it got somewhere.
pub struct Gate {
    pipe: File,
}

impl Gate {
    pub fn at(path: &Path) -> Self {
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o666),
            0,
        )
        .unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap();
        // Open for both, so that neither side waits for the other to open.
        let pipe = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(0o4000)
            .open(path)
            .unwrap();
        Self { pipe }
    }

    /// Lets the command go on that reads from here.
    pub fn open(&mut self) {
        self.pipe.write_all(b"go\n").unwrap();
    }

    /// Waits for a line from the command, which `running` must outlive.
    #[track_caller]
    pub fn wait(&mut self, running: &Started) {
        let mut polled = [
            PollFd::new(&self.pipe, PollFlags::IN),
            PollFd::new(&running.descriptor, PollFlags::IN),
        ];
        rustix::event::poll(&mut polled, Some(&PATIENCE)).unwrap();
        assert!(
            polled[0].revents().contains(PollFlags::IN),
            "the command never got there"
        );
        let mut line = [0; 64];
        assert_ne!(self.pipe.read(&mut line).unwrap(), 0);
    }
}

/// What came of a call.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen {
    /// The exit status; 128 and the signal when one ended it.
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Seen {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let status = output
            .status
            .code()
            .unwrap_or_else(|| 128 + output.status.signal().unwrap());
        Self {
            status,
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl Seen {
    /// The JSON document it printed, with the status it must have ended in and nothing said.
    #[track_caller]
    pub fn json(&self, status: i32) -> Value {
        assert_eq!((self.status, self.stderr.as_str()), (status, ""), "{}", self.stdout);
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// What it printed, by a command that must have succeeded.
    #[track_caller]
    pub fn printed(&self) -> &str {
        assert_eq!(self.status, 0, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        &self.stdout
    }

    /// The code and message of the one error object it said, having printed nothing.
    #[track_caller]
    pub fn refused(&self, status: i32) -> (String, String) {
        assert_eq!((self.status, self.stdout.as_str()), (status, ""), "{}", self.stderr);
        let error: Value = serde_json::from_str(&self.stderr).unwrap();
        let text = |name: &str| error["error"][name].as_str().unwrap().to_owned();
        let (code, message) = (text("code"), text("message"));
        assert_eq!(error, json!({ "error": { "code": code, "message": message } }));
        assert_eq!(self.stderr.lines().count(), 1);
        (code, message)
    }
}

/// A model's reply: commands, and whether it is done.
pub fn reply(commands: &[&str], finished: bool) -> Value {
    json!({
        "reply": if finished { "Done." } else { "" },
        "ask": "none",
        "rationale": "next",
        "commands": commands,
        "view": [],
        "freeze_tests": false,
        "expand": [],
        "finished": finished,
    })
}

/// A task with its grant, as exact files of a world.
pub struct Prepared<'a> {
    pub world: &'a World,
    pub grant: Value,
}

impl World {
    /// Submits `task` on `workspace` with a recorded conversation, and writes the grant that fits.
    pub fn prepare<'a>(&'a self, workspace: &Path, replies: &[Value]) -> Prepared<'a> {
        let turns: Vec<Value> = replies.iter().map(|reply| json!({ "reply": reply })).collect();
        let script = json!({ "schema": "openagents.microcoder.script.v1", "turns": turns }).to_string();
        self.write("script.json", &script);
        let receipt = self.submit(workspace);
        let shown = self
            .coder(&["task", "show", "task-1", "--store", &self.text("tasks")])
            .json();
        let grant = json!({
            "schema": "openagents.coder.task-execution-grant.v1",
            "task_id": "task-1",
            "intent_digest": shown["intent_digest"],
            "expected_revision": receipt["revision"],
            "expected_source_snapshot": null,
            "program": "/bin/bash",
            "arguments": [],
            "write_workspace": true,
            "stream_bytes": 65536,
            "memory_bytes": 536_870_912,
            "requirements": null,
            "adapter_configuration": {
                "schema": "openagents.microcoder.repository-config.v1",
                "provider": "scripted",
                "model": MODEL,
                "effort": null,
                "generation_endpoint": "in-process",
                "decision_endpoint": "in-process",
                "decision_model": "none",
                "acceptance": false,
                "route": "never",
                "knowledge": "off",
                "dollar_limit_micros": null,
                "expected_controller_digest": null,
                "script": self.text("script.json"),
                "script_digest": Digest::of(script.as_bytes()),
            },
        });
        Prepared { world: self, grant }
    }

    fn submit(&self, workspace: &Path) -> Value {
        let command = json!({
            "schema": "openagents.coder.task-command.v1",
            "command_id": "command-1",
            "task_id": "task-1",
            "expected_revision": null,
            "action": { "type": "submit", "intent": {
                "title": "Notes",
                "prompt": PROMPT,
                "workspace": { "path": workspace, "source_revision": null },
                "configuration": { "adapter": "microcoder-repository", "model": MODEL },
            } },
        });
        self.write("submit.json", command.to_string());
        self.task(&["submit", "--file", &self.text("submit.json")]).json()
    }

    /// `coder task …` on the world's store.
    pub fn task(&self, arguments: &[&str]) -> Call {
        self.coder(&["task"])
            .arguments(arguments)
            .arguments(&["--store", &self.text("tasks")])
    }
}

impl Prepared<'_> {
    /// `microcoder repository` with the grant as it stands.
    pub fn call(&self) -> Call {
        self.call_with(self.grant.to_string())
    }

    /// The same with a grant of any bytes.
    pub fn call_with(&self, grant: impl AsRef<[u8]>) -> Call {
        self.world.write("grant.json", grant);
        let (grant, store) = (self.world.text("grant.json"), self.world.text("tasks"));
        self.world
            .microcoder(&["repository", "--grant", &grant, "--store", &store])
    }

    /// Writes a `cancel` command at the task's present revision and sends it.
    pub fn cancel(&self) -> Value {
        let shown = self.world.task(&["show", "task-1"]).json();
        let command = json!({
            "schema": "openagents.coder.task-command.v1",
            "command_id": "command-2",
            "task_id": "task-1",
            "expected_revision": shown["revision"],
            "action": { "type": "cancel", "reason": "not needed any more" },
        });
        let file = self.world.write("cancel.json", command.to_string());
        self.world.task(&["cancel", "--file", file.to_str().unwrap()]).json()
    }
}
