//! One file per command; here only who takes what.

mod capability;
mod capacity;
mod demo;
mod doctor;
mod exec;
mod granted;
mod key;
mod repository;
mod run;
mod task;
mod why;

use crate::arguments::{CoderCommand, MicrocoderCommand};
use crate::output::{self, Failure};
use crate::programs::{Program, definition};
pub(crate) use exec::REFUSED as EXEC_REFUSED;

/// Runs a `microcoder` command and returns its status.
pub(crate) fn microcoder(command: MicrocoderCommand) -> Result<u8, Failure> {
    match command {
        MicrocoderCommand::Demo(arguments) => demo::demo(&arguments),
        MicrocoderCommand::Run(arguments) => run::run(&arguments),
        MicrocoderCommand::Repository(arguments) => repository::repository(&arguments),
        MicrocoderCommand::Exec(arguments) => exec::exec(&arguments),
        MicrocoderCommand::Why(arguments) => why::why(&arguments),
        MicrocoderCommand::Doctor(arguments) => doctor::doctor(&arguments),
        MicrocoderCommand::Completions { shell } => completions(Program::Microcoder, shell),
    }
}

/// Runs a `coder` command and returns its status.
pub(crate) fn coder(command: CoderCommand) -> Result<u8, Failure> {
    match command {
        CoderCommand::Task(command) => task::task(command),
        CoderCommand::Capacity(arguments) => capacity::capacity(&arguments),
        CoderCommand::Key(command) => key::key(&command),
        CoderCommand::Capability(command) => capability::capability(&command),
        CoderCommand::Completions { shell } => completions(Program::Coder, shell),
    }
}

fn completions(program: Program, shell: clap_complete::Shell) -> Result<u8, Failure> {
    let mut definition = definition(program);
    let name = definition.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut definition, name, &mut script);
    output::data(&script)?;
    Ok(0)
}
