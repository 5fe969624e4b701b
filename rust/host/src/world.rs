//! The world of one run as the loop sees it: commands in the boundary, confined reads, the request to stop. Each command
//! and read is an effect: its intent is on disk before it, what came of it after it (specification, "Effects,
//! credentials, and cancellation").

use crate::command_environment::CommandEnvironment;
use crate::login_environment::Asked;
use crate::outcome::{Holding, captured, command_result, joined, read_result};
use crate::progress::{Progress, Watch};
use crate::recorder::Recorder;
use crate::refused;
use crate::steering::Inbox;
use crate::{denials, holding};
use coder_agent::{Captured, Env, HostFault, Ran, RanEnd, Viewed};
use coder_boundary::{Boundary, Connections, Enforced, Exhausted, Gateway, Outside};
use coder_digest::Digest;
use coder_process::{Cancel, Death, Ending, Event, Flow, Outcome, Output, Proof, Stream, Tree, Window};
use coder_trace::{Bytes, Call, EffectKind, Intent, ProcessRecord, Source, Step, StreamName, StreamRecord};
use coder_workspace::{Confined, Observation, ReadCap};
use serde_json::json;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long one command may take.
const COMMAND_DEADLINE: Duration = Duration::from_secs(300);
/// A command is ended once it printed this much to standard output.
pub(crate) const STDOUT_STOP: u64 = 2 * 1024 * 1024;
/// How much of a file one view reads.
const VIEW_BYTES: usize = 160_000;
/// Output is retained in pieces of about this size…
const STREAM_PIECE: usize = 256 * 1024;
/// …or when the last piece is this old, so that a crash loses little of a slow command's output.
const STREAM_AGE: Duration = Duration::from_secs(2);
/// How many denied connections the model is told of.
const DENIED_SHOWN: usize = 8;
/// What of each stream's head is kept for the prompt; its tail is the grant's `stream_bytes`.
const HEAD_BYTES: usize = 32 * 1024;

/// What a run's world is made of.
pub(crate) struct World<'b, 'a> {
    pub(crate) recorder: Recorder,
    pub(crate) boundary: &'b Boundary,
    /// The person's environment, with full access.
    pub(crate) person: Option<&'b Asked>,
    /// Whether it was written down already.
    pub(crate) person_noted: bool,
    pub(crate) demand: Enforced,
    /// What gateways to listed hosts take from the outside.
    pub(crate) outside: Outside,
    pub(crate) shell: PathBuf,
    pub(crate) files: Confined,
    pub(crate) description: String,
    pub(crate) stream_bytes: usize,
    pub(crate) cancel: Cancel,
    pub(crate) watch: Watch<'a>,
    pub(crate) inbox: &'b RefCell<Inbox>,
    /// Set once a command's processes were not proved gone.
    pub(crate) cleanup_unknown: bool,
    /// How the last command's processes were proved gone.
    pub(crate) proof: Option<Proof>,
}

impl Env for World<'_, '_> {
    fn description(&self) -> &str {
        &self.description
    }

    fn stopped(&mut self) -> bool {
        self.cancel.is_cancelled()
    }

    fn messages(&mut self) -> Vec<String> {
        let taken = self.inbox.borrow_mut().take();
        taken.unwrap_or_else(|error| {
            // The fault ends the run at its next effect; a message that cannot be read must not be passed over.
            self.recorder.declare_fault(error.message());
            Vec::new()
        })
    }

    fn run(&mut self, script: &str) -> Ran {
        let person = match self.person_environment() {
            Ok(person) => person,
            Err(fault) => return not_run(None, Some(fault)),
        };
        let intent = match self
            .recorder
            .intend("A command begins.", EffectKind::Command, json!({ "script": script }))
        {
            Ok(intent) => intent,
            Err(fault) => return not_run(None, Some(fault)),
        };
        self.watch.tell(&Progress::Command { script });
        let ran = self.command(script, person.as_deref(), intent);
        self.watch.tell(&Progress::CommandEnded {
            end: ran.end,
            seconds: ran.seconds,
        });
        ran
    }

    fn view(&mut self, path: &str) -> Viewed {
        let intent = match self.recorder.intend(
            "A read begins.",
            EffectKind::Read,
            json!({ "path": path, "limit": VIEW_BYTES }),
        ) {
            Ok(intent) => intent,
            Err(fault) => return Viewed::Fault(fault),
        };
        let observation = match ReadCap::new(VIEW_BYTES) {
            Ok(cap) => self.files.read(Path::new(path), cap),
            Err(error) => return Viewed::Fault(self.recorder.declare_fault(error.to_string())),
        };
        let result = read_result(&observation);
        if let Err(fault) = self
            .recorder
            .conclude(Step::new(Source::System, "The read ended."), intent, &result)
        {
            return Viewed::Fault(fault);
        }
        match observation {
            Observation::Found { bytes, total, .. } => {
                let total_bytes = (total > bytes.len() as u64).then_some(total);
                Viewed::File { bytes, total_bytes }
            }
            Observation::Absent => Viewed::Absent,
            Observation::Refused(refusal) => Viewed::Refused(refusal.to_string()),
            Observation::ReadError { reason, .. } => Viewed::Fault(
                self.recorder
                    .declare_fault(format!("reading `{path}` failed half way: {reason}")),
            ),
        }
    }
}

impl World<'_, '_> {
    /// The person's environment with full access; the first command waits for it and writes it down, but for its values.
    fn person_environment(&mut self) -> Result<Option<Arc<CommandEnvironment>>, HostFault> {
        let Some(asked) = self.person else { return Ok(None) };
        let environment = asked.wait(&self.cancel);
        if !self.person_noted {
            let words = "Commands get this person's environment.";
            self.recorder.note(words, "command_environment", &*environment)?;
            self.person_noted = true;
        }
        Ok(Some(environment))
    }

    fn command(&mut self, script: &str, person: Option<&CommandEnvironment>, intent: Intent) -> Ran {
        let window = Window {
            head: HEAD_BYTES,
            tail: self.stream_bytes,
        };
        let gateway = match self.boundary.gateway(self.outside.clone()) {
            Ok(gateway) => gateway,
            Err(error) => return self.not_started(script, intent, &error),
        };
        let command = self
            .boundary
            .command_of(
                &self.shell,
                gateway.as_ref(),
                person.map_or(&[][..], CommandEnvironment::variables).iter().cloned(),
            )
            .arguments(["-c", script])
            .stdout(Output::Capture(window))
            .stderr(Output::Capture(window))
            .stdout_stop(Some(STDOUT_STOP))
            .deadline(COMMAND_DEADLINE);
        let mut pieces = Pieces::new(intent.sequence());
        let (recorder, watch) = (self.recorder.clone(), self.watch.clone());
        let outcome = coder_process::run(&command, &self.cancel, &mut |event| match event {
            Event::Holding { warden, contains } => holding::name(&recorder, pieces.effect, warden, contains),
            Event::Started { command, .. } => {
                let pid = u32::try_from(command.0).unwrap_or_default();
                let record = ProcessRecord {
                    effect: pieces.effect,
                    pid,
                };
                flow(recorder.note("The command runs.", "process", &record))
            }
            Event::Output {
                stream: stream @ Stream::Stdout,
                offset,
                bytes,
            } => {
                watch.tell(&Progress::Output { stream, bytes });
                flow(pieces.take(&recorder, offset, bytes))
            }
            Event::Output {
                stream: stream @ Stream::Stderr,
                bytes,
                ..
            } => {
                watch.tell(&Progress::Output { stream, bytes });
                Flow::Continue
            }
        });
        let flushed = pieces.flush(&self.recorder);
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => return self.not_started(script, intent, &error),
        };
        let connections = gateway.map(Gateway::finish);
        self.concluded(script, intent, (&outcome, connections.as_ref()), flushed)
    }

    /// The command ran: retains what it came to and tells the loop.
    fn concluded(
        &mut self,
        script: &str,
        intent: Intent,
        (outcome, connections): (&Outcome, Option<&Connections>),
        flushed: Result<(), HostFault>,
    ) -> Ran {
        let enforced = self.boundary.enforced(outcome.layers);
        let exhausted = self.boundary.exhausted(outcome.exhausted);
        let (end, note) = judged(outcome, exhausted);
        let denied = denials::of_outcome(self.boundary, outcome);
        let lines = denied.iter().map(ToString::to_string);
        let notes = note.into_iter().chain(connections.and_then(refused)).chain(lines);
        let notes: Vec<String> = notes.collect();
        let note = (!notes.is_empty()).then(|| notes.join("\n"));
        let held = Holding {
            enforced: &enforced,
            exhausted,
            connections,
            denied: &denied,
        };
        let result = command_result(outcome, &held, self.stream_bytes);
        let mut step = Step::new(Source::Agent, "");
        let shown = joined(outcome);
        step.call = Some(call(&intent, script, shown, &end.to_string(), outcome.elapsed));
        let retained = self.recorder.conclude(step, intent, &result).and(flushed);
        match outcome.tree {
            Tree::Clear(proof) => self.proof = Some(proof),
            Tree::Unknown => {
                self.cleanup_unknown = true;
                self.recorder
                    .declare_fault("the command's processes were not proved gone");
            }
        }
        if let Err(shortfall) = enforced.satisfies(&self.demand) {
            self.recorder
                .declare_fault(format!("the boundary enforced less than the grant asks: {shortfall}"));
        }
        let fault = retained
            .err()
            .or_else(|| self.recorder.fault().map(|fault| HostFault(fault.reason)));
        Ran {
            end,
            stdout: captured(&outcome.stdout),
            stderr: captured(&outcome.stderr),
            seconds: outcome.elapsed.as_secs_f64(),
            note,
            fault,
        }
    }

    fn not_started(&mut self, script: &str, intent: Intent, error: &(dyn std::error::Error + 'static)) -> Ran {
        let started = error.downcast_ref::<coder_process::Error>();
        let words = started.and_then(|error| refused::words(error, self.boundary.network()));
        let reason = words.unwrap_or_else(|| chain(error));
        let error = started;
        let unknown = matches!(error, Some(coder_process::Error::Watch { .. }));
        let cancelled = self.cancel.is_cancelled() && !unknown;
        let result = json!({ "ending": if unknown { "unknown" } else { "not_started" }, "exit": null, "group_clear": !unknown, "reason": reason });
        let mut step = Step::new(Source::Agent, "");
        step.call = Some(call(&intent, script, reason.clone(), "not started", Duration::ZERO));
        let retained = self.recorder.conclude(step, intent, &result);
        self.cleanup_unknown |= unknown;
        if let Err(fault) = retained {
            return not_run(None, Some(fault));
        }
        if cancelled {
            return Ran {
                end: RanEnd::Stopped,
                ..not_run(None, None)
            };
        }
        if let Some(coder_process::Error::ArgumentsTooLarge { .. }) = error {
            return not_run(Some("the script is too long for one command".to_owned()), None);
        }
        // Whatever else kept the shell from starting will keep the next one from starting too.
        not_run(
            None,
            Some(
                self.recorder
                    .declare_fault(format!("the command could not be started: {reason}")),
            ),
        )
    }
}

/// The output of one command on its way into the trace.
pub(crate) struct Pieces {
    pub(crate) effect: u64,
    offset: u64,
    pending: Vec<u8>,
    since: Instant,
}

impl Pieces {
    pub(crate) fn new(effect: u64) -> Self {
        Self {
            effect,
            offset: 0,
            pending: Vec::new(),
            since: Instant::now(),
        }
    }

    pub(crate) fn take(&mut self, recorder: &Recorder, offset: u64, bytes: &[u8]) -> Result<(), HostFault> {
        if self.pending.is_empty() {
            self.offset = offset;
        }
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= STREAM_PIECE || self.since.elapsed() >= STREAM_AGE {
            return self.flush(recorder);
        }
        Ok(())
    }

    pub(crate) fn flush(&mut self, recorder: &Recorder) -> Result<(), HostFault> {
        self.since = Instant::now();
        if self.pending.is_empty() {
            return Ok(());
        }
        let record = StreamRecord {
            effect: self.effect,
            name: StreamName::Stdout,
            offset: self.offset,
            bytes: Bytes(std::mem::take(&mut self.pending)),
            gaps: Vec::new(),
        };
        recorder.note("Output.", "stream", &record)
    }
}

pub(crate) fn flow(retained: Result<(), HostFault>) -> Flow {
    match retained {
        Ok(()) => Flow::Continue,
        Err(_) => Flow::Stop,
    }
}

fn not_run(note: Option<String>, fault: Option<HostFault>) -> Ran {
    Ran {
        end: RanEnd::NotStarted,
        stdout: Captured::default(),
        stderr: Captured::default(),
        seconds: 0.0,
        note,
        fault,
    }
}

pub(crate) fn call(intent: &Intent, script: &str, output: String, outcome: &str, elapsed: Duration) -> Call {
    Call {
        id: format!("effect-{}", intent.sequence()),
        name: "bash".to_owned(),
        arguments: json!({ "script": script }),
        output,
        outcome: outcome.to_owned(),
        milliseconds: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        purpose: None,
        extra: serde_json::Map::new(),
    }
}

/// What the gateway did not let through, for the model.
fn refused(connections: &Connections) -> Option<String> {
    let mut lines: Vec<String> = connections.denied().map(ToString::to_string).collect();
    lines.dedup();
    let more = lines.len().saturating_sub(DENIED_SHOWN);
    lines.truncate(DENIED_SHOWN);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    (!lines.is_empty()).then(|| format!("the boundary's network: {}", lines.join("; ")))
}

/// How a command died that the host ended: a success it claims counts for nothing.
fn ended(death: Death) -> RanEnd {
    match death {
        Death::Exited(status) if status != 0 => RanEnd::Exited(status),
        Death::Signalled(signal) => RanEnd::Signalled(signal),
        Death::Exited(_) | Death::Unknown => RanEnd::Unknown,
    }
}

/// How the loop is told of an ending, with a note where the host had a hand in it.
fn judged(outcome: &Outcome, exhausted: Exhausted) -> (RanEnd, Option<String>) {
    let spent: Vec<_> = exhausted.words().collect();
    let spent = (!spent.is_empty()).then(|| spent.join("; "));
    match outcome.ending {
        Ending::Exited(status) => (RanEnd::Exited(status), spent),
        Ending::Signalled(signal) => (RanEnd::Signalled(signal), spent),
        // Ended by the host for what it used up, not because anybody wants the run to end.
        Ending::Stopped { death } if exhausted.out_of_scratch == Some(true) => (ended(death), spent),
        Ending::DeadlineExceeded { .. } => (RanEnd::TimedOut, None),
        Ending::Cancelled { .. } | Ending::Stopped { .. } => (RanEnd::Stopped, None),
        Ending::OutputLimit { death } => {
            let note =
                format!("the host ended this command: it printed more than {STDOUT_STOP} bytes to standard output");
            (ended(death), Some(note))
        }
        Ending::Unknown => (RanEnd::Unknown, None),
    }
}

/// An error with the reasons below it, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(below) = source {
        text.push_str(": ");
        text.push_str(&below.to_string());
        source = below.source();
    }
    text
}

/// The digest a program is admitted under.
pub(crate) fn program_digest(path: &Path) -> Result<Digest, crate::Error> {
    let file = std::fs::File::open(path).map_err(crate::Error::file("open", path))?;
    Digest::of_reader(file)
        .map(|(digest, _)| digest)
        .map_err(crate::Error::file("read", path))
}
