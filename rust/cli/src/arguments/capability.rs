//! `coder capability`: which suites may judge, on the operator's word.

use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

/// The subcommands of `coder capability`.
#[derive(Debug, Subcommand)]
pub enum CapabilityCommand {
    /// Let the program of a manifest run, by the exact bytes of everything it names
    Approve(ApproveArguments),
    /// Everything approved
    List {
        /// Print JSON even on a terminal
        #[arg(long)]
        json: bool,
    },
    /// Take an approval back
    Revoke(RevokeArguments),
}

/// `coder capability approve`.
#[derive(Debug, Args)]
pub struct ApproveArguments {
    /// The capability manifest
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub manifest: PathBuf,
    /// Only show what would be approved
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON even on a terminal
    #[arg(long)]
    pub json: bool,
}

/// `coder capability revoke`.
#[derive(Debug, Args)]
pub struct RevokeArguments {
    /// The manifest's slug
    #[arg(value_name = "SLUG")]
    pub slug: String,
    /// Print JSON even on a terminal
    #[arg(long)]
    pub json: bool,
}
