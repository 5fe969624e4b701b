//! Why nothing ran. How a command that did run ended is never an error: see `outcome`.

use crate::Reason;
use std::ffi::OsString;
use std::io;
use std::os::fd::RawFd;
use std::path::PathBuf;

/// One failed act on the way to a running program. Nothing of the command is left when one is returned,
/// except after [`Error::Watch`], where that is not known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such program, at its path or in the command's `PATH`.
    #[error("program `{}` was not found", program.display())]
    NotFound {
        /// As given.
        program: PathBuf,
    },
    /// The program is there; the interpreter or loader it names is not.
    #[error("program `{}` exists, but the interpreter it names does not", program.display())]
    InterpreterNotFound {
        /// As given.
        program: PathBuf,
    },
    /// The program is a directory, lacks execute permission, or lies where nothing may be executed.
    #[error("`{}` cannot be executed: it is not an executable file", program.display())]
    NotExecutable {
        /// As given.
        program: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The file is executable but neither a binary of this machine nor a script that begins with `#!`.
    #[error("`{}` is neither a binary of this machine nor a script with an interpreter line", program.display())]
    FormatUnknown {
        /// As given.
        program: PathBuf,
    },
    /// Arguments and environment together, or one of them, exceed what the kernel takes.
    #[error("the arguments and environment of `{}` are too large", program.display())]
    ArgumentsTooLarge {
        /// As given.
        program: PathBuf,
    },
    /// The program could not be started for another reason.
    #[error("execute `{}`", program.display())]
    Execute {
        /// As given.
        program: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The command's directory cannot be entered.
    #[error("enter directory `{}`", directory.display())]
    Directory {
        /// As given.
        directory: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
    /// A program, argument, directory or variable holds a NUL byte, which the kernel cannot take.
    #[error("{what} {value:?} holds a NUL byte")]
    Nul {
        /// Which part of the command.
        what: &'static str,
        /// Its value.
        value: OsString,
    },
    /// A variable's name is empty or holds `=`.
    #[error("{name:?} is no name for an environment variable")]
    VariableName {
        /// As given.
        name: OsString,
    },
    /// An act of the confinement failed, so the command was refused.
    #[error("{act}")]
    Confinement {
        /// The act in the confinement's own words.
        act: String,
        /// Its number, see [`Failure`](crate::Failure).
        number: u32,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The confinement asks for clone flags that make no namespace.
    #[error("clone flags {flags:#x} hold more than namespaces")]
    CloneFlags {
        /// As asked for.
        flags: u64,
    },
    /// The confinement keeps a descriptor that is closed, a standard one, or not close-on-exec.
    #[error("descriptor {descriptor} cannot be kept for a confinement: it must be open, above 2 and close-on-exec")]
    KeptDescriptor {
        /// As asked for.
        descriptor: RawFd,
    },
    /// The kernel made no process in these namespaces, or a process none of these.
    #[error("make the namespaces {flags:#x}")]
    Namespaces {
        /// The `CLONE_NEW*` flags.
        flags: u64,
        /// The kernel's reason.
        source: io::Error,
    },
    /// A resource limit could not be set.
    #[error("limit the {limit} of the command")]
    Limit {
        /// Which.
        limit: &'static str,
        /// The kernel's reason.
        source: io::Error,
    },
    /// Another step of starting failed.
    #[error("{act}")]
    Start {
        /// Which.
        act: &'static str,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The kernel refused to wait. The command was told to end, but nobody saw it.
    #[error("wait for the command")]
    Watch {
        /// The kernel's reason.
        source: io::Error,
    },
    /// The warden was ended by someone else before the command had started.
    #[error("the warden was ended before the command had started")]
    WardenLost,
    /// The observer did not let the command start.
    #[error("the command was withheld before its start")]
    Withheld,
    /// A process that holds a command could not be named.
    #[error("name process {process}")]
    Name {
        /// Its number.
        process: i32,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The run was cancelled before anything was started.
    #[error("cancelled before the start")]
    Cancelled {
        /// Why.
        reason: Reason,
    },
}

impl Error {
    /// A stable name for records and for other languages.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "program_not_found",
            Self::InterpreterNotFound { .. } => "interpreter_not_found",
            Self::NotExecutable { .. } => "program_not_executable",
            Self::FormatUnknown { .. } => "program_format_unknown",
            Self::ArgumentsTooLarge { .. } => "arguments_too_large",
            Self::Execute { .. } => "execute_failed",
            Self::Directory { .. } => "directory_unusable",
            Self::Nul { .. } => "nul_byte",
            Self::VariableName { .. } => "variable_name_invalid",
            Self::Confinement { .. } => "confinement_failed",
            Self::CloneFlags { .. } => "clone_flags_invalid",
            Self::KeptDescriptor { .. } => "kept_descriptor_invalid",
            Self::Namespaces { .. } => "clone_failed",
            Self::Limit { .. } => "limit_failed",
            Self::Start { .. } => "start_failed",
            Self::Watch { .. } => "watch_failed",
            Self::WardenLost => "warden_lost",
            Self::Withheld => "withheld",
            Self::Name { .. } => "process_unnamed",
            Self::Cancelled { .. } => "cancelled",
        }
    }

    pub(crate) fn start(act: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Start { act, source }
    }
}
