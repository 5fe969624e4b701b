//! The client that asks through the Claude Code program, with whatever login that has: one process for each call, its tools,
//! settings and sessions off, the reply read from its lines of JSON. The program's login is never looked at. What its lines
//! mean is [`wire`]'s; where the program is, [`locate`]'s.

mod locate;
mod wire;

pub use locate::locate_claude;

use crate::attempts::{
    AttemptError, AttemptErrorKind, AttemptKind, AttemptRequest, AttemptResponse, Attempts, PromptForm,
};
use crate::client::{Client, wrong_model};
use crate::config::ClaudeConfig;
use crate::http::{account, failure};
use crate::refusal::shorten;
use coder_agent::{Generated, GenerationFailure, GenerationRequest, HostFault};
use coder_digest::{Clock, Digest, display_bytes};
use coder_process::{Cancel, Command, Ending, Event, Flow, Output, Reason, Stdin, Stream, Window};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use wire::Lines;

/// Where the program sends what it is given.
const ENDPOINT: &str = "https://api.anthropic.com";
/// How long between two looks at the stop signal.
const POLL: Duration = Duration::from_millis(20);
/// How much of the program's last words is kept.
const WORDS: Window = Window { head: 0, tail: 4096 };

/// A client of one installed program and one model.
pub struct Claude {
    config: ClaudeConfig,
    clock: Arc<dyn Clock>,
    cuts: Vec<usize>,
    marks: Marks,
}

/// Whether the prompt is sent with a mark for the provider's cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marks {
    Set,
    /// The provider complained of it once.
    Off,
}

/// What ended a call that the program did not end with a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopped {
    Cancelled,
    Idle,
}

impl Claude {
    /// Makes a client; nothing is started.
    pub fn new(config: ClaudeConfig, clock: Arc<dyn Clock>) -> Self {
        Self {
            config,
            clock,
            cuts: Vec::new(),
            marks: Marks::Set,
        }
    }

    fn cut(&mut self, request: &GenerationRequest<'_>) {
        self.cuts.retain(|cut| *cut < request.previous_bytes);
        if request.previous_bytes > 0 && request.prompt.is_char_boundary(request.previous_bytes) {
            self.cuts.push(request.previous_bytes);
        }
    }

    fn arguments(&self, request: &GenerationRequest<'_>) -> Vec<String> {
        let effort = self.config.effort.map_or("low", |effort| effort.as_str());
        let fixed = [
            "-p",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--verbose",
            "--include-partial-messages",
            "--no-session-persistence",
            "--tools",
            "",
            "--max-turns",
            "1",
            "--setting-sources",
            "",
        ];
        let given = [
            ("--model", self.config.model.as_str()),
            ("--effort", effort),
            ("--system-prompt", request.system),
            ("--json-schema", request.schema.json),
        ];
        let given = given.into_iter().flat_map(|(name, value)| [name, value]);
        fixed.into_iter().chain(given).map(str::to_owned).collect()
    }

    /// One run of the program with its two records.
    fn attempt(
        &self,
        request: &GenerationRequest<'_>,
        number: u32,
        attempts: &mut dyn Attempts,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(AttemptResponse, Result<(), HostFault>), GenerationFailure> {
        let fault = |reason: String| GenerationFailure::HostFault(HostFault(reason));
        let arguments = self.arguments(request);
        let line = wire::input(request.prompt, &self.cuts, self.marks)
            .map_err(|error| fault(format!("the request has no JSON form: {error}")))?;
        let body = wire::body(&self.config.program, &arguments, &line)
            .map_err(|error| fault(format!("the request has no JSON form: {error}")))?;
        if cancelled() || self.config.cancel.is_cancelled() {
            return Err(GenerationFailure::Cancelled);
        }
        attempts
            .request(&AttemptRequest {
                kind: AttemptKind::ClaudeRequest,
                step: request.step,
                number,
                endpoint: ENDPOINT,
                model: self.config.model.as_str(),
                effort: self.config.effort.map(|effort| effort.as_str()),
                body_digest: Digest::of(body.as_bytes()),
                body: &body,
                prompt: request.prompt,
                previous_bytes: request.previous_bytes,
                form: PromptForm {
                    cuts: &self.cuts,
                    between: crate::messages::BETWEEN,
                },
            })
            .map_err(GenerationFailure::HostFault)?;
        let mut response = self.run(arguments, line);
        (response.step, response.number) = (request.step, number);
        let retained = attempts.response(&response);
        Ok((response, retained))
    }

    /// Runs the program to its result, and no further.
    fn run(&self, arguments: Vec<String>, mut line: String) -> AttemptResponse {
        line.push('\n');
        let command = Command::new(&self.config.program)
            .arguments(arguments)
            .variables(self.config.variables.iter().cloned())
            .variable("ENABLE_CLAUDEAI_MCP_SERVERS", "false")
            .variable("FORCE_PROMPT_CACHING_5M", "1")
            .variable("DISABLE_AUTOUPDATER", "1")
            // Ten by itself, with waits of minutes between the last ones.
            .variable("CLAUDE_CODE_MAX_RETRIES", "3")
            .variable("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .directory(&self.config.directory)
            .stdin(Stdin::Bytes(line.into_bytes()))
            .stdout(Output::Capture(Window { head: 0, tail: 0 }))
            .stderr(Output::Capture(WORDS))
            .deadline(self.config.timeouts.total)
            .grace(self.config.grace);
        let mut lines = Lines::new(self.config.response_bytes);
        let own = match Cancel::new() {
            Ok(own) => own,
            Err(error) => return self.described(lines, Some(program_error(error.to_string()))),
        };
        let (heard, hears) = channel();
        let (ended, stopped) = std::thread::scope(|scope| {
            let own = &own;
            let watch = scope.spawn(move || self.watch(own, &hears));
            let ended = command.run(own, &mut |event| {
                let _ = heard.send(());
                match event {
                    Event::Output {
                        stream: Stream::Stdout,
                        bytes,
                        ..
                    } => match lines.push(bytes) {
                        wire::Progress::More => Flow::Continue,
                        wire::Progress::Over => Flow::Stop,
                    },
                    _ => Flow::Continue,
                }
            });
            drop(heard);
            (ended, watch.join().unwrap_or_default())
        });
        let error = match (ended, stopped) {
            _ if lines.is_over() => None,
            (_, Some(Stopped::Cancelled)) => Some((AttemptErrorKind::Cancelled, "the run was stopped".to_owned())),
            (_, Some(Stopped::Idle)) => Some((
                AttemptErrorKind::IdleTimeout,
                format!(
                    "nothing came from the program for {} s",
                    self.config.timeouts.idle.as_secs_f64()
                ),
            )),
            (Err(error), None) => Some((AttemptErrorKind::Program, format!("the program cannot be run: {error}"))),
            (Ok(outcome), None) => Some(match outcome.ending {
                Ending::DeadlineExceeded { .. } => (
                    AttemptErrorKind::TotalTimeout,
                    format!(
                        "the program was not done in {} s",
                        self.config.timeouts.total.as_secs_f64()
                    ),
                ),
                Ending::Exited(status) => {
                    let words = shorten(display_bytes(outcome.stderr.tail.trim_ascii()).trim());
                    let words = if words.is_empty() { words } else { format!(": {words}") };
                    (
                        AttemptErrorKind::Program,
                        format!("the program ended with status {status} and no result{words}"),
                    )
                }
                Ending::Signalled(_)
                | Ending::Unknown
                | Ending::Cancelled { .. }
                | Ending::OutputLimit { .. }
                | Ending::Stopped { .. } => (
                    AttemptErrorKind::Program,
                    "the program was ended before its result".to_owned(),
                ),
            }),
        };
        let error = error.map(|(kind, message)| AttemptError {
            kind,
            message,
            capacity: None,
        });
        self.described(lines, error)
    }

    /// Stops the program when the run is stopped or nothing is heard of it for the idle time; ends with it.
    fn watch(&self, own: &Cancel, hears: &Receiver<()>) -> Option<Stopped> {
        let mut silent = Duration::ZERO;
        loop {
            match hears.recv_timeout(POLL) {
                Ok(()) => silent = Duration::ZERO,
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => silent += POLL,
            }
            let stopped = match self.config.cancel.reason() {
                Some(reason) => Some((Stopped::Cancelled, reason)),
                None if silent >= self.config.timeouts.idle => Some((Stopped::Idle, Reason::HostClosing)),
                None => None,
            };
            if let Some((stopped, reason)) = stopped {
                own.cancel(reason);
                return Some(stopped);
            }
        }
    }

    fn described(&self, lines: Lines, error: Option<AttemptError>) -> AttemptResponse {
        let mut read = lines.finish(self.clock.now());
        let error = error.or(read.error.take()).or_else(|| {
            let served = read.served_model.as_deref();
            (served != Some(self.config.model.as_str())).then(|| AttemptError {
                kind: AttemptErrorKind::WrongModel,
                message: match wrong_model(served, &self.config.model) {
                    GenerationFailure::HostFault(fault) => fault.0,
                    _ => String::new(),
                },
                capacity: None,
            })
        });
        AttemptResponse {
            kind: AttemptKind::ClaudeRequest,
            step: 0,
            number: 0,
            status: read.status,
            served_model: read.served_model,
            response_id: read.session,
            text: read.text,
            items: read.items,
            tokens: read.tokens,
            cost: read.cost,
            list_prices: None,
            windows: Vec::new(),
            body_bytes: read.bytes,
            error,
        }
    }
}

fn program_error(reason: String) -> AttemptError {
    AttemptError {
        kind: AttemptErrorKind::Program,
        message: format!("the program cannot be run: {reason}"),
        capacity: None,
    }
}

impl std::fmt::Debug for Claude {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Claude")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl Client for Claude {
    fn model(&self) -> &str {
        self.config.model.as_str()
    }

    fn call(
        &mut self,
        request: &GenerationRequest<'_>,
        attempts: &mut dyn Attempts,
        cancelled: &dyn Fn() -> bool,
    ) -> Generated {
        let mut generated = Generated::unsent(GenerationFailure::Cancelled);
        self.cut(request);
        loop {
            let number = generated.attempts.saturating_add(1);
            let (response, retained) = match self.attempt(request, number, attempts, cancelled) {
                Ok(attempted) => attempted,
                Err(failure) => {
                    generated.reply = Err(failure);
                    return generated;
                }
            };
            generated.attempts = number;
            account(&mut generated, &response);
            generated.reply = match (retained, response.error) {
                (Err(fault), _) => Err(GenerationFailure::HostFault(fault)),
                (Ok(()), None) => Ok(response.text),
                (Ok(()), Some(error)) if self.marks == Marks::Set && wire::complains_of_mark(&error) => {
                    self.marks = Marks::Off;
                    continue;
                }
                (Ok(()), Some(error)) => Err(failure(error)),
            };
            return generated;
        }
    }
}

/// What the record names the program by.
pub(crate) fn shown(program: &Path) -> String {
    program.display().to_string()
}
