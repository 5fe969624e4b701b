//! The whole main job, offline, on a repository embedded in the program: a scripted agent repairs it inside the boundary,
//! an independent check that the agent never saw judges the candidate read-only, and the evidence is verified. It passes
//! through the same doors as real work; only the conversation is recorded. Git and a POSIX shell are all it needs.

use crate::configuration::{Configuration, Generation, Provider, Route};
use crate::confine::Environment;
use crate::exec::{Executed, Execution, Streams};
use crate::launch::{Launch, Launched};
use crate::limits::Limits;
use crate::progress::Watcher;
use crate::verify::{Verification, verify};
use crate::{Error, open_to_read};
use coder_boundary::{Enforced, Level, Mode};
use coder_digest::{Clock, ModelName};
use coder_journal::Store;
use coder_models::Script;
use coder_process::{Cancel, Command, Ending, Window};
use coder_workspace::Git;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const CONVERSATION: &str = include_str!("../assets/demo/conversation.json");
const CHECK: &str = include_str!("../assets/demo/check.sh");
const FILES: [(&str, &str); 4] = [
    ("tally.sh", include_str!("../assets/demo/repository/tally.sh")),
    ("tests/run.sh", include_str!("../assets/demo/repository/tests/run.sh")),
    ("README.md", include_str!("../assets/demo/repository/README.md")),
    ("AGENTS.md", include_str!("../assets/demo/repository/AGENTS.md")),
];
/// What the agent is asked.
pub const PROMPT: &str = "tally.sh loses the last line of a ledger that does not end with a newline. Find out why, fix it, \
                          and make the tests pass.";
const MODEL: &str = "scripted-demo";
const MEMORY_BYTES: u64 = 512 * 1024 * 1024;
/// How much of the check's output is kept.
const CHECK_WINDOW: Window = Window {
    head: 16 * 1024,
    tail: 16 * 1024,
};

/// What the demonstration is given.
pub struct Demo<'a> {
    /// The store; made if it is missing.
    pub store: &'a Path,
    /// A directory for the embedded repository and the check, which lie in folders of their own; made if it is missing.
    pub place: &'a Path,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Stops it.
    pub cancel: Cancel,
    /// The host's environment.
    pub environment: &'a Environment<'a>,
    /// The running executable.
    pub controller: &'a Path,
    /// Random bytes for names.
    pub entropy: [u8; 4],
}

/// What it came to.
#[derive(Debug)]
pub struct Demonstrated {
    /// The run.
    pub launched: Launched,
    /// The independent check on the candidate.
    pub check: Checked,
    /// The verification of everything kept.
    pub verification: Verification,
}

/// The independent check.
#[derive(Debug)]
pub struct Checked {
    /// Whether it passed.
    pub passed: bool,
    /// What it printed.
    pub output: String,
    /// What really held it.
    pub enforced: Enforced,
}

impl Demo<'_> {
    /// Runs it.
    ///
    /// # Errors
    /// What keeps any part from starting. A failed check or verification is in the value.
    pub fn run<'w>(&self, watcher: &'w mut Watcher<'w>) -> Result<Demonstrated, Error> {
        // A store that is refused leaves nothing beside it.
        Store::open(self.store, Arc::clone(&self.clock))?;
        let name = format!("demo-{:08x}", u32::from_be_bytes(self.entropy));
        let home = self.place.join(name);
        let repository = home.join("tally");
        lay_repository(&repository)?;
        let script = home.join("conversation.json");
        write(&script, CONVERSATION)?;
        let check = home.join("check").join("check.sh");
        write(&check, CHECK)?;
        let model = ModelName::new(MODEL).map_err(|error| crate::grant::field("model", error.to_string()))?;
        let generation = Generation::Scripted {
            script_digest: Script::parse(CONVERSATION.as_bytes())?.digest(),
            script,
        };
        let configuration = Configuration::new(Route::new(model, generation));
        let launch = Launch {
            prompt: PROMPT,
            repository: &repository,
            configuration: &configuration,
            memory_bytes: MEMORY_BYTES,
            require: Level::Complete,
            limits: Limits::default(),
            checks: &[],
            store: self.store,
            clock: Arc::clone(&self.clock),
            cancel: self.cancel.clone(),
            environment: self.environment,
            controller: self.controller,
            entropy: self.entropy,
        };
        let launched = launch.run(watcher)?;
        let check = self.check(&launched.worktree, &check)?;
        let store = open_to_read(self.store, Arc::clone(&self.clock))?;
        let verification = verify(&store, &launched.task.task_id)?;
        Ok(Demonstrated {
            launched,
            check,
            verification,
        })
    }

    /// Runs the check with the candidate read-only and everything else of ours absent.
    fn check(&self, candidate: &Path, script: &Path) -> Result<Checked, Error> {
        let execution = Execution {
            mode: Mode::Read,
            reads: script.parent().map(Path::to_owned).into_iter().collect(),
            sealed: vec![self.store.to_owned()],
            memory_bytes: Some(MEMORY_BYTES),
            ..Execution::new(candidate)
        };
        let argv = [OsString::from("/bin/sh"), script.into()];
        let streams = Streams::Capture {
            stdin: Vec::new(),
            window: CHECK_WINDOW,
        };
        let Executed { outcome, enforced, .. } =
            execution.prepare(self.environment)?.run(&argv, streams, &self.cancel)?;
        let mut output = outcome.stdout.head;
        output.extend_from_slice(&outcome.stderr.head);
        Ok(Checked {
            passed: outcome.ending == Ending::Exited(0),
            output: coder_digest::display_bytes(output.trim_ascii()),
            enforced,
        })
    }
}

/// Writes the embedded files and commits them. The identity is fixed and no configuration of the machine counts.
fn lay_repository(repository: &Path) -> Result<(), Error> {
    for (name, content) in FILES {
        write(&repository.join(name), content)?;
    }
    let git = Git::find()?;
    let calls: [&[&str]; 3] = [
        &["init", "--quiet", "--initial-branch=main", "--template="],
        &["add", "--all"],
        &[
            "commit",
            "--quiet",
            "--no-verify",
            "--message=A tally that loses its last line",
        ],
    ];
    for call in calls {
        let command = Command::new(git.program())
            .arguments(call.iter().copied())
            .variables([
                ("PATH", "/usr/local/bin:/usr/bin:/bin"),
                ("HOME", "/nonexistent"),
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_CONFIG_GLOBAL", "/dev/null"),
                ("GIT_AUTHOR_NAME", "Demo"),
                ("GIT_AUTHOR_EMAIL", "demo@localhost"),
                ("GIT_COMMITTER_NAME", "Demo"),
                ("GIT_COMMITTER_EMAIL", "demo@localhost"),
            ])
            .directory(repository);
        let outcome = command.capture(16 * 1024)?;
        if outcome.ending != Ending::Exited(0) {
            let said = coder_digest::display_bytes(outcome.stderr.head.trim_ascii());
            return Err(Error::ProviderUnavailable {
                provider: Provider::Scripted,
                reason: format!("git {} failed: {said}", call.join(" ")),
            });
        }
    }
    Ok(())
}

fn write(path: &PathBuf, content: &str) -> Result<(), Error> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(Error::file("create", parent))?;
    }
    std::fs::write(path, content).map_err(Error::file("write", path))
}
