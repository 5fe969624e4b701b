//! `microcoder exec`: one command inside the boundary, its streams the caller's own. The status is the command's; 124
//! after a timeout, 125 when it was refused, 128 and the signal when one ended it.

use crate::arguments::{AccessWord, ExecArguments};
use crate::output::{self, Failure};
use crate::published;
use crate::surroundings;
use coder_boundary::{Mode, Permission};
use coder_host::{Access, Commands, Execution, Report, ReportFile, Streams};
use coder_process::{Death, Ending};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

const TIMED_OUT: u8 = 124;
/// The status of a command that was refused, wrong use included, or whose end is not known.
pub(crate) const REFUSED: u8 = 125;
const SIGNALLED: i32 = 128;

pub(crate) fn exec(arguments: &ExecArguments) -> Result<u8, Failure> {
    let here = surroundings::here().map_err(|failure| failure.with_status(REFUSED))?;
    let absolute = |paths: &[PathBuf]| paths.iter().map(|path| here.join(path)).collect::<Vec<_>>();
    let execution = Execution {
        mode: if arguments.read_only { Mode::Read } else { Mode::Write },
        writes: absolute(&arguments.write),
        reads: absolute(&arguments.read),
        network: arguments.network.clone(),
        access: access(arguments.access),
        memory_bytes: arguments.memory,
        limits: arguments.held.limits(),
        require: arguments.held.require,
        debugger: permission(arguments.allow_debugger),
        nested_namespaces: permission(arguments.allow_nested_namespaces),
        timeout: arguments.timeout,
        variables: arguments.env.iter().map(variable).collect::<Result<_, _>>()?,
        sealed: existing_stores(),
        commands: Commands::One,
        ..Execution::new(&here)
    };
    let refused = |error: coder_host::Error| Failure::of(&error, REFUSED);
    let early = execution.begin().map_err(refused)?;
    // Before the scratch is made, so that an interrupted command does not leave it behind.
    let cancel = surroundings::cancel_on_signals()?;
    let prepared = execution.prepare(&surroundings::environment).map_err(refused)?;
    for git in prepared.recovered() {
        published::told(git, Some("a killed command"));
    }
    if !prepared.planned().lacks().is_empty() {
        output::talk(&format!("microcoder: a reduced boundary: {}", prepared.planned()));
    }
    let report = arguments
        .report
        .as_deref()
        .map(ReportFile::open)
        .transpose()
        .map_err(refused)?;
    let executed = prepared
        .run_early(&arguments.command, Streams::Inherit, early, &cancel)
        .map_err(refused)?;
    for connection in executed.connections.iter().flat_map(|connections| connections.denied()) {
        output::talk(&format!("microcoder: network: {connection}"));
    }
    for words in executed.exhausted.words() {
        output::talk(&format!("microcoder: {words}"));
    }
    for path in &executed.appeared {
        output::talk(&format!("microcoder: {} appeared; Git would obey it", path.display()));
    }
    if let Some(git) = &executed.git {
        published::told(git, None);
    }
    if matches!(executed.outcome.ending, Ending::Unknown) {
        output::talk("microcoder: how the command ended is not known: the process that held it was ended from outside");
    }
    if let Some(place) = report {
        let report = serde_json::to_vec_pretty(&Report::from(&executed))
            .map_err(|error| Failure::new("output", error.to_string(), REFUSED))?;
        place.write(&report).map_err(refused)?;
    }
    Ok(status(&executed.outcome.ending))
}

/// The stores this user has are out of reach even of a command that was given the home directory.
pub(crate) fn existing_stores() -> Vec<PathBuf> {
    let named = surroundings::environment("MICROCODER_STORE").map(PathBuf::from);
    let stores = [None, named.as_deref()].map(|store| surroundings::store(store, REFUSED));
    stores.into_iter().flatten().filter(|store| store.is_dir()).collect()
}

fn permission(asked: bool) -> Permission {
    if asked {
        Permission::Allowed
    } else {
        Permission::Refused
    }
}

pub(crate) fn access(word: AccessWord) -> Access {
    match word {
        AccessWord::Boundary => Access::Boundary,
        AccessWord::Toolchains => Access::Toolchains,
        AccessWord::Full => Access::Full,
    }
}

fn variable(pair: &OsString) -> Result<(OsString, OsString), Failure> {
    let bytes = pair.as_bytes();
    match bytes.iter().position(|byte| *byte == b'=') {
        Some(place) if place > 0 => {
            let (name, value) = bytes.split_at(place);
            Ok((
                OsString::from_vec(name.to_vec()),
                OsString::from_vec(value.get(1..).unwrap_or_default().to_vec()),
            ))
        }
        Some(_) | None => Err(Failure::new(
            "usage",
            format!("--env takes NAME=VALUE, not `{}`", pair.display()),
            REFUSED,
        )),
    }
}

fn status(ending: &Ending) -> u8 {
    let died = |death: Death| match death {
        Death::Exited(status) => status,
        Death::Signalled(signal) => SIGNALLED + signal,
        Death::Unknown => i32::from(REFUSED),
    };
    let status = match ending {
        Ending::Exited(status) => *status,
        Ending::Signalled(signal) => SIGNALLED + signal,
        Ending::DeadlineExceeded { .. } => i32::from(TIMED_OUT),
        Ending::Cancelled { death, .. } | Ending::OutputLimit { death } | Ending::Stopped { death } => died(*death),
        Ending::Unknown => i32::from(REFUSED),
    };
    u8::try_from(status & 0xff).unwrap_or(REFUSED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::own(Ending::Exited(3), 3)]
    #[case::signal(Ending::Signalled(9), 137)]
    #[case::timeout(Ending::DeadlineExceeded { death: Death::Signalled(15) }, 124)]
    #[case::interrupted(Ending::Cancelled { reason: coder_process::Reason::Interrupted, death: Death::Signalled(15) }, 143)]
    #[case::unknown(Ending::Unknown, 125)]
    fn statuses(#[case] ending: Ending, #[case] expected: u8) {
        assert_eq!(status(&ending), expected);
    }
}
