//! `microcoder run`: from a prompt to a candidate, and how to look at it, take it, drop it.

use crate::arguments::{ApiWord, ProviderWord, RunArguments};
use crate::output::{self, Failure};
use crate::progress::{Display, Show};
use crate::surroundings;
use coder_digest::{Digest, ModelName};
use coder_host::{
    Api, Configuration, Effort, Generation, KeptPatch, Launch, Launched, Progress, Route, WorktreeStanding, shell_path,
};
use coder_journal::{Checks, Execution};
use serde_json::{Value, json};
use std::path::Path;

const REFUSED: u8 = 1;
const WRONG_USE: u8 = 2;
/// The model name a recorded conversation runs under unless another is named.
const SCRIPTED_MODEL: &str = "scripted";
/// The ending that needs no explanation.
const MODEL_FINISHED: &str = "model_finished";

pub(crate) fn run(arguments: &RunArguments) -> Result<u8, Failure> {
    let prompt = match (&arguments.prompt, &arguments.prompt_file) {
        (Some(prompt), _) => prompt.clone(),
        (None, Some(file)) => {
            let bytes = super::repository::read(file, "read_prompt", REFUSED)?;
            String::from_utf8(bytes).map_err(|_| Failure::new("read_prompt", "the prompt is not UTF-8", REFUSED))?
        }
        (None, None) => return Err(Failure::new("usage", "a prompt is needed", WRONG_USE)),
    };
    let configuration = configuration(arguments)?;
    let here = surroundings::here()?;
    let repository = arguments
        .repo
        .as_ref()
        .map_or_else(|| here.clone(), |repository| here.join(repository));
    let checks: Vec<_> = arguments.checks.iter().map(|suite| here.join(suite)).collect();
    let store = surroundings::store(arguments.store.as_deref(), REFUSED)?;
    let controller = surroundings::controller()?;
    let mut display = Display::new(if arguments.json { Show::Nothing } else { Show::Terminal });
    let mut watcher = |progress: &Progress<'_>| display.show(progress);
    let launch = Launch {
        prompt: &prompt,
        repository: &repository,
        configuration: &configuration,
        memory_bytes: arguments.memory,
        require: arguments.held.require,
        limits: arguments.held.limits(),
        checks: &checks,
        store: &store,
        clock: surroundings::clock(),
        cancel: surroundings::cancel_on_signals()?,
        environment: &surroundings::environment,
        controller: &controller,
        entropy: surroundings::entropy()?,
    };
    let launched = launch.run(&mut watcher).map_err(|error| Failure::of(&error, REFUSED))?;
    drop(display);
    // In full, so that the commands shown hold in every directory.
    let named = arguments.store.as_ref().map(|_| store.as_path());
    if arguments.json {
        output::json(&document(&launched, named))?;
    } else {
        output::data(told(&launched, named).as_bytes())?;
    }
    let accepted = arguments.checks.is_empty() || launched.task.checks == Checks::Passed;
    Ok(u8::from(launched.task.execution != Execution::Finished || !accepted))
}

fn configuration(arguments: &RunArguments) -> Result<Configuration, Failure> {
    let usage = |message: &str| Failure::new("usage", message, WRONG_USE);
    let generation = match arguments.provider {
        ProviderWord::Openai | ProviderWord::Anthropic | ProviderWord::Codex | ProviderWord::Claude
            if arguments.script.is_some() =>
        {
            return Err(usage("--script goes with --provider scripted"));
        }
        ProviderWord::Codex | ProviderWord::Claude
            if arguments.endpoint.is_some() || arguments.credential_env.is_some() =>
        {
            return Err(usage(
                "--endpoint and --credential-env go with --provider openai or anthropic",
            ));
        }
        ProviderWord::Codex => Generation::Codex,
        ProviderWord::Claude => Generation::Claude,
        ProviderWord::Anthropic => anthropic(arguments),
        ProviderWord::Openai => Generation::Openai {
            endpoint: arguments
                .endpoint
                .clone()
                .ok_or_else(|| usage("--endpoint is needed"))?,
            api: match arguments.api {
                ApiWord::ChatCompletions => Api::ChatCompletions,
                ApiWord::Responses => Api::Responses,
            },
            credential_env: arguments.credential_env.clone(),
        },
        ProviderWord::Scripted => {
            let named = arguments.script.as_ref().ok_or_else(|| usage("--script is needed"))?;
            let read = |error: std::io::Error| {
                Failure::new("io", format!("could not read {}: {error}", named.display()), REFUSED)
            };
            let script = named.canonicalize().map_err(read)?;
            let script_digest = Digest::of(&std::fs::read(&script).map_err(read)?);
            Generation::Scripted { script, script_digest }
        }
    };
    // Only a recorded conversation has a model name to fall back on; the definition demands one otherwise.
    let model = arguments.model.as_deref().unwrap_or(SCRIPTED_MODEL);
    let primary = Route {
        model: ModelName::new(model).map_err(|error| usage(&error.to_string()))?,
        effort: arguments.effort.as_deref().map(effort).transpose()?,
        generation,
    };
    let effort = primary.effort;
    let fallbacks = arguments
        .fallbacks
        .iter()
        .map(|named| fallback(named, effort, arguments));
    Ok(Configuration {
        network: arguments.network.clone(),
        access: super::exec::access(arguments.access),
        fallbacks: fallbacks.collect::<Result<_, _>>()?,
        ..Configuration::new(primary)
    })
}

/// The Messages API where Anthropic serves it and with the usual variable, unless others are named.
fn anthropic(arguments: &RunArguments) -> Generation {
    let named = |given: &Option<String>, usual: &str| given.clone().unwrap_or_else(|| usual.to_owned());
    Generation::Anthropic {
        endpoint: named(&arguments.endpoint, "https://api.anthropic.com"),
        credential_env: named(&arguments.credential_env, "ANTHROPIC_API_KEY"),
    }
}

/// A fallback as it is named in words: only providers that need no address beside their name.
fn fallback(named: &str, effort: Option<Effort>, arguments: &RunArguments) -> Result<Route, Failure> {
    let usage = |message: String| Failure::new("usage", message, WRONG_USE);
    let unknown = || {
        usage(format!(
            "--fallback {named}: codex/MODEL, claude/MODEL or anthropic/MODEL is needed"
        ))
    };
    let (provider, model) = named.split_once('/').ok_or_else(unknown)?;
    let generation = match provider {
        "codex" => Generation::Codex,
        "claude" => Generation::Claude,
        "anthropic" => match arguments.provider {
            ProviderWord::Anthropic => anthropic(arguments),
            ProviderWord::Openai | ProviderWord::Codex | ProviderWord::Claude | ProviderWord::Scripted => {
                Generation::Anthropic {
                    endpoint: "https://api.anthropic.com".to_owned(),
                    credential_env: "ANTHROPIC_API_KEY".to_owned(),
                }
            }
        },
        _ => return Err(unknown()),
    };
    Ok(Route {
        model: ModelName::new(model).map_err(|error| usage(format!("--fallback {named}: {error}")))?,
        effort,
        generation,
    })
}

fn effort(word: &str) -> Result<Effort, Failure> {
    match word {
        "low" => Ok(Effort::Low),
        "medium" => Ok(Effort::Medium),
        "high" => Ok(Effort::High),
        "xhigh" => Ok(Effort::Xhigh),
        _ => Err(Failure::new(
            "usage",
            "the effort is low, medium, high or xhigh",
            WRONG_USE,
        )),
    }
}

fn ending(launched: &Launched) -> &str {
    launched
        .task
        .run
        .as_ref()
        .and_then(|run| run.result.as_ref())
        .map_or("unknown", |result| result.ending.as_str())
}

/// The commands that go with a candidate.
pub(crate) struct Commands {
    pub(crate) view: String,
    pub(crate) verify: String,
    pub(crate) diff: String,
    /// Absent where there is nothing to take, or the patch is not all of it.
    pub(crate) take: Option<String>,
    pub(crate) drop: String,
}

pub(crate) fn commands(launched: &Launched, store: Option<&Path>) -> Commands {
    let store = store.map_or(String::new(), |store| format!(" --store {}", shell_path(store)));
    let task = &launched.task.task_id;
    let (worktree, repository) = (shell_path(&launched.worktree), shell_path(&launched.repository));
    let branch = launched.branch.as_str();
    // The kept patch and not Git in the worktree: its nested repositories and its own Git files are the agent's work, and Git
    // obeys them. The patch is exactly what was shown and verified.
    let patch = format!("coder task artifact {task} --patch{store}");
    let everything = launched.patch.as_ref().is_some_and(KeptPatch::is_everything);
    Commands {
        view: format!("coder task view {task}{store}"),
        verify: format!("coder task verify {task}{store}"),
        take: everything.then(|| format!("{patch} | git -C {repository} apply --index")),
        diff: patch,
        drop: format!(
            "git -C {repository} worktree remove --force {worktree} && git -C {repository} branch -D {branch}"
        ),
    }
}

/// The end of a run for a person: what came of it, and what can be done with it.
fn told(launched: &Launched, store: Option<&Path>) -> String {
    came_of(launched) + &ways_on(launched, store)
}

/// What came of a run, for a person.
pub(crate) fn came_of(launched: &Launched) -> String {
    let mut text = String::new();
    if let Some(reply) = launched.reply.as_deref().filter(|reply| !reply.trim().is_empty()) {
        text.push_str(&format!("{}\n\n", plain(reply)));
    }
    text.push_str(&format!("Task {}: {}\n", launched.task.task_id, ending(launched)));
    if ending(launched) != MODEL_FINISHED
        && let Some(summary) = &launched.summary
    {
        text.push_str(&format!("Why: {}\n", plain(summary)));
    }
    text.push_str(&judged(launched));
    if launched.task.execution == Execution::Stopped {
        text.push_str("A stop was asked for while it ran.\n");
    }
    match &launched.stands {
        Ok(WorktreeStanding { moved: None, .. }) => {}
        Ok(WorktreeStanding { moved: Some(place), .. }) => text.push_str(&format!(
            "The run moved HEAD of its worktree to {}: look before you use Git there.\n",
            plain(place)
        )),
        Err(reason) => text.push_str(&format!("Git cannot read the worktree any more: {}\n", plain(reason))),
    }
    let result = launched.task.run.as_ref().and_then(|run| run.result.as_ref());
    for name in result.iter().flat_map(|result| &result.git_restored) {
        text.push_str(&format!(
            "What the run did to {} of its Git was not taken over; the last step of the trace says why.\n",
            plain(name)
        ));
    }
    for path in result.iter().flat_map(|result| &result.appeared) {
        text.push_str(&format!("{path} appeared; Git would obey it.\n"));
    }
    if result.is_none_or(|result| result.candidate_snapshot.is_none()) {
        text.push_str("What changed could not be observed.\n");
    } else if launched.changes.is_empty() {
        text.push_str("Nothing changed.\n");
    } else {
        text.push_str("Changed:\n");
        for change in &launched.changes {
            text.push_str(&format!("  {change}\n"));
        }
    }
    for finding in result.iter().flat_map(|result| &result.auto_exec) {
        text.push_str(&format!(
            "  look first: {} is executed by {}\n",
            finding.path,
            plain(&finding.runs)
        ));
    }
    if let Some(more) = result.map(|result| result.auto_exec_omitted).filter(|more| *more > 0) {
        text.push_str(&format!("  look first: and {more} more\n"));
    }
    for path in launched.patch.iter().flat_map(|patch| &patch.left_out) {
        text.push_str(&format!("  not in the patch: {path}\n"));
    }
    if !launched.unseen.is_clean() {
        text.push_str("Your uncommitted changes were not part of it: the run began from the last commit.\n");
    }
    text
}

/// What the named suites say; nothing where none were named.
fn judged(launched: &Launched) -> String {
    let report = launched.task.run.as_ref().and_then(|run| run.report.as_ref());
    let reason = report
        .and_then(|report| report.reason.as_ref())
        .or(launched.unchecked.as_ref());
    match (launched.task.checks, reason) {
        (Checks::NotRun, None) => String::new(),
        (checks, None) => format!("Checks: {}\n", checks.as_str()),
        (checks, Some(reason)) => format!("Checks: {}: {}\n", checks.as_str(), plain(reason)),
    }
}

/// The commands that go on from a run, for a person.
pub(crate) fn ways_on(launched: &Launched, store: Option<&Path>) -> String {
    let commands = commands(launched, store);
    let take = commands
        .take
        .map_or(String::new(), |take| format!("Take it:     {take}\n"));
    format!(
        "Look at it:  {}\n             {}\nVerify it:   {}\n{take}Drop it:     {}\n",
        commands.diff, commands.view, commands.verify, commands.drop
    )
}

/// The end of a run as a document.
pub(crate) fn document(launched: &Launched, store: Option<&Path>) -> Value {
    let commands = commands(launched, store);
    json!({
        "task": launched.task,
        "ending": ending(launched),
        "reply": launched.reply,
        "repository": coder_digest::BytePath::from(launched.repository.as_path()),
        "worktree": coder_digest::BytePath::from(launched.worktree.as_path()),
        "branch": launched.branch.as_str(),
        "base": launched.base,
        "summary": launched.summary,
        "head": launched.stands.as_ref().ok().and_then(|standing| standing.head.as_ref()),
        "head_moved_to": launched.stands.as_ref().ok().and_then(|standing| standing.moved.as_ref()),
        "committed": launched.stands.as_ref().ok().map(|standing| standing.left.is_clean()),
        "changes": launched.changes,
        "auto_exec": launched.task.run.as_ref().and_then(|run| run.result.as_ref()).map(|result| &result.auto_exec),
        "look": commands.diff,
        "take": commands.take,
        "drop": commands.drop,
        "unchecked": launched.unchecked,
    })
}

/// A text of somebody else without anything a terminal would obey.
pub(crate) fn plain(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| coder_digest::display_bytes(line.as_bytes()))
        .collect();
    lines.join("\n")
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
