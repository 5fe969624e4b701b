//! `microcoder why`: whether a command in the boundary may do something to a path or reach a host, and by which rule. The
//! status is 0 when it may, 1 when it may not, 64 after a wrong use.

use crate::arguments::{ActWord, WhyArguments};
use crate::output::{self, Failure};
use crate::surroundings;
use coder_boundary::{Act, Found, HostName, Mode, Why};
use coder_digest::display_bytes;
use coder_host::{Commands, Execution};
use serde_json::json;
use std::os::unix::ffi::OsStrExt as _;

const REFUSED: u8 = 1;
const WRONG_USE: u8 = 64;

pub(crate) fn why(arguments: &WhyArguments) -> Result<u8, Failure> {
    let here = surroundings::here()?;
    let execution = Execution {
        mode: if arguments.read_only { Mode::Read } else { Mode::Write },
        writes: arguments.write.iter().map(|path| here.join(path)).collect(),
        reads: arguments.read.iter().map(|path| here.join(path)).collect(),
        network: arguments.network.clone(),
        access: super::exec::access(arguments.access),
        sealed: super::exec::existing_stores(),
        commands: Commands::One,
        ..Execution::new(&here)
    };
    let wrong = |error: coder_host::Error| Failure::of(&error, WRONG_USE);
    let prepared = execution.prepare(&surroundings::environment).map_err(wrong)?;
    let subject = arguments.subject.as_bytes();
    if subject.is_empty() {
        return Err(Failure::new("usage", "a path or HOST:PORT is needed", WRONG_USE));
    }
    let why = match host_and_port(subject) {
        Some((host, port)) => prepared.why_host(&host, port),
        None => prepared.why(&here.join(&arguments.subject)),
    };
    let act = arguments.to.map(act);
    let allowed = why.allows(act);
    if arguments.json {
        output::json(&json!({
            "subject": display_bytes(subject),
            "allowed": allowed,
            "found": why.found,
            "may": why.allowed,
            "may_not": why.refused,
            "rule": why.rule,
        }))?;
    } else {
        output::data(told(&display_bytes(subject), &why, allowed).as_bytes())?;
    }
    Ok(if allowed { 0 } else { REFUSED })
}

/// `HOST:PORT` where it is one; anything with a slash is a path, and a file of that name can be written as `./a:1`.
fn host_and_port(subject: &[u8]) -> Option<(HostName, u16)> {
    if subject.contains(&b'/') {
        return None;
    }
    let (host, port) = HostName::with_port(subject).ok()?;
    Some((host, port?))
}

fn told(subject: &str, why: &Why, allowed: bool) -> String {
    let names = |acts: &[Act]| acts.iter().map(|act| act.name()).collect::<Vec<_>>().join(", ");
    let mut text = format!("{subject}: {}", if allowed { "allowed" } else { "refused" });
    if !why.allowed.is_empty() {
        text.push_str(&format!("; may {}", names(&why.allowed)));
    }
    if !why.refused.is_empty() {
        text.push_str(&format!("; may not {}", names(&why.refused)));
    }
    text.push_str(match why.found {
        Found::Nothing => "\n  there is nothing",
        Found::Hidden => "\n  a command finds nothing there",
        Found::Directory | Found::File | Found::Host => "",
    });
    text.push_str(&format!("\n  rule: {}\n", why.rule));
    text
}

fn act(word: ActWord) -> Act {
    match word {
        ActWord::Read => Act::Read,
        ActWord::Write => Act::Write,
        ActWord::Execute => Act::Execute,
        ActWord::List => Act::List,
        ActWord::Connect => Act::Connect,
    }
}
