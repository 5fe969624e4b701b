//! The bounded-command adapter (facts 3.9): the granted program with its arguments, once, offline, for at most the granted
//! time. The same journal, boundary, trace and retained candidate as a repository run; no model and no loop. What is compared
//! before it is admitted is in `admit`.

mod admit;

use crate::Error;
use crate::admission::{Tree, trace_file};
use crate::cancellation::{LastLook, watched};
use crate::denials;
use crate::dispatch::{self, Begun};
use crate::finish::{self, Candidate, CommandEnd, Ended, Finish};
use crate::grant::{Grant, Work};
use crate::guards::Absent;
use crate::holding;
use crate::outcome::{Holding, command_result, ending_word, proof_word};
use crate::patience::Patience;
use crate::progress::{Progress, Watch, Watcher};
use crate::recorder::Recorder;
use crate::refused;
use crate::retention_lock::RetentionLock;
use crate::run::GrantRun;
use crate::store_place::open_existing;
use crate::world::{Pieces, STDOUT_STOP, call, chain, flow};
pub(crate) use admit::compare;

use admit::Admitted;
use coder_agent::HostFault;
use coder_digest::Clock;
use coder_journal::Task;
use coder_process::{Cancel, Event, Flow, Outcome, Output, Stream, Tree as Left, Window};
use coder_trace::{EffectKind, Intent, ProcessRecord, Session, SessionId, Source, Step, Writer};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Runs one bounded-command grant to its result and returns the task as the journal then has it.
///
/// # Errors
/// Any refusal before admission; nothing was run and nothing recorded then. After admission only the store's own
/// failures: how the command ended is in the task's result.
pub fn run_bounded<'a>(run: GrantRun<'a>, watcher: &'a mut Watcher<'a>) -> Result<Task, Error> {
    let grant = Grant::parse(run.grant)?;
    let wall = wall(&grant)?;
    let store = open_existing(run.store, Arc::clone(&run.clock))?;
    let patience = Patience::of(run.environment, run.cancel.clone())?;
    let admitted = Admitted::admit(run.asked(grant, &store))?;
    let recorded = admitted.record().and_then(|admission| {
        let event = coder_journal::Event::Admitted {
            admission: Box::new(admission),
        };
        let expected = Some(admitted.grant.expected_revision);
        Ok(admitted.owner.record(&event, expected)?)
    });
    let task = match recorded {
        Ok(task) => task,
        Err(error) => {
            admitted.abandon();
            return Err(error);
        }
    };
    let watch = Watch::new(watcher);
    let enforcing = admitted.confined.boundary.planned().to_string();
    watch.tell(&Progress::Admitted { enforcing: &enforcing });
    Turn {
        admitted,
        task,
        wall,
        clock: run.clock,
        cancel: run.cancel,
        patience,
        watch,
        begun: Instant::now(),
    }
    .run()
}

/// How long a bounded command may take.
///
/// # Errors
/// [`Error::GrantField`] for a grant of the other kind.
pub(crate) fn wall(grant: &Grant) -> Result<Duration, Error> {
    match grant.work {
        Work::BoundedCommand { wall_seconds } => Ok(Duration::from_secs(wall_seconds)),
        Work::Repository(_) => Err(crate::grant::field(
            "adapter_configuration",
            "a bounded command has none; `microcoder repository` starts this grant",
        )),
    }
}

struct Turn<'a> {
    admitted: Admitted,
    task: Task,
    wall: Duration,
    clock: Arc<dyn Clock>,
    cancel: Cancel,
    patience: Patience,
    watch: Watch<'a>,
    begun: Instant,
}

/// What the command came to.
struct Ran {
    end: Option<CommandEnd>,
    group_clear: bool,
    proof: Option<&'static str>,
}

impl Ran {
    fn nothing() -> Self {
        Self {
            end: None,
            group_clear: true,
            proof: None,
        }
    }
}

impl Turn<'_> {
    fn run(mut self) -> Result<Task, Error> {
        let store = self.admitted.owner.store().path().to_owned();
        let session = Session {
            id: SessionId::new(&self.task.task_id, self.task.turn() as u64),
            model: None,
            door: coder_journal::BOUNDED_COMMAND.to_owned(),
            repository: Some(self.admitted.tree.repository.top.display().to_string()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let path = store.join(trace_file(&self.task));
        let writer = match Writer::create(&path, &session, Arc::clone(&self.clock)) {
            Ok(writer) => writer,
            Err(error) => {
                let result = Box::new(finish::without_trace(&error, self.begun.elapsed()));
                let event = coder_journal::Event::Result { result };
                return Ok(self.admitted.owner.record(&event, None)?);
            }
        };
        let recorder = Recorder::new(writer, self.patience.clone());
        let absent = Absent::in_view(&self.admitted.confined.boundary);
        let mut quarantine = self.admitted.confined.quarantine.take();
        let (ran, left, candidate, keeping) = watched(&self.admitted.owner, &self.cancel, || {
            let ran = match self.header(&recorder).and_then(|()| self.begin(&recorder)) {
                Ok(Begun::Yes) => self.dispatch(&recorder),
                Ok(Begun::Stopped) | Err(_) => Ran::nothing(),
            };
            // Until the result is recorded, nothing but this keeps what is kept now from being cleared away as unnamed.
            let keeping = RetentionLock::share(&store)
                .map_err(|error| recorder.declare_fault(error.message()))
                .ok();
            let left = finish::Left::taken_over(absent, quarantine.as_mut(), &self.admitted.tree.git);
            let look = LastLook::new(&self.cancel);
            let candidate = Candidate::keep(&store, &self.tree(), &self.clock, &look);
            (ran, left, candidate, keeping)
        });
        // It lies in the run's place, which goes with what was admitted.
        drop(quarantine);
        let finished = self.finish(recorder, ran, left, candidate);
        drop(keeping);
        finished
    }

    fn tree(&self) -> Tree<'_> {
        self.admitted.tree()
    }

    fn header(&self, recorder: &Recorder) -> Result<(), HostFault> {
        let admitted = &self.admitted;
        recorder.append(&Step::new(Source::User, self.task.prompt()))?;
        let mut admission = json!({
            "grant_digest": admitted.grant.digest,
            "intent_digest": self.task.intent_digest,
            "source_snapshot": admitted.tree.source.digest().hex(),
            "source_revision": admitted.tree.repository.head.commit(),
            "workspace": admitted.tree.repository.top.display().to_string(),
            "program": admitted.program.display().to_string(),
            "program_digest": admitted.program_digest,
            "arguments": admitted.grant.arguments,
            "wall_seconds": self.wall.as_secs(),
            "access": "boundary",
            "enforcing": admitted.confined.boundary.planned(),
        });
        if let (Some(context), Value::Object(fields)) = (&admitted.context, &mut admission) {
            fields.insert("context_digest".to_owned(), json!(context.digest.hex()));
        }
        let mut step = Step::new(Source::System, "Admitted.");
        step.extensions.insert("admission".to_owned(), admission);
        step.extensions
            .insert("controller".to_owned(), admitted.controller.clone());
        let head = admitted.owner.store().head();
        let head = head.map_err(|error| recorder.declare_fault(Error::from(error).message()))?;
        step.extensions.insert("journal_head".to_owned(), json!(head));
        recorder.append(&step)?;
        for recovered in &admitted.recovered {
            recorder.note(&recovered.words(), "git_recovered", recovered)?;
        }
        Ok(())
    }

    fn begin(&self, recorder: &Recorder) -> Result<Begun, HostFault> {
        dispatch::begin(
            recorder,
            &self.admitted.owner,
            &self.task,
            &self.tree(),
            &self.clock,
            &self.cancel,
        )
    }

    /// Starts the command and waits for its end.
    fn dispatch(&self, recorder: &Recorder) -> Ran {
        let admitted = &self.admitted;
        let shown = shown(&admitted.program, &admitted.grant.arguments);
        let arguments = json!({
            "program": admitted.program.display().to_string(),
            "arguments": admitted.grant.arguments,
        });
        let Ok(intent) = recorder.intend("The command begins.", EffectKind::Command, arguments) else {
            return Ran::nothing();
        };
        self.watch.tell(&Progress::Command { script: &shown });
        let window = Window {
            head: 0,
            tail: usize::try_from(admitted.grant.stream_bytes).unwrap_or(usize::MAX),
        };
        let command = admitted
            .confined
            .boundary
            .command(&admitted.program)
            .arguments(admitted.grant.arguments.iter().cloned())
            .stdout(Output::Capture(window))
            .stderr(Output::Capture(window))
            .stdout_stop(Some(STDOUT_STOP))
            .deadline(self.wall);
        let mut pieces = Pieces::new(intent.sequence());
        let outcome = coder_process::run(&command, &self.cancel, &mut |event| match event {
            Event::Holding { warden, contains } => holding::name(recorder, pieces.effect, warden, contains),
            Event::Started { command, .. } => self.spawned(recorder, pieces.effect, command.0),
            Event::Output { stream, offset, bytes } => {
                self.watch.tell(&Progress::Output { stream, bytes });
                match stream {
                    Stream::Stdout => flow(pieces.take(recorder, offset, bytes)),
                    Stream::Stderr => Flow::Continue,
                }
            }
        });
        // A piece that cannot be retained is the recorder's fault, which the result tells.
        let _ = pieces.flush(recorder);
        match outcome {
            Ok(outcome) => self.concluded(recorder, &shown, intent, &outcome),
            Err(error) => self.not_started(recorder, &shown, intent, &error),
        }
    }

    /// The process is in the journal, where a task is looked at, and in the trace, where its effect is.
    fn spawned(&self, recorder: &Recorder, effect: u64, process: i32) -> Flow {
        let pid = u32::try_from(process).unwrap_or_default();
        let event = coder_journal::Event::Spawned { process_id: pid };
        if let Err(error) = self.admitted.owner.record(&event, None) {
            recorder.declare_fault(format!("the started process was not recorded: {error}"));
            return Flow::Stop;
        }
        flow(recorder.note("The command runs.", "process", &ProcessRecord { effect, pid }))
    }

    fn concluded(&self, recorder: &Recorder, shown: &str, intent: Intent, outcome: &Outcome) -> Ran {
        let admitted = &self.admitted;
        let enforced = admitted.confined.boundary.enforced(outcome.layers);
        let bytes = usize::try_from(admitted.grant.stream_bytes).unwrap_or(usize::MAX);
        let denied = denials::of_outcome(&admitted.confined.boundary, outcome);
        let held = Holding {
            enforced: &enforced,
            exhausted: admitted.confined.boundary.exhausted(outcome.exhausted),
            connections: None,
            denied: &denied,
        };
        let result = command_result(outcome, &held, bytes);
        let (word, exit, _) = ending_word(&outcome.ending);
        let mut step = Step::new(Source::Agent, "");
        step.call = Some(call(
            &intent,
            shown,
            crate::outcome::joined(outcome),
            word,
            outcome.elapsed,
        ));
        // What could not be retained is the recorder's fault, which the result tells.
        let _ = recorder.conclude(step, intent, &result);
        let (group_clear, proof) = match outcome.tree {
            Left::Clear(proof) => (true, Some(proof_word(proof))),
            Left::Unknown => {
                recorder.declare_fault("the command's processes were not proved gone");
                (false, None)
            }
        };
        if let Err(shortfall) = enforced.satisfies(&admitted.demand) {
            recorder.declare_fault(format!("the boundary enforced less than the grant asks: {shortfall}"));
        }
        Ran {
            end: Some(CommandEnd { word, exit }),
            group_clear,
            proof,
        }
    }

    fn not_started(&self, recorder: &Recorder, shown: &str, intent: Intent, error: &coder_process::Error) -> Ran {
        let reason = refused::words(error, self.admitted.confined.boundary.network()).unwrap_or_else(|| chain(error));
        let unknown = matches!(error, coder_process::Error::Watch { .. });
        let word = if unknown { "unknown" } else { "not_started" };
        let result = json!({ "ending": word, "exit": null, "group_clear": !unknown, "reason": reason });
        let mut step = Step::new(Source::Agent, "");
        step.call = Some(call(&intent, shown, reason.clone(), "not started", Duration::ZERO));
        let _ = recorder.conclude(step, intent, &result);
        if !self.cancel.is_cancelled() || unknown {
            recorder.declare_fault(format!("the command could not be started: {reason}"));
        }
        Ran {
            group_clear: !unknown,
            ..Ran::nothing()
        }
    }

    fn finish(self, recorder: Recorder, ran: Ran, found: finish::Left, candidate: Candidate) -> Result<Task, Error> {
        let admitted = &self.admitted;
        if let Err(error) = admitted
            .tree
            .cache
            .save(&crate::admission::cache_path(admitted.owner.store().path()))
        {
            // Only the next run's speed is lost; it is said in the trace and changes nothing.
            let _ = recorder.note(
                "The cache of file digests was not saved.",
                "snapshot_cache",
                &json!({ "not_saved": error.to_string() }),
            );
        }
        let requested = admitted.owner.cancellation_requested().unwrap_or(false);
        let journal_head = admitted.owner.store().head().unwrap_or_else(|error| {
            recorder.declare_fault(format!("the end of the journal cannot be read: {error}"));
            None
        });
        let Some((writer, fault)) = recorder.finish() else {
            return Err(Error::Absent {
                task: self.task.task_id,
                what: "writer of its own trace",
            });
        };
        let finish = Finish {
            ended: Ended::Command(ran.end),
            fault,
            stop_requested: requested || self.cancel.is_cancelled(),
            group_clear: ran.group_clear,
            proof: ran.proof,
            candidate,
            journal_head,
            left: found,
            elapsed: self.begun.elapsed(),
        };
        self.watch.tell(&Progress::Ended {
            summary: &finish.summary(),
        });
        let result = Box::new(finish.seal(writer));
        Ok(admitted.owner.record(&coder_journal::Event::Result { result }, None)?)
    }
}

/// The command in one line, for people.
fn shown(program: &Path, arguments: &[String]) -> String {
    let mut text = program.display().to_string();
    for argument in arguments {
        text.push(' ');
        text.push_str(argument);
    }
    text
}
