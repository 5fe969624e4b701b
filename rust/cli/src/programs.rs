//! The two programs from their arguments to their exit status, and the definitions that completions are made from.

use crate::arguments::{Coder, Microcoder};
use crate::commands;
use crate::output::Failure;
use clap::{CommandFactory, Parser};
use std::ffi::OsString;
use std::process::ExitCode;

/// The status of `microcoder` for a refusal or a wrong use; `exec` and `why` have their own.
const REFUSED: u8 = 2;
/// The status of `coder`, and of `microcoder why`, for a wrong use (facts 11).
const WRONG_USE: u8 = 64;

/// Runs `microcoder` with these arguments, the program's own name first.
pub fn microcoder(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let refused = match arguments.get(1) {
        // Any other status could be the command's own.
        Some(command) if command == "exec" => commands::EXEC_REFUSED,
        // Of this one command 1 is an answer, so that a wrong use is farther away.
        Some(command) if command == "why" => WRONG_USE,
        Some(_) | None => REFUSED,
    };
    match Microcoder::try_parse_from(arguments) {
        Ok(parsed) => finish(commands::microcoder(parsed.command)),
        Err(error) => wrong_use(&error, refused),
    }
}

/// Runs `coder` with these arguments, the program's own name first.
pub fn coder(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match Coder::try_parse_from(arguments) {
        Ok(parsed) => finish(commands::coder(parsed.command)),
        Err(error) => wrong_use(&error, WRONG_USE),
    }
}

/// The definitions that completions are made from.
pub(crate) fn definition(program: Program) -> clap::Command {
    match program {
        Program::Microcoder => Microcoder::command(),
        Program::Coder => Coder::command(),
    }
}

/// One of the two programs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Program {
    Microcoder,
    Coder,
}

fn wrong_use(error: &clap::Error, status: u8) -> ExitCode {
    // Help and version are asked for and go to standard output; a closed pipe is no failure.
    let _ = error.print();
    if error.use_stderr() {
        ExitCode::from(status)
    } else {
        ExitCode::SUCCESS
    }
}

fn finish(done: Result<u8, Failure>) -> ExitCode {
    match done {
        Ok(status) => ExitCode::from(status),
        Err(failure) => failure.report(),
    }
}
