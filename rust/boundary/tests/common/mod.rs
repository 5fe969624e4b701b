//! A world of its own for each test: a workspace, something outside that must stay out of reach, and a boundary.

#![allow(dead_code, reason = "each test file uses a part")]

use coder_boundary::{Boundary, GIT_OBJECTS, GitView, Mode, Policy, Quarantine, Scratch, Workspace};
use coder_process::{Ending, Outcome};
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tempfile::TempDir;

pub struct World {
    pub base: TempDir,
    pub workspace: PathBuf,
    pub outside: PathBuf,
}

pub struct Seen {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl World {
    pub fn new() -> Self {
        Self::under(&std::env::temp_dir())
    }

    pub fn under(parent: &Path) -> Self {
        let base = tempfile::Builder::new()
            .prefix("world-")
            .tempdir_in(parent.canonicalize().unwrap())
            .unwrap();
        let workspace = base.path().join("workspace");
        let outside = base.path().join("outside");
        fs::create_dir(&workspace).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "secret").unwrap();
        Self {
            base,
            workspace,
            outside,
        }
    }

    pub fn policy(&self) -> Policy {
        Policy {
            workspace: Some(Workspace {
                path: self.workspace.clone(),
                mode: Mode::Write,
            }),
            ..Policy::default()
        }
    }

    pub fn scratch(&self) -> Scratch {
        Scratch::create(self.base.path()).unwrap()
    }

    pub fn prepare(&self, policy: Policy) -> Boundary {
        Boundary::prepare(policy, self.scratch()).unwrap()
    }

    pub fn boundary(&self) -> Boundary {
        self.prepare(self.policy())
    }

    /// Runs a shell script in the usual boundary, which must have held in full.
    pub fn shell(&self, script: &str) -> Seen {
        shell(&self.boundary(), script)
    }

    pub fn python(&self, script: &str) -> Seen {
        python(&self.boundary(), script)
    }
}

pub fn shell(boundary: &Boundary, script: &str) -> Seen {
    seen(
        boundary,
        &boundary
            .command("/bin/sh")
            .arguments(["-c", script])
            .capture(1 << 20)
            .unwrap(),
    )
}

pub fn python(boundary: &Boundary, script: &str) -> Seen {
    seen(
        boundary,
        &boundary
            .command("/usr/bin/python3")
            .arguments(["-c", script])
            .capture(1 << 20)
            .unwrap(),
    )
}

fn seen(boundary: &Boundary, outcome: &Outcome) -> Seen {
    boundary.enforced(outcome.layers).satisfies(boundary.planned()).unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let code = match outcome.ending {
        Ending::Exited(code) => code,
        other => panic!("{other:?}: {}", text(&outcome.stderr.head)),
    };
    Seen {
        code,
        stdout: text(&outcome.stdout.head),
        stderr: text(&outcome.stderr.head),
    }
}

impl Seen {
    /// What was printed, by a command that must have succeeded.
    #[track_caller]
    pub fn printed(self) -> String {
        assert_eq!(self.code, 0, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self.stdout
    }

    #[track_caller]
    pub fn failed(self, with: &str) {
        assert_ne!(self.code, 0, "it succeeded: {}", self.stdout);
        assert!(
            self.stderr.contains(with),
            "stdout: {}\nstderr: {}",
            self.stdout,
            self.stderr
        );
    }
}

/// Runs a program of the host, outside any boundary.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "the test prepares the host itself")]
pub fn host(directory: &Path, program: &str, arguments: &[&str]) -> String {
    let output = std::process::Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .envs([
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("HOME", "/nonexistent"),
            ("LANG", "C.UTF-8"),
        ])
        .envs(identity())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8(output.stderr).unwrap()
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Who commits, in the host and inside.
pub fn identity() -> [(OsString, OsString); 4] {
    [
        ("GIT_AUTHOR_NAME", "A"),
        ("GIT_AUTHOR_EMAIL", "a@example.org"),
        ("GIT_COMMITTER_NAME", "A"),
        ("GIT_COMMITTER_EMAIL", "a@example.org"),
    ]
    .map(|(name, value)| (OsString::from(name), OsString::from(value)))
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs every other test of this file again as a user without any privilege. Skipped when already one.
#[expect(clippy::disallowed_methods, reason = "the test runs itself again")]
pub fn again_as_an_ordinary_user(this_test: &str) {
    if !is_root() {
        return;
    }
    let base = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o777))
        .tempdir()
        .unwrap();
    let temporary = base.path().join("user");
    fs::create_dir(&temporary).unwrap();
    std::os::unix::fs::chown(&temporary, Some(USER), Some(USER)).unwrap();
    // The user may not be able to reach the place the test was built in.
    let program = base.path().join("test");
    // By another process: a command that another test starts meanwhile would hold what this one writes, and nothing can
    // execute a file that is open for writing.
    let own = std::env::current_exe().unwrap();
    host(base.path(), "cp", &[own.to_str().unwrap(), program.to_str().unwrap()]);
    let user = USER.to_string();
    let output = std::process::Command::new("setpriv")
        .args(["--reuid", &user, "--regid", &user, "--clear-groups", "--"])
        .arg(&program)
        .args(["--skip", this_test])
        .env("TMPDIR", &temporary)
        .current_dir(&temporary)
        .output()
        .unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{report}{}",
        String::from_utf8(output.stderr).unwrap()
    );
    assert!(report.contains("test result: ok"), "{report}");
    let left: Vec<_> = fs::read_dir(&temporary)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, Vec::<OsString>::new());
}

const USER: u32 = 61_234;

/// A repository with one commit on `main`, in the world's outside, and the workspace as a linked worktree of it on a
/// branch of its own, as the host makes them.
pub fn linked(world: &World) -> (GitView, PathBuf) {
    let repository = world.outside.join("repository");
    fs::create_dir(&repository).unwrap();
    host(&repository, "git", &["init", "--quiet", "--initial-branch=main", "."]);
    fs::write(repository.join("file"), "one\n").unwrap();
    host(&repository, "git", &["add", "."]);
    host(&repository, "git", &["commit", "--quiet", "-m", "first"]);
    fs::remove_dir(&world.workspace).unwrap();
    let workspace = world.workspace.to_str().unwrap();
    host(
        &repository,
        "git",
        &["worktree", "add", "--quiet", "-b", "microcoder/task/run", workspace],
    );
    let common = repository.join(".git");
    let view = GitView::Linked {
        admin: common.join("worktrees/workspace"),
        quarantine: Some(Quarantine {
            directory: quarantine(world, &common),
            real_objects: GIT_OBJECTS.into(),
            branch_directory: Some("refs/heads/microcoder/task".into()),
            borrowed: Vec::new(),
        }),
        common: common.clone(),
    };
    (view, common)
}

/// What the host makes before commands, by the means of a shell.
fn quarantine(world: &World, common: &Path) -> PathBuf {
    let directory = world.base.path().join("quarantine");
    let script = format!(
        "mkdir -p $Q/objects/info $Q/objects/pack && echo {GIT_OBJECTS} >$Q/objects/info/alternates && cd $C && \
         cp -r worktrees/workspace $Q/admin && cp -r refs/heads/microcoder/task $Q/references && \
         cp -r logs/refs/heads/microcoder/task $Q/logs"
    );
    let script = script
        .replace("$Q", directory.to_str().unwrap())
        .replace("$C", common.to_str().unwrap());
    host(&world.outside, "sh", &["-c", &script]);
    directory
}

pub fn checkout(world: &World) -> GitView {
    host(
        &world.workspace,
        "git",
        &["init", "--quiet", "--initial-branch=main", "."],
    );
    fs::write(world.workspace.join("file"), "one\n").unwrap();
    host(&world.workspace, "git", &["add", "."]);
    host(&world.workspace, "git", &["commit", "--quiet", "-m", "first"]);
    GitView::Checkout {
        git_dir: world.workspace.join(".git"),
    }
}
