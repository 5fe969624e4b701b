//! What to run and within which bounds, as plain data. Nothing is checked or opened before the run.

use crate::{Cancel, Confinement, Error, Event, Flow, Limits, Outcome, Unconfined, Window, run};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Where the command's standard input comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Stdin {
    /// `/dev/null`.
    #[default]
    Null,
    /// These bytes, then the end. A command that does not read them is not waited for.
    Bytes(Vec<u8>),
    /// The host's own.
    Inherit,
}

/// Where one of the command's output streams goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// `/dev/null`.
    Null,
    /// The host's own.
    Inherit,
    /// To the observer, with a window of it in the outcome.
    Capture(Window),
}

impl Default for Output {
    fn default() -> Self {
        Self::Capture(Window::default())
    }
}

/// A command to run. It starts with no environment, no input, both outputs captured, no deadline and no confinement.
///
/// The end of the command's own process is the end of all it started: what it leaves behind is killed.
#[derive(Clone)]
pub struct Command {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) stdin: Stdin,
    pub(crate) stdout: Output,
    pub(crate) stderr: Output,
    pub(crate) stdout_stop: Option<u64>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) grace: Duration,
    pub(crate) settle: Duration,
    pub(crate) limits: Limits,
    pub(crate) confinement: Arc<dyn Confinement>,
    pub(crate) patrol: Option<Patrol>,
}

/// Somebody who looks from time to time whether a command may go on.
#[derive(Clone)]
pub(crate) struct Patrol {
    pub(crate) every: Duration,
    pub(crate) look: Arc<dyn Fn() -> Flow + Send + Sync>,
}

impl Command {
    /// A program by its path, or by a name that is looked up in the command's own `PATH` (without one: `/usr/local/bin`,
    /// `/usr/bin`, `/bin`), inside its confinement. A relative path counts from the command's directory.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: None,
            stdin: Stdin::default(),
            stdout: Output::default(),
            stderr: Output::default(),
            stdout_stop: None,
            deadline: None,
            grace: Duration::from_secs(2),
            settle: Duration::from_secs(10),
            limits: Limits::default(),
            confinement: Arc::new(Unconfined),
            patrol: None,
        }
    }

    /// Adds one argument.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn arguments<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets one variable of the environment, in place of an earlier one of the name.
    #[must_use]
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let name = name.into();
        self.environment.retain(|(earlier, _)| *earlier != name);
        self.environment.push((name, value.into()));
        self
    }

    /// Sets variables of the environment.
    #[must_use]
    pub fn variables<N: Into<OsString>, V: Into<OsString>>(self, variables: impl IntoIterator<Item = (N, V)>) -> Self {
        variables
            .into_iter()
            .fold(self, |command, (name, value)| command.variable(name, value))
    }

    /// The directory the command starts in, as its confinement names it. Without one: the host's, or the one the
    /// confinement leaves it in.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Standard input.
    #[must_use]
    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    /// Standard output.
    #[must_use]
    pub fn stdout(mut self, stdout: Output) -> Self {
        self.stdout = stdout;
        self
    }

    /// Standard error.
    #[must_use]
    pub fn stderr(mut self, stderr: Output) -> Self {
        self.stderr = stderr;
        self
    }

    /// Ends the command once this many bytes of captured standard output were seen. What it still prints while it ends
    /// is counted and kept in the window's tail, but not shown to the observer.
    #[must_use]
    pub fn stdout_stop(mut self, bytes: Option<u64>) -> Self {
        self.stdout_stop = bytes;
        self
    }

    /// Ends the command when it has run this long.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// How long `SIGTERM` may take before `SIGKILL`: 2 s at first. Zero kills at once.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// How long a killed tree may take to be gone before it is called [`Tree::Unknown`](crate::Tree::Unknown): 10 s at
    /// first, since a loaded machine is slow and a false alarm costs more than the wait.
    #[must_use]
    pub fn settle(mut self, settle: Duration) -> Self {
        self.settle = settle;
        self
    }

    /// Resource limits of each process.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Asks `look` every so often while the command runs, in the thread that runs it, whether it may go on; when not, the
    /// outcome is [`Ending::Stopped`](crate::Ending::Stopped).
    #[must_use]
    pub fn patrol(mut self, every: Duration, look: Arc<dyn Fn() -> Flow + Send + Sync>) -> Self {
        self.patrol = Some(Patrol { every, look });
        self
    }

    /// What confines the command.
    #[must_use]
    pub fn confinement(mut self, confinement: Arc<dyn Confinement>) -> Self {
        self.confinement = confinement;
        self
    }

    /// The program as given.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The arguments in order, without the program.
    pub fn argument_list(&self) -> impl ExactSizeIterator<Item = &OsStr> {
        self.arguments.iter().map(OsString::as_os_str)
    }

    /// The environment, in the order it was set.
    pub fn variable_list(&self) -> impl ExactSizeIterator<Item = (&OsStr, &OsStr)> {
        self.environment
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// Runs it: see [`run`].
    ///
    /// # Errors
    /// See [`run`].
    pub fn run(&self, cancel: &Cancel, observer: &mut dyn FnMut(Event<'_>) -> Flow) -> Result<Outcome, Error> {
        run(self, cancel, observer)
    }

    /// Runs it with nobody watching, keeping the first `limit` bytes of each stream.
    ///
    /// # Errors
    /// See [`run`].
    pub fn capture(&self, limit: usize) -> Result<Outcome, Error> {
        let window = Output::Capture(Window { head: limit, tail: 0 });
        let command = self.clone().stdout(window).stderr(window);
        run(&command, &Cancel::never(), &mut |_| Flow::Continue)
    }
}

impl fmt::Debug for Command {
    /// Leaves the values of the environment out: they may be secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.environment.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("Command")
            .field("program", &self.program)
            .field("arguments", &self.arguments)
            .field("environment", &names)
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}
