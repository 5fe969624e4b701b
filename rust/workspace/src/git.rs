//! Our own calls of Git on a repository whose content and configuration nobody vouches for. The program is found at
//! fixed places, starts with an environment of our making, and with overrides that keep every hook, filter, monitor,
//! pager, helper, transport and nested repository of that configuration from running. It decides nothing about what a
//! repository is; agents run their own Git inside the boundary.

use crate::Error;
use coder_process::{Command, Ending, Limits, Stdin};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where Git is looked for, in this order.
const PLACES: [&str; 4] = [
    "/usr/bin/git",
    "/usr/local/bin/git",
    "/run/current-system/sw/bin/git",
    "/bin/git",
];

/// The whole environment of a call, but for the overrides. Git reads much of its behaviour from variables, so none of
/// ours is handed on.
const ENVIRONMENT: [(&str, &str); 21] = [
    ("PATH", "/usr/bin:/bin:/run/current-system/sw/bin"),
    ("HOME", "/nonexistent"),
    ("XDG_CONFIG_HOME", "/nonexistent"),
    ("LC_ALL", "C"),
    ("TERM", "dumb"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    // Without this a mere `status` rewrites the user's index and can leave a lock behind.
    ("GIT_OPTIONAL_LOCKS", "0"),
    // Beats any `protocol.<name>.allow` of the repository: no transport, and so no program of one, is ever started.
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_LAZY_FETCH", "1"),
    // What a commit's id names, and not what a replacement says it should be.
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_GRAFT_FILE", "/dev/null"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_PAGER", "cat"),
    ("PAGER", "cat"),
    ("GIT_EDITOR", ":"),
    ("GIT_ASKPASS", "/bin/false"),
    ("SSH_ASKPASS", "/bin/false"),
];

/// Settings put over those of the repository in every call. Each would otherwise start a program, write where nothing was
/// asked to, or say what nobody asked.
const OVERRIDES: [(&str, &str); 21] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("core.editor", ":"),
    ("core.askPass", "/bin/false"),
    ("core.sshCommand", "/bin/false"),
    ("core.gitProxy", "none"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("credential.helper", ""),
    ("protocol.allow", "never"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("diff.submodule", "short"),
    ("status.submoduleSummary", "false"),
    ("branch.autoSetupMerge", "false"),
    ("log.showSignature", "false"),
    ("color.ui", "false"),
    // Naming a file of grafts at all makes Git advise against them in front of everything it has to say.
    ("advice.graftFileDeprecated", "false"),
];

/// How long an ordinary call may take.
const DEADLINE: Duration = Duration::from_secs(10);
/// How long writing out a whole tree may take.
pub(crate) const CHECKOUT_DEADLINE: Duration = Duration::from_secs(600);

/// The most bytes kept of an ordinary answer.
pub(crate) const ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// The most characters repeated of what Git said.
const MESSAGE_CHARACTERS: usize = 400;

/// The Git program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Git {
    program: PathBuf,
}

impl Git {
    /// Git at the first of the fixed places that has it. `PATH` is never searched: its first writable directory would
    /// decide what runs.
    ///
    /// # Errors
    /// [`Error::GitMissing`] when none has.
    pub fn find() -> Result<Self, Error> {
        let found = PLACES.iter().map(Path::new).find(|place| place.is_file());
        found.map(Self::at).ok_or_else(|| Error::GitMissing {
            places: PLACES.join(", "),
        })
    }

    /// Git at a path the caller vouches for, such as one a package pinned.
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
        }
    }

    /// The program's path.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Prepares calls in `directory`: reads the configuration that holds there and overrides what it would run.
    ///
    /// Made anew for each operation, and in each worktree on its own: configuration included by condition differs
    /// between the worktrees of one repository.
    pub(crate) fn session(&self, directory: &Path) -> Result<Session, Error> {
        let mut session = Session {
            program: self.program.clone(),
            directory: directory.to_owned(),
            overrides: OVERRIDES
                .iter()
                .map(|(key, value)| ((*key).into(), (*value).into()))
                .collect(),
            settings: Vec::new(),
        };
        let listed = session.call(["config", "--list", "-z", "--includes"]).output()?;
        for record in listed.split(|byte| *byte == 0).filter(|record| !record.is_empty()) {
            let mut halves = record.splitn(2, |byte| *byte == b'\n');
            let key = halves.next().unwrap_or_default().to_vec();
            // A key without `=` is a true boolean.
            let value = halves.next().unwrap_or(b"true").to_vec();
            session.settings.push((key, value));
        }
        let added: BTreeSet<_> = session.settings.iter().flat_map(|(key, _)| neutral(key)).collect();
        session.overrides.extend(added);
        Ok(session)
    }
}

/// The overrides that take the program out of one configured key whose name is not known beforehand.
fn neutral(key: &[u8]) -> Vec<(OsString, OsString)> {
    let Some((section, rest)) = split_once(key) else {
        return Vec::new();
    };
    // The middle part may hold dots itself, the last may not.
    let name = match rest.iter().rposition(|byte| *byte == b'.') {
        Some(dot) => rest.get(..dot).unwrap_or_default(),
        None => rest,
    };
    let set = |variables: &[(&str, &str)]| {
        let full = |variable: &str| {
            let key = [section, b".", name, b".", variable.as_bytes()].concat();
            OsString::from_vec(key)
        };
        variables
            .iter()
            .map(|(variable, value)| (full(variable), OsString::from(value)))
            .collect()
    };
    match section {
        // An empty command is no filter; a required one that is missing would be an error.
        b"filter" => set(&[("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")]),
        b"hook" => set(&[("enabled", "false")]),
        b"protocol" if name != rest => set(&[("allow", "never")]),
        b"pager" => vec![(OsString::from_vec(key.to_vec()), "false".into())],
        _ => Vec::new(),
    }
}

fn split_once(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let dot = key.iter().position(|byte| *byte == b'.')?;
    Some((key.get(..dot)?, key.get(dot + 1..)?))
}

/// Calls in one directory, under the overrides its configuration needs.
#[derive(Debug)]
pub(crate) struct Session {
    program: PathBuf,
    directory: PathBuf,
    overrides: Vec<(OsString, OsString)>,
    /// What the configuration says there, in order; a later one of a key holds.
    settings: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Session {
    /// The value of a key, its section and variable in lower case.
    pub(crate) fn setting(&self, key: &str) -> Option<&[u8]> {
        let found = self.settings.iter().rev().find(|(name, _)| name == key.as_bytes());
        found.map(|(_, value)| value.as_slice())
    }

    /// All settings in order.
    pub(crate) fn settings(&self) -> &[(Vec<u8>, Vec<u8>)] {
        &self.settings
    }

    /// A call with these arguments.
    pub(crate) fn call<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Call<'_> {
        Call {
            session: self,
            arguments: arguments
                .into_iter()
                .map(|argument| argument.as_ref().to_owned())
                .collect(),
            variables: Vec::new(),
            input: Stdin::Null,
            deadline: DEADLINE,
            limit: ANSWER_BYTES,
            limits: Limits::default(),
        }
    }
}

/// One call being put together.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    session: &'a Session,
    arguments: Vec<OsString>,
    variables: Vec<(&'static str, OsString)>,
    input: Stdin,
    deadline: Duration,
    limit: usize,
    limits: Limits,
}

/// What Git answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: i32,
    pub(crate) output: Vec<u8>,
    /// Whether `output` is only the beginning.
    pub(crate) cut: bool,
    /// What it said on standard error, in one line.
    pub(crate) message: String,
}

impl Call<'_> {
    pub(crate) fn argument(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Bounds the private memory of each process.
    pub(crate) fn memory(mut self, bytes: u64) -> Self {
        self.limits.data = Some(bytes);
        self
    }

    pub(crate) fn variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    pub(crate) fn input(mut self, bytes: Vec<u8>) -> Self {
        self.input = Stdin::Bytes(bytes);
        self
    }

    pub(crate) fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    pub(crate) fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// The words of the call before its first option, for messages.
    fn act(&self) -> String {
        let first = self.arguments.first().map(|word| word.display().to_string());
        first.unwrap_or_default()
    }

    /// Runs it and returns whatever status it ended with.
    pub(crate) fn ask(self) -> Result<Answer, Error> {
        let (act, directory) = (self.act(), self.session.directory.clone());
        let mut command = Command::new(&self.session.program)
            .arguments(["--no-pager", "--literal-pathspecs"])
            .arguments(self.arguments)
            .variables(ENVIRONMENT)
            .variables(self.variables)
            .directory(&directory)
            .stdin(self.input)
            .deadline(self.deadline)
            .limits(self.limits)
            .stdout_stop(Some((self.limit as u64).saturating_add(1)));
        // By variables and not by `-c`, which would split a key that holds `=` in the wrong place.
        command = command.variable("GIT_CONFIG_COUNT", self.session.overrides.len().to_string());
        for (index, (key, value)) in self.session.overrides.iter().enumerate() {
            command = command
                .variable(format!("GIT_CONFIG_KEY_{index}"), key)
                .variable(format!("GIT_CONFIG_VALUE_{index}"), value);
        }
        let outcome = command.capture(self.limit).map_err(|source| Error::GitStart {
            act: act.clone(),
            directory: directory.clone(),
            source,
        })?;
        let message = one_line(&outcome.stderr.head);
        let status = match outcome.ending {
            Ending::Exited(status) => status,
            Ending::OutputLimit { .. } => 0,
            Ending::DeadlineExceeded { .. } => {
                return Err(Error::GitDeadline {
                    act,
                    directory,
                    seconds: self.deadline.as_secs(),
                });
            }
            Ending::Signalled(_) | Ending::Unknown | Ending::Cancelled { .. } | Ending::Stopped { .. } => {
                return Err(Error::GitFailed {
                    act,
                    directory,
                    message: format!("it was ended by a signal {message}"),
                });
            }
        };
        Ok(Answer {
            status,
            cut: outcome.stdout.total_bytes > self.limit as u64,
            output: outcome.stdout.head,
            message,
        })
    }

    /// Runs it and returns its whole output; any status but 0 is a failure.
    pub(crate) fn output(self) -> Result<Vec<u8>, Error> {
        let (act, directory) = (self.act(), self.session.directory.clone());
        let answer = self.ask()?;
        if answer.cut {
            return Err(Error::GitAnswer {
                act,
                directory,
                reason: "it is larger than is kept",
            });
        }
        if answer.status == 0 {
            Ok(answer.output)
        } else {
            Err(Error::GitFailed {
                act,
                directory,
                message: answer.message,
            })
        }
    }
}

/// The last lines of a message, which say why it failed, without hints and control characters; at most 400 characters.
fn one_line(bytes: &[u8]) -> String {
    let text = coder_digest::display_bytes(bytes);
    let lines = text
        .rsplit("\\n")
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("hint:"));
    let mut kept: Vec<&str> = Vec::new();
    let mut left = MESSAGE_CHARACTERS;
    for line in lines {
        let length = line.chars().count() + 2;
        if length > left && !kept.is_empty() {
            break;
        }
        left = left.saturating_sub(length);
        kept.insert(0, line);
    }
    kept.join("; ").chars().take(MESSAGE_CHARACTERS).collect()
}

/// Bytes as a path.
pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(test)]
#[path = "git_tests.rs"]
mod tests;
