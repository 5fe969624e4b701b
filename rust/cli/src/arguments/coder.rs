//! `coder`: the durable tasks of one store.

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

/// Submit, inspect and verify the tasks of a store.
#[derive(Debug, Parser)]
#[command(name = "coder", version, propagate_version = true, max_term_width = 110)]
pub struct Coder {
    /// What to do.
    #[command(subcommand)]
    pub command: CoderCommand,
}

/// The subcommands of `coder`.
#[derive(Debug, Subcommand)]
pub enum CoderCommand {
    /// The tasks of a store
    #[command(subcommand)]
    Task(TaskCommand),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// The subcommands of `coder task`.
#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    /// Accept a new task from an exact command file
    Submit(CommandFile),
    /// Cancel a task by an exact command file
    Cancel(CommandFile),
    /// All tasks
    List(StoreArguments),
    /// One task's state
    Show(TaskName),
    /// A page of one task's evidence
    View(ViewArguments),
    /// One retained file of the candidate, or the patch of all of it
    Artifact(ArtifactArguments),
    /// The trace as a document other tools read
    Export(ExportArguments),
    /// Re-derive everything offline and name the first mismatch
    Verify(TaskName),
}

/// Where the store is and how to print.
#[derive(Debug, Args)]
pub struct StoreArguments {
    /// The task store
    #[arg(long, value_name = "DIR", env = "MICROCODER_STORE", value_hint = ValueHint::DirPath)]
    pub store: Option<PathBuf>,
    /// Print JSON even on a terminal
    #[arg(long)]
    pub json: bool,
}

/// An exact command.
#[derive(Debug, Args)]
pub struct CommandFile {
    /// The command file (`-` is standard input)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// The store
    #[command(flatten)]
    pub store: StoreArguments,
}

/// One task.
#[derive(Debug, Args)]
pub struct TaskName {
    /// The task
    #[arg(value_name = "TASK")]
    pub task: String,
    /// The store
    #[command(flatten)]
    pub store: StoreArguments,
}

/// `coder task view`.
#[derive(Debug, Args)]
pub struct ViewArguments {
    /// The task and store
    #[command(flatten)]
    pub name: TaskName,
    /// The most steps of this page
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub limit: u32,
    /// Where the page before ended: its `next` value
    #[arg(long, value_name = "JSON")]
    pub cursor: Option<String>,
}

/// `coder task artifact`.
#[derive(Debug, Args)]
pub struct ArtifactArguments {
    /// The task and store
    #[command(flatten)]
    pub name: TaskName,
    /// The file's path in the candidate
    #[arg(long, value_name = "PATH", required_unless_present = "patch")]
    pub path: Option<std::ffi::OsString>,
    /// Write the file's exact bytes to standard output instead of JSON
    #[arg(long)]
    pub raw: bool,
    /// Write the kept patch against the starting commit, for `git apply --index`
    #[arg(long, conflicts_with_all = ["path", "raw"])]
    pub patch: bool,
}

/// The document formats of `coder task export`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// The Agent Trajectory Interchange Format
    Atif,
}

/// `coder task export`.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// The task and store
    #[command(flatten)]
    pub name: TaskName,
    /// The document's format
    #[arg(long, value_enum, default_value = "atif")]
    pub format: ExportFormat,
    /// Where to write it (default: standard output)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
}
