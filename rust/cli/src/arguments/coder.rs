//! `coder`: the durable tasks of one store.

use super::CapabilityCommand;
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
    /// Which providers a limit holds, until when, and how that is known
    Capacity(CapacityArguments),
    /// The keys that attestations are signed with
    #[command(subcommand)]
    Key(KeyCommand),
    /// Which suites may judge a candidate, on your word
    #[command(subcommand)]
    Capability(CapabilityCommand),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// `coder capacity`.
#[derive(Debug, Args)]
pub struct CapacityArguments {
    /// Lift every hold of this provider, such as `codex`, on your word
    #[arg(long, value_name = "PROVIDER")]
    pub clear: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// The task store
    #[arg(long, value_name = "DIR", env = "MICROCODER_STORE", value_hint = ValueHint::DirPath)]
    pub store: Option<PathBuf>,
}

/// The subcommands of `coder key`.
#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Make a new Ed25519 key and its public half beside it (`FILE.pub`)
    Generate {
        /// Where the private key goes; nothing is replaced
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: PathBuf,
    },
}

/// The subcommands of `coder task`.
#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    /// Accept a new task from an exact command file
    Submit(CommandFile),
    /// Drop a queued task, or ask a running one to stop
    Cancel(CancelArguments),
    /// Replace a task's prompt; a run that is under way stops
    Correct(CorrectArguments),
    /// Queue another turn of a finished or cancelled task
    Continue(ContinueArguments),
    /// Run a bounded-command grant to its end
    Execute(GrantFile),
    /// Start a bounded-command grant in a session of its own
    Start(GrantFile),
    /// Leave a message for a running task
    Steer(SteerArguments),
    /// Close what a vanished owner left
    Recover(TaskName),
    /// The tasks that are not archived
    List(ListArguments),
    /// One task's state
    Show(TaskName),
    /// A page of one task's evidence
    View(ViewArguments),
    /// One retained file of the candidate, or the patch of all of it
    Artifact(ArtifactArguments),
    /// The trace, or an attestation of the run, as a document other tools read
    Export(ExportArguments),
    /// Re-derive everything offline and name the first mismatch
    Verify(VerifyArguments),
    /// Run the independent checks that the task's grant pinned, once
    Check(CheckArguments),
    /// Put finished tasks away: they stay as they are and count for no limit of the store
    Archive(ArchiveArguments),
    /// Take an archived task out again
    Restore(TaskName),
    /// Remove what no task of the store names: leftovers of killed runs and writers
    Gc(GcArguments),
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

/// An exact command file, or the task that is meant.
#[derive(Debug, Args)]
pub struct Addressed {
    /// The task, at whatever revision it is
    #[arg(value_name = "TASK", required_unless_present = "file")]
    pub task: Option<String>,
    /// An exact command instead, at the revision it names (`-` is standard input)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["task", "command_id"])]
    pub file: Option<PathBuf>,
    /// The command's id, which makes it safe to repeat (default: a new one)
    #[arg(long, value_name = "ID")]
    pub command_id: Option<String>,
    /// The store
    #[command(flatten)]
    pub store: StoreArguments,
}

/// A prompt.
#[derive(Debug, Args)]
pub struct Prompt {
    /// The prompt
    #[arg(long, value_name = "TEXT", required_unless_present_any = ["file", "prompt_file"], conflicts_with = "file")]
    pub prompt: Option<String>,
    /// Read the prompt from a file (`-` is standard input)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["prompt", "file"], value_hint = ValueHint::FilePath)]
    pub prompt_file: Option<PathBuf>,
}

/// `coder task cancel`.
#[derive(Debug, Args)]
pub struct CancelArguments {
    /// Which task
    #[command(flatten)]
    pub exact: Addressed,
    /// Why
    #[arg(long, value_name = "TEXT", required_unless_present = "file", conflicts_with = "file")]
    pub reason: Option<String>,
}

/// `coder task correct`.
#[derive(Debug, Args)]
pub struct CorrectArguments {
    /// Which task
    #[command(flatten)]
    pub exact: Addressed,
    /// The new prompt
    #[command(flatten)]
    pub prompt: Prompt,
    /// Why
    #[arg(long, value_name = "TEXT", required_unless_present = "file", conflicts_with = "file")]
    pub reason: Option<String>,
}

/// `coder task continue`.
#[derive(Debug, Args)]
pub struct ContinueArguments {
    /// Which task
    #[command(flatten)]
    pub exact: Addressed,
    /// The prompt of the turn
    #[command(flatten)]
    pub prompt: Prompt,
}

/// `coder task list`.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// Also the archived ones
    #[arg(long)]
    pub all: bool,
    /// The store
    #[command(flatten)]
    pub store: StoreArguments,
}

/// `coder task archive`.
#[derive(Debug, Args)]
pub struct ArchiveArguments {
    /// The tasks
    #[arg(value_name = "TASK", required_unless_present = "older_than")]
    pub tasks: Vec<String>,
    /// Every finished or cancelled task whose last step is at least so old, like 30d
    #[arg(long, value_name = "AGE", value_parser = crate::bytes::parse_age)]
    pub older_than: Option<std::time::Duration>,
    /// The store
    #[command(flatten)]
    pub store: StoreArguments,
}

/// `coder task gc`.
#[derive(Debug, Args)]
pub struct GcArguments {
    /// Only say what would be removed
    #[arg(long)]
    pub dry_run: bool,
    /// Leave what is younger than this, like 12h or 7d
    #[arg(long, value_name = "AGE", default_value = "1d", value_parser = crate::bytes::parse_age)]
    pub older_than: std::time::Duration,
    /// The store
    #[command(flatten)]
    pub store: StoreArguments,
}

/// An exact grant.
#[derive(Debug, Args)]
pub struct GrantFile {
    /// The grant file (`-` is standard input, for `execute` only)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub grant: PathBuf,
    /// The store
    #[command(flatten)]
    pub store: StoreArguments,
}

/// `coder task steer`.
#[derive(Debug, Args)]
pub struct SteerArguments {
    /// The task and store
    #[command(flatten)]
    pub name: TaskName,
    /// What to tell it, at most 32 KiB
    #[arg(long, value_name = "TEXT")]
    pub message: String,
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

/// `coder task check`.
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// The task and store
    #[command(flatten)]
    pub name: TaskName,
    /// End with status 1 unless the verdict is `passed`
    #[arg(long)]
    pub require_passed: bool,
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
    /// Write the whole task as one page for a browser
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["limit", "cursor", "json"])]
    pub html: Option<PathBuf>,
    /// Replace the page if it is there already
    #[arg(long, requires = "html")]
    pub force: bool,
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
    /// An in-toto Statement of what the run left and how it came to be
    InToto,
}

/// `coder task export`.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// The task and store
    #[command(flatten)]
    pub name: TaskName,
    /// The document's format
    #[arg(long, value_enum, default_value = "atif", conflicts_with_all = ["atif", "in_toto"])]
    pub format: ExportFormat,
    /// The same as `--format atif`
    #[arg(long, conflicts_with = "in_toto")]
    pub atif: bool,
    /// The same as `--format in-toto`
    #[arg(long)]
    pub in_toto: bool,
    /// Sign the statement with this Ed25519 key (PKCS#8 PEM, readable by its owner only), as a DSSE envelope
    #[arg(long, value_name = "KEYFILE", conflicts_with = "atif", value_hint = ValueHint::FilePath)]
    pub sign: Option<PathBuf>,
    /// Where to write it (default: standard output)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
}

impl ExportArguments {
    /// The format, however it was named.
    pub(crate) fn chosen(&self) -> ExportFormat {
        match (self.atif, self.in_toto) {
            (_, true) => ExportFormat::InToto,
            (true, false) => ExportFormat::Atif,
            (false, false) => self.format,
        }
    }
}

/// `coder task verify`.
#[derive(Debug, Args)]
pub struct VerifyArguments {
    /// The task; with an attestation or a document, the task that it must be of
    #[arg(value_name = "TASK", required_unless_present_any = ["attestation", "document"])]
    pub task: Option<String>,
    /// Verify this in-toto statement or signed envelope; against the store only where one is named
    #[arg(long, value_name = "FILE", conflicts_with = "document", value_hint = ValueHint::FilePath)]
    pub attestation: Option<PathBuf>,
    /// The public key that must have signed the attestation
    #[arg(long, value_name = "PUB", requires = "attestation", value_hint = ValueHint::FilePath)]
    pub key: Option<PathBuf>,
    /// Verify this exported ATIF document against the store
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub document: Option<PathBuf>,
    /// The `journal_head` of an earlier verification, as in 7:sha256:…: nothing of what the store had then may be gone
    #[arg(long, value_name = "HEAD", conflicts_with_all = ["attestation", "document"])]
    pub head: Option<coder_journal::Head>,
    /// The store
    #[command(flatten)]
    pub store: StoreArguments,
}
