//! Runs one program many times, bare and in a boundary, and prints how long each took: the measured launcher of
//! `benches/launch.sh`. With one run it is also the shortest way to look at a boundary from inside.
//!
//! `launch (bare|boundary|fresh) RUNS WORKSPACE PROGRAM [ARGUMENT]…`; `fresh` prepares a new boundary for every run.
//! With more than one run each line is the microseconds of one; with one run the program's own output is shown.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this program's output is its purpose"
)]

use coder_boundary::{Boundary, Mode, Policy, Private, Workspace};
use coder_process::{Cancel, Command, Ending, Flow, Output};
use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1);
    let mut next = || {
        arguments
            .next()
            .ok_or("usage: launch (bare|boundary|fresh) RUNS WORKSPACE PROGRAM [ARGUMENT]…")
    };
    let form = next()?;
    let runs: u32 = next()?.into_string().map_err(|_| "RUNS is not a number")?.parse()?;
    let workspace = PathBuf::from(next()?);
    let program = PathBuf::from(next()?);
    let arguments: Vec<_> = arguments.collect();

    let prepare = || -> Result<Boundary, Box<dyn Error>> {
        let policy = Policy {
            workspace: Some(Workspace {
                path: workspace.clone(),
                mode: Mode::Write,
            }),
            ..Policy::default()
        };
        Ok(Boundary::prepare(policy, Private::Memory)?)
    };
    let prepared = prepare()?;
    let mut code = 0;
    for _ in 0..runs {
        let start = Instant::now();
        let command = match form.to_str() {
            Some("bare") => Command::new(&program).directory(&workspace),
            Some("boundary") => prepared.command(&program),
            Some("fresh") => prepare()?.command(&program),
            _ => return Err("the first argument is bare, boundary or fresh".into()),
        };
        let output = if runs == 1 { Output::Inherit } else { Output::Null };
        let command = command
            .arguments(arguments.iter().cloned())
            .stdout(output)
            .stderr(output);
        let outcome = command.run(&Cancel::never(), &mut |_| Flow::Continue)?;
        drop(command);
        if runs == 1 {
            eprintln!("{}", prepared.enforced(outcome.layers));
        } else {
            println!("{}", start.elapsed().as_micros());
        }
        code = match outcome.ending {
            Ending::Exited(code) => code,
            other => return Err(format!("{other:?}").into()),
        };
    }
    Ok(ExitCode::from(u8::try_from(code)?))
}
