//! A world of its own for each test: a temporary directory, real repositories in it, and plain Git calls as a user
//! would make them, apart from the user's own configuration.

use crate::{CommitId, Git, Repository};
use coder_process::Command;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) struct World {
    directory: tempfile::TempDir,
    pub(crate) git: Git,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            git: Git::find().unwrap(),
        }
    }

    /// The canonical path of `name` in this world.
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

    /// A repository with one commit of three files.
    pub(crate) fn repository(&self, name: &str) -> Repository {
        fs::create_dir_all(self.path(name)).unwrap();
        self.run(name, &["init", "--quiet", "--initial-branch=main"]);
        self.write(&format!("{name}/readme"), "hello\n");
        self.write(&format!("{name}/source/one.txt"), "one\n");
        self.write(&format!("{name}/source/two.txt"), "two\n");
        self.commit(name);
        self.identify(name)
    }

    pub(crate) fn commit(&self, name: &str) -> CommitId {
        self.run(name, &["add", "--all"]);
        self.run(name, &["commit", "--quiet", "--allow-empty", "--message=change"]);
        self.run(name, &["rev-parse", "HEAD"]).trim().parse().unwrap()
    }

    pub(crate) fn identify(&self, name: &str) -> Repository {
        Repository::identify(&self.git, &self.path(name)).unwrap()
    }

    /// Git as the user runs it, hooks and filters and all.
    pub(crate) fn run(&self, name: &str, arguments: &[&str]) -> String {
        run_in(&self.path(name), arguments)
    }
}

pub(crate) fn run_in(directory: &Path, arguments: &[&str]) -> String {
    let outcome = Command::new(Git::find().unwrap().program())
        .arguments(arguments)
        .directory(directory)
        .variables([
            ("PATH", "/usr/bin:/bin:/usr/local/bin"),
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
    assert!(
        outcome.success(),
        "git {arguments:?}: {:?} {}",
        outcome.ending,
        coder_digest::display_bytes(&outcome.stderr.head)
    );
    String::from_utf8(outcome.stdout.head).unwrap()
}
