//! What this machine can enforce and which providers are ready, each found by really trying, with the fix for each gap.

use crate::confine::Environment;
use crate::{Error, judge};
use coder_boundary::{Finding, Ground, Level, Network, probe};
use coder_digest::Clock;
use coder_models::{codex_login, locate_claude};
use coder_process::{Command, Ending};
use coder_workspace::Git;
use serde::Serialize;
use std::path::Path;

/// How one thing stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It is there.
    Ready,
    /// It is not, and something is lost without it, but runs work.
    Optional,
    /// It is not, and runs do not work without it.
    Missing,
}

/// One thing looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    /// What it belongs to: `boundary`, `tools` or `providers`.
    pub group: &'static str,
    /// Its name.
    pub name: String,
    /// How it stands.
    pub standing: Standing,
    /// What was found.
    pub detail: String,
    /// What to do about a gap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// Everything looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// Whether runs work.
    pub ready: bool,
    /// The newest Landlock ABI.
    pub landlock_abi: Option<u32>,
    /// The level that commands can be held at here; absent where there is none.
    pub level: Option<Level>,
    /// What was looked at.
    pub items: Vec<Item>,
}

/// Looks at this machine.
///
/// # Errors
/// [`Error::Boundary`] when not even a process to try in can be made.
pub fn diagnose(environment: &Environment<'_>, clock: &dyn Clock) -> Result<Diagnosis, Error> {
    let capabilities = probe()?;
    let obstacles: Vec<_> = capabilities.obstacles().map(|gap| gap.layer).collect();
    let mut items: Vec<Item> = capabilities
        .findings
        .iter()
        .map(|finding| match finding {
            Finding::Available(layer) => Item {
                group: "boundary",
                name: layer.to_string(),
                standing: Standing::Ready,
                detail: "enforced".to_owned(),
                fix: None,
            },
            Finding::Missing(gap) => Item {
                group: "boundary",
                name: gap.layer.to_string(),
                standing: if obstacles.contains(&gap.layer) {
                    Standing::Missing
                } else {
                    Standing::Optional
                },
                detail: gap.to_string(),
                fix: Some(gap.layer.fix().to_owned()),
            },
        })
        .collect();
    let level = Ground::found(&capabilities).level(&Network::None);
    items.push(level_item(level));
    items.push(git());
    items.push(shell());
    items.extend(providers(environment, clock));
    items.push(Item {
        group: "providers",
        name: "decisions".to_owned(),
        standing: Standing::Optional,
        detail: judge::standing(environment),
        fix: None,
    });
    Ok(Diagnosis {
        ready: items.iter().all(|item| item.standing != Standing::Missing),
        landlock_abi: capabilities.landlock_abi,
        level,
        items,
    })
}

/// How much of a boundary there is, and how to be content with less than everything.
fn level_item(level: Option<Level>) -> Item {
    let (standing, detail, fix) = match level {
        Some(Level::Complete) => (Standing::Ready, "complete".to_owned(), None),
        Some(level) => (
            Standing::Optional,
            format!("{level}: commands are refused unless that is accepted"),
            Some(format!("accept it with `--require {level}`, or see to the gaps above")),
        ),
        None => (
            Standing::Missing,
            "none: nothing here confines a command".to_owned(),
            None,
        ),
    };
    Item {
        group: "boundary",
        name: "level".to_owned(),
        standing,
        detail,
        fix,
    }
}

/// Each provider: whether a run could use it now, and why not.
fn providers(environment: &Environment<'_>, clock: &dyn Clock) -> Vec<Item> {
    let codex = codex_login(environment, clock.now())
        .map(|account| format!("ready: a ChatGPT login (account {account})"))
        .map_err(|error| (error.to_string(), "run `codex login`".to_owned()));
    let claude = locate_claude(environment)
        .map(|program| format!("ready: the program {}, with its own login", program.display()))
        .map_err(|error| (error.to_string(), "install Claude Code and sign in with it".to_owned()));
    let anthropic = match environment("ANTHROPIC_API_KEY").is_some_and(|key| !key.is_empty()) {
        true => Ok("ready: a key in ANTHROPIC_API_KEY, or in the variable that --credential-env names".to_owned()),
        false => Err((
            "no key in ANTHROPIC_API_KEY".to_owned(),
            "set it, or name the variable that holds the key with --credential-env".to_owned(),
        )),
    };
    let openai = "ready: any OpenAI-compatible endpoint with --endpoint and --model".to_owned();
    let scripted = "ready: a recorded conversation with --script".to_owned();
    [
        ("codex", codex),
        ("claude", claude),
        ("anthropic", anthropic),
        ("openai", Ok(openai)),
        ("scripted", Ok(scripted)),
    ]
    .map(|(name, found)| provider(name, found))
    .into()
}

/// One provider is enough, so none that is missing keeps runs from working.
fn provider(name: &str, found: Result<String, (String, String)>) -> Item {
    let (standing, detail, fix) = match found {
        Ok(detail) => (Standing::Ready, detail, None),
        Err((detail, fix)) => (Standing::Optional, detail, Some(fix)),
    };
    Item {
        group: "providers",
        name: name.to_owned(),
        standing,
        detail,
        fix,
    }
}

fn git() -> Item {
    let found = Git::find().map_err(|error| error.to_string()).and_then(|git| {
        let outcome = Command::new(git.program())
            .argument("--version")
            .capture(4096)
            .map_err(|error| error.to_string())?;
        match outcome.ending {
            Ending::Exited(0) => Ok(coder_digest::display_bytes(outcome.stdout.head.trim_ascii())),
            Ending::Exited(_)
            | Ending::Signalled(_)
            | Ending::Unknown
            | Ending::DeadlineExceeded { .. }
            | Ending::Cancelled { .. }
            | Ending::OutputLimit { .. }
            | Ending::Stopped { .. } => Err(format!("{} does not run", git.program().display())),
        }
    });
    tool("git", found, "install Git (Debian: apt-get install git)")
}

fn shell() -> Item {
    let found = ["/bin/bash", "/bin/sh"].iter().find(|shell| Path::new(shell).exists());
    let found = found
        .map(|shell| (*shell).to_owned())
        .ok_or_else(|| "neither /bin/bash nor /bin/sh exists".to_owned());
    tool("shell", found, "install bash")
}

fn tool(name: &str, found: Result<String, String>, fix: &str) -> Item {
    let (standing, detail, fix) = match found {
        Ok(detail) => (Standing::Ready, detail, None),
        Err(detail) => (Standing::Missing, detail, Some(fix.to_owned())),
    };
    Item {
        group: "tools",
        name: name.to_owned(),
        standing,
        detail,
        fix,
    }
}
