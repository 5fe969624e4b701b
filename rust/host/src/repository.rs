//! One run of the loop under an admitted grant, from the journal's `admitted` to its `result`. Intent before effect all
//! the way: the epoch's in the journal, each request's and command's in the trace. After the run the candidate is
//! observed, compared and kept, the trace sealed, the result recorded; whatever went wrong is in that result.

use crate::admission::{Admitted, Models, trace_file};
use crate::cancellation::{LastLook, watched};
use crate::clients::Routes;
use crate::confine;
use crate::dispatch::{self, Begun};
use crate::finish::{Candidate, Ended, Finish, Left};
use crate::generation::Recording;
use crate::grant::Grant;
use crate::guards::Absent;
use crate::judge::{Decisions, Judging};
use crate::patience::Patience;
use crate::progress::{Progress, Watch, Watcher};
use crate::recorder::Recorder;
use crate::retention_lock::RetentionLock;
use crate::run::GrantRun;
use crate::steering::Inbox;
use crate::store_place::open_existing;
use crate::turns::Before;
use crate::world::World;
use crate::{Error, finish};
use coder_agent::{Event, HostFault, Limits, Observe, Outcome, Parts};
use coder_boundary::Outside;
use coder_digest::{BytePath, Clock};
use coder_failover::Books;
use coder_journal::{Head, Task};
use coder_process::Cancel;
use coder_trace::{Session, SessionId, Source, Step, Writer};
use coder_workspace::Confined as Files;
use serde_json::json;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

/// Runs one grant to its result and returns the task as the journal then has it.
///
/// # Errors
/// Any refusal before admission; nothing was run and nothing recorded then. After admission only the store's own
/// failures: what happens to the run is in its result.
pub fn run_repository<'a>(run: GrantRun<'a>, watcher: &'a mut Watcher<'a>) -> Result<Task, Error> {
    let grant = Grant::parse(run.grant)?;
    let store = open_existing(run.store, Arc::clone(&run.clock))?;
    let patience = Patience::of(run.environment, run.cancel.clone())?;
    let (admitted, models) = run.asked(grant, &store).admit()?;
    let recorded = admitted.record().and_then(|admission| {
        // Before the task is called running, so that whoever sees it running can reach it.
        let inbox = Inbox::create(store.path(), &admitted.task.task_id, admitted.task.turn())?;
        let event = coder_journal::Event::Admitted {
            admission: Box::new(admission),
        };
        let expected = Some(admitted.grant.expected_revision);
        Ok((admitted.owner.record(&event, expected)?, inbox))
    });
    let (task, inbox) = match recorded {
        Ok(recorded) => recorded,
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
        clock: run.clock,
        cancel: run.cancel,
        patience,
        before: Before::of(&task, store.path()),
        inbox: RefCell::new(inbox),
        task,
        watch,
        begun: Instant::now(),
    }
    .run(models)
}

struct Turn<'a> {
    admitted: Admitted,
    task: Task,
    clock: Arc<dyn Clock>,
    cancel: Cancel,
    patience: Patience,
    before: Before,
    inbox: RefCell<Inbox>,
    watch: Watch<'a>,
    begun: Instant,
}

/// What the loop came to, with what its world learned.
struct Looped {
    outcome: Option<Outcome>,
    group_clear: bool,
    proof: Option<&'static str>,
}

impl Looped {
    /// Nothing was run.
    fn nothing() -> Self {
        Self {
            outcome: None,
            group_clear: true,
            proof: None,
        }
    }
}

impl<'a> Turn<'a> {
    fn run(mut self, models: Models) -> Result<Task, Error> {
        let store = self.admitted.owner.store().path().to_owned();
        let file = trace_file(&self.task);
        let session = Session {
            id: SessionId::new(&self.task.task_id, self.task.turn() as u64),
            model: Some(self.admitted.configuration.primary.model.to_string()),
            door: coder_journal::REPOSITORY.to_owned(),
            repository: Some(self.admitted.repository.top.display().to_string()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let writer = match Writer::create(&store.join(&file), &session, Arc::clone(&self.clock)) {
            Ok(writer) => writer,
            Err(error) => return self.without_trace(&error),
        };
        let recorder = Recorder::new(writer, self.patience.clone());
        let absent = Absent::in_view(&self.admitted.confined.boundary);
        let mut quarantine = self.admitted.confined.quarantine.take();
        let (looped, left, candidate, keeping) = watched(&self.admitted.owner, &self.cancel, || {
            let looped = match self.header(&recorder, models.routes, &models.decisions) {
                Ok(mut generate) => match self.begin(&recorder) {
                    Ok(Begun::Yes) => self.looped(&recorder, &mut generate, models.decisions),
                    Ok(Begun::Stopped) | Err(_) => Looped::nothing(),
                },
                Err(_) => Looped::nothing(),
            };
            self.close_inbox(&recorder);
            // Until the result is recorded, nothing but this keeps what is kept now from being cleared away as unnamed.
            let keeping = RetentionLock::share(&store)
                .map_err(|error| recorder.declare_fault(error.message()))
                .ok();
            let left = Left::taken_over(absent, quarantine.as_mut(), &self.admitted.git);
            let look = LastLook::new(&self.cancel);
            let candidate = Candidate::keep(&store, &self.admitted.tree(), &self.clock, &look);
            (looped, left, candidate, keeping)
        });
        // It lies in the run's place, which goes with what was admitted.
        drop(quarantine);
        let finished = self.finish(recorder, looped, left, candidate);
        drop(keeping);
        finished
    }

    /// The first steps: earlier turns, prompt, corrections, admission, routes, and that no decisions will be asked. Gives the
    /// generator back, which knows the routes.
    fn header(&self, recorder: &Recorder, routes: Routes, decisions: &Decisions) -> Result<Recording<'a>, HostFault> {
        let admitted = &self.admitted;
        self.before.record_turns(recorder)?;
        recorder.append(&Step::new(Source::User, self.task.prompt()))?;
        self.before.record_corrections(recorder)?;
        let admission = json!({
            "grant_digest": admitted.grant.digest,
            "intent_digest": self.task.intent_digest,
            "source_snapshot": admitted.source.digest().hex(),
            "source_revision": admitted.repository.head.commit(),
            "workspace": admitted.repository.top.display().to_string(),
            "program": admitted.shell.display().to_string(),
            "access": admitted.configuration.access,
            "context_digest": admitted.context.digest.hex(),
            "enforcing": admitted.confined.boundary.planned(),
        });
        let mut step = Step::new(Source::System, format!("Admitted.{}", admitted.uncaptured.note()));
        step.extensions.insert("admission".to_owned(), admission);
        if !admitted.uncaptured.is_empty() {
            step.extensions
                .insert("instructions_not_captured".to_owned(), json!(admitted.uncaptured));
        }
        step.extensions
            .insert("controller".to_owned(), admitted.controller.clone());
        let head = self
            .journal_head()
            .map_err(|error| recorder.declare_fault(error.message()))?;
        step.extensions.insert("journal_head".to_owned(), json!(head));
        if let Some(toolchains) = &admitted.confined.toolchains {
            step.extensions.insert(
                "toolchains".to_owned(),
                confine::toolchains_record(toolchains, &admitted.confined.boundary),
            );
        }
        if let Some(environment) = admitted.confined.command_environment() {
            step.extensions
                .insert("command_environment".to_owned(), json!(environment));
        }
        let held = admitted.confined.boundary.held();
        if !held.is_empty() {
            let held: Vec<BytePath> = held.iter().map(|path| path.as_path().into()).collect();
            step.extensions
                .insert("source_guard".to_owned(), json!({ "read_only": held }));
        }
        recorder.append(&step)?;
        for recovered in &admitted.recovered {
            recorder.note(&recovered.words(), "git_recovered", recovered)?;
        }
        let books = Books::new(admitted.owner.store().path());
        let (clock, cancel, watch) = (Arc::clone(&self.clock), self.cancel.clone(), self.watch.clone());
        let generate = Recording::new(routes, books, recorder.clone(), clock, cancel, watch)
            .map_err(|error| recorder.declare_fault(error.message()))?;
        generate.record_unavailable()?;
        decisions.record(recorder)?;
        generate.record_capacity()?;
        Ok(generate)
    }

    /// The end of the journal's ledger, which a trace keeps so that records taken away later show.
    fn journal_head(&self) -> Result<Option<Head>, Error> {
        Ok(self.admitted.owner.store().head()?)
    }

    fn begin(&self, recorder: &Recorder) -> Result<Begun, HostFault> {
        let Self {
            admitted,
            task,
            clock,
            cancel,
            ..
        } = self;
        dispatch::begin(recorder, &admitted.owner, task, &admitted.tree(), clock, cancel)
    }

    /// Lets no more messages in, and says which came too late to be read.
    fn close_inbox(&self, recorder: &Recorder) {
        match self.inbox.borrow_mut().close() {
            Ok(unread) if unread.is_empty() => {}
            // A failure to note it is the recorder's fault, which the result tells.
            Ok(unread) => drop(recorder.note(
                "Messages came too late to be read.",
                "steer_unread",
                &json!({ "messages": unread }),
            )),
            Err(error) => drop(recorder.declare_fault(error.message())),
        }
    }

    fn looped(&self, recorder: &Recorder, generate: &mut Recording<'_>, decisions: Decisions) -> Looped {
        let admitted = &self.admitted;
        let files = match Files::open(&admitted.repository.top) {
            Ok(files) => files,
            Err(error) => {
                recorder.declare_fault(error.to_string());
                return Looped::nothing();
            }
        };
        let mut world = World {
            recorder: recorder.clone(),
            boundary: &admitted.confined.boundary,
            person: admitted.confined.person.as_ref(),
            person_noted: false,
            demand: admitted.demand.clone(),
            outside: Outside {
                clock: Arc::clone(&self.clock),
                ..Outside::of_this_machine()
            },
            shell: admitted.shell.clone(),
            files,
            description: admitted.description.clone(),
            stream_bytes: usize::try_from(admitted.grant.stream_bytes).unwrap_or(usize::MAX),
            cancel: self.cancel.clone(),
            watch: self.watch.clone(),
            inbox: &self.inbox,
            cleanup_unknown: false,
            proof: None,
        };
        let mut observe = Observer {
            recorder: recorder.clone(),
            watch: self.watch.clone(),
        };
        let mut judge = Judging {
            decisions,
            recorder: recorder.clone(),
            cancel: self.cancel.clone(),
        };
        let task = coder_agent::Task {
            prompt: &self.before.prompt(self.task.prompt()),
            instructions: &admitted.context.text(),
        };
        let parts = Parts {
            generate,
            judge: &mut judge,
            environment: &mut world,
            observe: &mut observe,
        };
        let outcome = match coder_agent::run(&task, &Limits::default(), parts) {
            Ok(outcome) => Some(outcome),
            Err(error) => {
                recorder.declare_fault(error.to_string());
                None
            }
        };
        Looped {
            outcome,
            group_clear: !world.cleanup_unknown,
            proof: world.proof.map(crate::outcome::proof_word),
        }
    }

    /// Writes the disposition, seals, records the result.
    fn finish(self, recorder: Recorder, looped: Looped, left: Left, candidate: Candidate) -> Result<Task, Error> {
        let Self {
            admitted,
            task,
            cancel,
            watch,
            begun,
            ..
        } = self;
        let store = admitted.owner.store().path().to_owned();
        if let Err(error) = admitted.cache.save(&crate::admission::cache_path(&store)) {
            // Only the next run's speed is lost; it is said in the trace and changes nothing.
            let _ = recorder.note(
                "The cache of file digests was not saved.",
                "snapshot_cache",
                &json!({ "not_saved": error.to_string() }),
            );
        }
        let stopped = cancel.reason();
        let requested = admitted.owner.cancellation_requested().unwrap_or(false);
        let journal_head = admitted.owner.store().head().unwrap_or_else(|error| {
            recorder.declare_fault(format!("the end of the journal cannot be read: {error}"));
            None
        });
        let Some((writer, fault)) = recorder.finish() else {
            return Err(Error::Absent {
                task: task.task_id,
                what: "writer of its own trace",
            });
        };
        let finish = Finish {
            ended: Ended::Loop(looped.outcome),
            fault,
            stop_requested: requested || stopped.is_some(),
            group_clear: looped.group_clear,
            proof: looped.proof,
            candidate,
            journal_head,
            left,
            elapsed: begun.elapsed(),
        };
        watch.tell(&Progress::Ended {
            summary: &finish.summary(),
        });
        let result = finish.seal(writer);
        let event = coder_journal::Event::Result {
            result: Box::new(result),
        };
        let finished = admitted.owner.record(&event, None);
        Ok(finished?)
    }

    /// The trace could not even be made: the result says so, since an admitted task must not stay open.
    fn without_trace(self, error: &coder_trace::Error) -> Result<Task, Error> {
        let result = finish::without_trace(error, self.begun.elapsed());
        let event = coder_journal::Event::Result {
            result: Box::new(result),
        };
        Ok(self.admitted.owner.record(&event, None)?)
    }
}

/// Writes what the loop tells into the trace and shows it to the watcher.
struct Observer<'a> {
    recorder: Recorder,
    watch: Watch<'a>,
}

impl Observe for Observer<'_> {
    fn event(&mut self, event: &Event) -> Result<(), HostFault> {
        let seconds = self.recorder.seconds();
        self.recorder
            .note("", "microcoder", &json!({ "seconds": seconds, "event": event }))?;
        if let Event::Generated { step, generated, .. } = event {
            let action = generated.action.as_ref();
            self.watch.tell(&Progress::Answered {
                step: *step,
                rationale: action.map_or("", |action| action.rationale.as_str()),
                reply: action.map_or("", |action| action.reply.as_str()),
                tokens: generated.tokens,
            });
        }
        Ok(())
    }

    fn seconds(&self) -> f64 {
        self.recorder.seconds()
    }
}

#[cfg(test)]
#[path = "repository_tests.rs"]
mod tests;
