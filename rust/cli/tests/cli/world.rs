//! A world of its own for each test: home, temporary directory, store and repository under one directory that is removed
//! at the end, and commands that see nothing of the tester's environment.

use coder_digest::Digest;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

pub use crate::call::{Call, Detached, Gate, Seen, Started, wait_readable};

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

    /// Runs a shell script in a mount namespace of its own, with `coder` as `$0`.
    pub fn privately(&self, script: &str) -> Call {
        let coder = program(env!("CARGO_BIN_EXE_coder"));
        self.program("unshare")
            .arguments(&["--user", "--map-root-user", "--mount", "sh", "-c", script, coder])
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a test starts the programs it is about as any shell would"
    )]
    pub fn program(&self, program: &str) -> Call {
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
        Call::new(command, self.path(""))
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

/// The configuration of a run on the recorded conversation that the file at `path` holds.
pub fn scripted(path: &str, script: &str) -> Value {
    json!({
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
        "script": path,
        "script_digest": Digest::of(script.as_bytes()),
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
        self.submit(workspace);
        let grant = self.grant("task-1", &[], scripted(&self.text("script.json"), &script));
        Prepared { world: self, grant }
    }

    /// The grant that fits a submitted task as it stands: a repository run's with a configuration, else a bounded command's.
    pub fn grant(&self, task: &str, arguments: &[&str], configuration: Value) -> Value {
        let shown = self.task(&["show", task]).json();
        let mut grant = json!({
            "schema": "openagents.coder.task-execution-grant.v1",
            "task_id": task,
            "intent_digest": shown["intent_digest"],
            "expected_revision": shown["revision"],
            "expected_source_snapshot": null,
            "program": "/bin/bash",
            "arguments": arguments,
            "write_workspace": true,
            "stream_bytes": 65536,
            "memory_bytes": 536_870_912,
            "requirements": null,
            "adapter_configuration": configuration,
        });
        if grant["adapter_configuration"].is_null() {
            grant["wall_seconds"] = json!(600);
        }
        grant
    }

    fn submit(&self, workspace: &Path) -> Value {
        self.submit_as("task-1", "command-1", workspace, ("microcoder-repository", Some(MODEL)))
    }

    /// Submits `task` for an adapter and a model.
    pub fn submit_as(&self, task: &str, command: &str, workspace: &Path, asked: (&str, Option<&str>)) -> Value {
        let command = json!({
            "schema": "openagents.coder.task-command.v1",
            "command_id": command,
            "task_id": task,
            "expected_revision": null,
            "action": { "type": "submit", "intent": {
                "title": "Notes",
                "prompt": PROMPT,
                "workspace": { "path": workspace, "source_revision": null },
                "configuration": { "adapter": asked.0, "model": asked.1 },
            } },
        });
        self.write("submit.json", command.to_string());
        self.task(&["submit", "--file", &self.text("submit.json")]).json()
    }

    /// Submits a task for one bounded command, and writes the grant that fits.
    pub fn prepare_bounded<'a>(&'a self, workspace: &Path, arguments: &[&str]) -> Prepared<'a> {
        self.submit_as("task-1", "command-1", workspace, ("bounded-command", None));
        let grant = self.grant("task-1", arguments, json!(null));
        Prepared { world: self, grant }
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

    /// `microcoder repository --detach` with the grant as it stands.
    pub fn detach(&self) -> Call {
        self.call().arguments(&["--detach"])
    }

    /// `coder task execute` or `start` with the grant as it stands.
    pub fn bounded(&self, verb: &str) -> Call {
        self.world.write("grant.json", self.grant.to_string());
        self.world.task(&[verb, "--grant", &self.world.text("grant.json")])
    }

    /// Sends a command with this action at the task's present revision, as an exact file.
    pub fn send(&self, command: &str, action: Value) -> Value {
        let store = coder_journal::Store::open(
            &self.world.path("tasks"),
            std::sync::Arc::new(coder_digest::SystemClock),
        );
        let store = store.unwrap();
        let revision = store.show(&"task-1".parse().unwrap()).unwrap().revision;
        let command = json!({
            "schema": "openagents.coder.task-command.v1",
            "command_id": command,
            "task_id": "task-1",
            "expected_revision": revision,
            "action": action,
        });
        serde_json::to_value(store.command(command.to_string().as_bytes()).unwrap()).unwrap()
    }

    /// Asks the task to stop at whatever revision it is.
    pub fn stop(&self) {
        let store = coder_journal::Store::open(
            &self.world.path("tasks"),
            std::sync::Arc::new(coder_digest::SystemClock),
        );
        let command = coder_digest::Identifier::new("stop-1").unwrap();
        store
            .unwrap()
            .cancel_now(&command, &"task-1".parse().unwrap(), "not needed any more")
            .unwrap();
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

/// A script that finds `coder` as somebody does who has it installed.
pub fn with_tools(script: &str) -> String {
    let programs = Path::new(env!("CARGO_BIN_EXE_coder")).parent().unwrap();
    format!("PATH={}:$PATH; {script}", programs.display())
}
