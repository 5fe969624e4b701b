//! A world of its own for each test: a directory with a repository, a linked worktree and a store with one task.

use coder_digest::{Clock, FixedClock, TaskId, Timestamp};
use coder_journal::{COMMAND_SCHEMA, REPOSITORY, Store, Task};
use coder_process::Command;
use coder_workspace::{Git, Repository};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) mod run;

pub(crate) struct World {
    directory: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    /// The canonical path of `name`.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    /// Writes a file and the directories it needs.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// The text of a file.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs Git in `name` as a user would.
    pub(crate) fn git(&self, name: &str, arguments: &[&str]) -> String {
        let outcome = Command::new(Git::find().unwrap().program())
            .arguments(arguments.iter().copied())
            .directory(self.path(name))
            .variables([
                ("PATH", "/usr/local/bin:/usr/bin:/bin"),
                ("HOME", "/nonexistent"),
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_AUTHOR_NAME", "A"),
                ("GIT_AUTHOR_EMAIL", "a@example.org"),
                ("GIT_COMMITTER_NAME", "A"),
                ("GIT_COMMITTER_EMAIL", "a@example.org"),
                ("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z"),
                ("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z"),
            ])
            .capture(1 << 20)
            .unwrap();
        assert!(outcome.success(), "{arguments:?}: {:?}", outcome.stderr);
        String::from_utf8(outcome.stdout.head).unwrap()
    }

    /// `repo`, a repository of one commit.
    pub(crate) fn repository(&self) -> Repository {
        self.write("repo/file", "one\n");
        self.git("repo", &["init", "--quiet", "--initial-branch=main", "--template="]);
        self.git("repo", &["add", "--all"]);
        self.git("repo", &["commit", "--quiet", "--message=one"]);
        self.identify("repo")
    }

    /// `name`, a linked worktree of `repo`, detached or on a new branch.
    pub(crate) fn worktree(&self, name: &str, branch: Option<&str>) -> Repository {
        let path = self.path(name);
        let path = path.to_str().unwrap();
        match branch {
            None => self.git("repo", &["worktree", "add", "--quiet", "--detach", path]),
            Some(branch) => self.git("repo", &["worktree", "add", "--quiet", "-b", branch, path]),
        };
        self.identify(name)
    }

    pub(crate) fn identify(&self, name: &str) -> Repository {
        Repository::identify(&Git::find().unwrap(), &self.path(name)).unwrap()
    }

    pub(crate) fn store(&self) -> Store {
        Store::open(&self.path("store"), clock()).unwrap()
    }

    /// Submits `task` with this prompt.
    pub(crate) fn submit(&self, store: &Store, task: &str, prompt: &str) -> Task {
        self.submit_on(store, task, prompt, &self.path("repo"), None)
    }

    /// Submits `task` with this prompt on `workspace` at `revision`.
    pub(crate) fn submit_on(
        &self,
        store: &Store,
        task: &str,
        prompt: &str,
        workspace: &Path,
        revision: Option<&str>,
    ) -> Task {
        let command = json!({
            "schema": COMMAND_SCHEMA,
            "command_id": format!("submit-{task}"),
            "task_id": task,
            "expected_revision": null,
            "action": { "type": "submit", "intent": {
                "title": "Test",
                "prompt": prompt,
                "workspace": { "path": workspace, "source_revision": revision },
                "configuration": { "adapter": REPOSITORY, "model": "model" },
            } },
        });
        store.command(command.to_string().as_bytes()).unwrap();
        store.show(&TaskId::new(task).unwrap()).unwrap()
    }
}

pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(FixedClock::new(Timestamp(1_796_040_000_000), 1))
}
