//! `microcoder`: run an agent, run one command, see what this machine can do.

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use coder_boundary::{Level, Network};
use coder_host::Limits;
use std::ffi::OsString;
use std::path::PathBuf;

/// Run coding agents on a repository under an exact grant, inside a boundary the kernel enforces, with evidence.
#[derive(Debug, Parser)]
#[command(name = "microcoder", version, propagate_version = true, max_term_width = 110)]
pub struct Microcoder {
    /// What to do.
    #[command(subcommand)]
    pub command: MicrocoderCommand,
}

/// The subcommands of `microcoder`.
#[derive(Debug, Subcommand)]
pub enum MicrocoderCommand {
    /// The whole job, offline, on an embedded repository: run, check, verify, show
    Demo(DemoArguments),
    /// Run an agent on a repository and show the candidate change it made
    Run(Box<RunArguments>),
    /// Run the loop under an exact grant for a submitted task
    Repository(RepositoryArguments),
    /// Run one command inside the boundary
    Exec(Box<ExecArguments>),
    /// Whether a command may do something to a path or reach a host, and by which rule
    Why(WhyArguments),
    /// What this machine can enforce and which providers are ready, with the fix for each gap
    Doctor(DoctorArguments),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// `microcoder demo`.
#[derive(Debug, Args)]
pub struct DemoArguments {
    /// Keep everything in this store (default: a temporary one, removed at the end)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub store: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Who generates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProviderWord {
    /// Any OpenAI-compatible endpoint: Ollama, llama.cpp, vLLM, hosted services
    Openai,
    /// Anthropic's Messages API, with a key (ANTHROPIC_API_KEY unless --credential-env names another variable)
    Anthropic,
    /// Your ChatGPT login, as `codex login` left it
    Codex,
    /// The Claude Code program, with its own login
    Claude,
    /// A recorded conversation
    Scripted,
}

/// Which request format an endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ApiWord {
    /// POST …/chat/completions
    ChatCompletions,
    /// POST …/responses
    Responses,
}

/// What commands may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AccessWord {
    /// The workspace and the system, offline
    Boundary,
    /// Also this computer's developer toolchains, online
    Toolchains,
    /// All that is yours, in your login shell's environment; only the checkout that a worktree was made from is held
    Full,
}

/// What commands are held by, and what they may use up beside memory.
#[derive(Debug, Args)]
pub struct HeldArguments {
    /// The least boundary that is accepted: complete, namespaces, landlock or system_calls; less refuses
    #[arg(long, value_name = "LEVEL", default_value = "complete")]
    pub require: Level,
    /// The most processes and threads of a command together
    #[arg(long, value_name = "COUNT")]
    pub pids: Option<u64>,
    /// The most open files of each process
    #[arg(long, value_name = "COUNT")]
    pub open_files: Option<u64>,
    /// The largest file a command may write, such as 100M
    #[arg(long, value_name = "BYTES", value_parser = crate::bytes::parse)]
    pub file_size: Option<u64>,
    /// The processor time of each process, in seconds
    #[arg(long, value_name = "SECONDS")]
    pub cpu_seconds: Option<u64>,
    /// The most bytes in the private home and /tmp, such as 1G
    #[arg(long, value_name = "BYTES", value_parser = crate::bytes::parse)]
    pub scratch: Option<u64>,
}

impl HeldArguments {
    /// The bounds, unchecked.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            pids: self.pids,
            open_files: self.open_files,
            file_bytes: self.file_size,
            cpu_seconds: self.cpu_seconds,
            scratch_bytes: self.scratch,
        }
    }
}

/// `microcoder run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// What the agent is asked to do
    #[arg(required_unless_present = "prompt_file")]
    pub prompt: Option<String>,
    /// Read the prompt from a file (`-` is standard input)
    #[arg(long, value_name = "FILE", conflicts_with = "prompt", value_hint = ValueHint::FilePath)]
    pub prompt_file: Option<PathBuf>,
    /// The repository (default: the current directory)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub repo: Option<PathBuf>,
    /// Who generates
    #[arg(long, value_enum, default_value = "openai")]
    pub provider: ProviderWord,
    /// The exact model name the provider reports
    #[arg(long, value_name = "NAME", required_unless_present = "script")]
    pub model: Option<String>,
    /// The endpoint, such as http://127.0.0.1:11434/v1 (for openai; anthropic has a usual one)
    #[arg(long, value_name = "URL")]
    pub endpoint: Option<String>,
    /// The request format of the endpoint
    #[arg(long, value_enum, default_value = "chat-completions")]
    pub api: ApiWord,
    /// The environment variable that holds the endpoint's key
    #[arg(long, value_name = "VARIABLE")]
    pub credential_env: Option<String>,
    /// How hard the model is asked to think: low, medium, high, xhigh
    #[arg(long, value_name = "EFFORT", value_parser = ["low", "medium", "high", "xhigh"])]
    pub effort: Option<String>,
    /// Where the run goes on when a limit is met, such as codex/gpt-6-luna or claude/claude-opus-5-5 (repeat for up to 4)
    #[arg(long = "fallback", value_name = "PROVIDER/MODEL")]
    pub fallbacks: Vec<String>,
    /// The recorded conversation of `--provider scripted`
    #[arg(
        long,
        value_name = "FILE",
        requires = "provider",
        required_if_eq("provider", "scripted"),
        conflicts_with_all = ["endpoint", "credential_env", "effort"],
        value_hint = ValueHint::FilePath
    )]
    pub script: Option<PathBuf>,
    /// What commands may reach
    #[arg(long, value_enum, default_value = "boundary")]
    pub access: AccessWord,
    /// The network commands see: none, host, or allow:HOST:PORT[,HOST:PORT…] (default: none, and host with --access
    /// toolchains)
    #[arg(long, value_name = "NETWORK", value_parser = network)]
    pub network: Option<Network>,
    /// The memory bound of each command's processes, such as 512M or 2G
    #[arg(long, value_name = "BYTES", default_value = "2G", value_parser = crate::bytes::parse)]
    pub memory: u64,
    /// How a command is held.
    #[command(flatten)]
    pub held: HeldArguments,
    /// A program of yours that judges the candidate, which it sees read-only (repeat for more); naming it lets it run
    #[arg(long = "check", value_name = "SUITE", value_hint = ValueHint::FilePath)]
    pub checks: Vec<PathBuf>,
    /// The task store
    #[arg(long, value_name = "DIR", env = "MICROCODER_STORE", value_hint = ValueHint::DirPath)]
    pub store: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// `microcoder repository`.
#[derive(Debug, Args)]
pub struct RepositoryArguments {
    /// The grant file (`-` is standard input)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub grant: PathBuf,
    /// Start the run in a session of its own, and return at once
    #[arg(long)]
    pub detach: bool,
    /// The task store
    #[arg(long, value_name = "DIR", env = "MICROCODER_STORE", value_hint = ValueHint::DirPath)]
    pub store: Option<PathBuf>,
}

/// `microcoder exec`.
#[derive(Debug, Args)]
pub struct ExecArguments {
    /// Also writable (repeat for more); the current directory is the writable workspace unless --read-only
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub write: Vec<PathBuf>,
    /// Also readable (repeat for more)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::AnyPath)]
    pub read: Vec<PathBuf>,
    /// The workspace is read-only
    #[arg(long)]
    pub read_only: bool,
    /// The network the command sees: none, host, or allow:HOST:PORT[,HOST:PORT…] (default: none, and host with --access
    /// toolchains or full)
    #[arg(long, value_name = "NETWORK", value_parser = network)]
    pub network: Option<Network>,
    /// What the command may reach
    #[arg(long, value_enum, default_value = "boundary")]
    pub access: AccessWord,
    /// The memory bound of the command's processes, such as 512M or 2G
    #[arg(long, value_name = "BYTES", value_parser = crate::bytes::parse_memory)]
    pub memory: Option<u64>,
    /// How the command is held.
    #[command(flatten)]
    pub held: HeldArguments,
    /// Let debuggers and tracers reach the command's own processes
    #[arg(long)]
    pub allow_debugger: bool,
    /// Let the command make user namespaces of its own (not as root)
    #[arg(long)]
    pub allow_nested_namespaces: bool,
    /// End the command after this long, such as 90, 90s, 5m or 1h
    #[arg(long, value_name = "TIME", value_parser = crate::bytes::parse_duration)]
    pub timeout: Option<std::time::Duration>,
    /// Set a variable in the command's cleared environment (repeat for more)
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<OsString>,
    /// Write what was enforced and how it ended to this file, as JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// Something a command may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ActWord {
    /// Read a file
    Read,
    /// Change a file or what is in a directory, or make it
    Write,
    /// Execute a file
    Execute,
    /// List a directory
    List,
    /// Connect to a host and port
    Connect,
}

/// `microcoder why`. The options are those of `exec`, and mean the same boundary.
#[derive(Debug, Args)]
pub struct WhyArguments {
    /// Also writable (repeat for more); the current directory is the writable workspace unless --read-only
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub write: Vec<PathBuf>,
    /// Also readable (repeat for more)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::AnyPath)]
    pub read: Vec<PathBuf>,
    /// The workspace is read-only
    #[arg(long)]
    pub read_only: bool,
    /// The network the command sees: none, host, or allow:HOST:PORT[,HOST:PORT…]
    #[arg(long, value_name = "NETWORK", value_parser = network)]
    pub network: Option<Network>,
    /// What the command may reach
    #[arg(long, value_enum, default_value = "boundary")]
    pub access: AccessWord,
    /// Ask for this alone (default: anything)
    #[arg(long, value_enum)]
    pub to: Option<ActWord>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// A path, or HOST:PORT
    #[arg(value_name = "PATH|HOST:PORT", value_hint = ValueHint::AnyPath)]
    pub subject: OsString,
}

/// `microcoder doctor`.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

fn network(text: &str) -> Result<Network, coder_boundary::Error> {
    text.parse()
}
