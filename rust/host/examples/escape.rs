//! One command as `microcoder exec` runs it, with walls taken away: how the escape corpus shows that an attempt fails for
//! a reason. Only a build with the feature `escape-tests` has it.
//!
//! `escape [--level LEVEL] [--without LAYER]… [--access A] [--network N] [--memory BYTES] [--read-only] [--write D]… [--read D]… -- CMD…`
//! works in the current directory. The exit status is the command's, 128 and the signal, 124 after `--timeout SECONDS`,
//! 125 when it was refused. What held the command goes to the file of `--report F`.

#![allow(clippy::print_stderr, reason = "a refusal is said to whoever runs this program")]

use coder_boundary::{Ground, Layer, Level, Mode};
use coder_host::{Access, Commands, Execution, Report, Streams};
use coder_process::{Cancel, Death, Ending};
use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const TIMED_OUT: i32 = 124;
const REFUSED: i32 = 125;
const SIGNALLED: i32 = 128;

fn main() -> ExitCode {
    let status = run().unwrap_or_else(|error| {
        eprintln!("escape: {error}");
        REFUSED
    });
    ExitCode::from(u8::try_from(status & 0xff).unwrap_or(u8::MAX))
}

fn run() -> Result<i32, Box<dyn Error>> {
    let here = std::env::current_dir()?;
    let mut execution = Execution {
        commands: Commands::One,
        ..Execution::new(&here)
    };
    let (mut level, mut without, mut report) = (Level::Complete, Vec::new(), None);
    let mut arguments = std::env::args_os().skip(1);
    let mut command: Vec<OsString> = Vec::new();
    while let Some(option) = arguments.next() {
        if option == "--" {
            command.extend(arguments.by_ref());
            break;
        }
        if option == "--read-only" {
            execution.mode = Mode::Read;
            continue;
        }
        let value = arguments.next().ok_or("an option without its value")?;
        let word = || value.to_str().ok_or("a word that is not UTF-8");
        match option.to_str() {
            Some("--level") => level = word()?.parse()?,
            Some("--without") => without.push(word()?.parse::<Layer>()?),
            Some("--write") => execution.writes.push(here.join(PathBuf::from(&value))),
            Some("--read") => execution.reads.push(here.join(PathBuf::from(&value))),
            Some("--timeout") => execution.timeout = Some(Duration::from_secs_f64(word()?.parse()?)),
            Some("--report") => report = Some(here.join(PathBuf::from(&value))),
            Some("--access") => {
                execution.access = match word()? {
                    "boundary" => Access::Boundary,
                    "toolchains" => Access::Toolchains,
                    "full" => Access::Full,
                    other => return Err(format!("there is no access mode `{other}`").into()),
                }
            }
            Some("--network") => execution.network = Some(word()?.parse()?),
            Some("--memory") => execution.memory_bytes = Some(word()?.parse()?),
            _ => return Err(format!("there is no option `{}`", option.display()).into()),
        }
    }
    execution.ground = Some(Ground::no_more_than(level).less(without));
    let prepared = execution.prepare(&|name| std::env::var_os(name))?;
    let executed = prepared.run(&command, Streams::Inherit, &Cancel::never())?;
    if let Some(report) = report {
        std::fs::write(report, serde_json::to_vec_pretty(&Report::from(&executed))?)?;
    }
    let died = |death: Death| match death {
        Death::Exited(status) => status,
        Death::Signalled(signal) => SIGNALLED + signal,
        Death::Unknown => REFUSED,
    };
    Ok(match executed.outcome.ending {
        Ending::Exited(status) => status,
        Ending::Signalled(signal) => SIGNALLED + signal,
        Ending::DeadlineExceeded { .. } => TIMED_OUT,
        Ending::Cancelled { death, .. } | Ending::OutputLimit { death } | Ending::Stopped { death } => died(death),
        Ending::Unknown => REFUSED,
    })
}
