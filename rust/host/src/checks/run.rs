//! The checks of one finished run, from the journal's `check_intent` to its `checked`. Once the intent is recorded there is always
//! a report: what keeps the checks from judging makes them unavailable, with the reason, and never fails the candidate. A checker
//! that is killed in between leaves the intent alone, which `settle` closes as unavailable too.

use super::outcome::{Check, Checked};
use super::place::Place;
use super::suite::{Outside, ProtectedSuite, Suite};
use super::trust::TrustStore;
use crate::admission::{cache_path, observe_unless};
use crate::confine::Environment;
use crate::limits::Limits;
use crate::requirements::Requirements;
use crate::retention_lock::RetentionLock;
use crate::store_place::open_existing;
use crate::sweep::{self, ScratchPlace};
use crate::{Error, git_link};
use coder_digest::{Clock, Digest, TaskId, json};
use coder_journal::{
    CHECKS_SCHEMA, CheckEvidence, CheckReport, Event, Execution, Judgement, Run, Sameness, Task, VERIFICATION_SCHEMA,
    Verdict, prepared_plan,
};
use coder_process::Cancel;
use coder_workspace::{DigestCache, Retention, Snapshot};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a checker waits for the task's owner, who may be about to let go.
const OWNER_WAIT: Duration = Duration::from_secs(5);
/// The memory of a suite's processes where the grant names none.
const MEMORY_BYTES: u64 = 512 * 1024 * 1024;

/// What a checker is given.
pub struct CheckRun<'a> {
    /// The task, whose last run has a result.
    pub task: &'a TaskId,
    /// The task store, which must exist.
    pub store: &'a Path,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Stops the checks; they are then unavailable.
    pub cancel: Cancel,
    /// The host's environment, for suites that need this computer's toolchains.
    pub environment: &'a Environment<'a>,
    /// Whose word lets suites run.
    pub trust: &'a TrustStore,
}

/// Runs the checks that the task's grant pinned, once, and returns the task with their verdict.
///
/// # Errors
/// `invalid_transition` where there is nothing to check, or it was checked before; `store_busy` while the task has an owner;
/// `workspace_busy`; the store's own failures. Nothing was run then. What happens to the checks is in the report.
pub fn run_checks(run: &CheckRun<'_>) -> Result<Task, Error> {
    let store = open_existing(run.store, Arc::clone(&run.clock))?;
    let owner = store.own(run.task, OWNER_WAIT)?;
    let task = owner.record(&Event::CheckIntent {}, None)?;
    sweep::scratch(&store);
    let Some(admitted) = &task.run else {
        // The journal's rule for the intent demands a run.
        return Err(Error::Absent {
            task: task.task_id,
            what: "run",
        });
    };
    let session = Session {
        run,
        store: store.path(),
        task: &task,
        admitted,
    };
    let judged = session.judge();
    // From the first kept byte until the record that names it: what nothing names may be cleared away at any time.
    let keeping = RetentionLock::share(store.path());
    let kept = judged.and_then(|judged| {
        keeping.as_ref().map_err(|error| Unavailable(error.message()))?;
        judged.keep(store.path())
    });
    let report = Box::new(session.report(kept));
    Ok(owner.record(&Event::Checked { report }, None)?)
}

/// Why there is no verdict.
struct Unavailable(String);

impl From<Error> for Unavailable {
    fn from(error: Error) -> Self {
        Self(error.message())
    }
}

/// What the checks came to, with every byte that the suites printed.
struct Judged {
    evidence: CheckEvidence,
    streams: Vec<Vec<u8>>,
}

impl Judged {
    /// Keeps what was printed: a verdict that cannot be held against bytes is none.
    fn keep(self, store: &Path) -> Result<CheckEvidence, Unavailable> {
        let retention = Retention::open(store).map_err(Error::from)?;
        for stream in &self.streams {
            retention.put(stream).map_err(Error::from)?;
        }
        Ok(self.evidence)
    }
}

struct Session<'a> {
    run: &'a CheckRun<'a>,
    store: &'a Path,
    task: &'a Task,
    admitted: &'a Run,
}

impl Session<'_> {
    fn candidate(&self) -> Option<Digest> {
        self.admitted
            .result
            .as_ref()
            .and_then(|result| result.candidate_snapshot)
    }

    fn judge(&self) -> Result<Judged, Unavailable> {
        match self.candidate() {
            Some(candidate) => self.judged(candidate),
            None => Err(Unavailable(
                "the run left no candidate that could be observed whole".into(),
            )),
        }
    }

    fn report(&self, evidence: Result<CheckEvidence, Unavailable>) -> CheckReport {
        let candidate = self.candidate();
        let context = self.admitted.admission.context.get("digest").and_then(Value::as_str);
        let told = evidence.and_then(|evidence| {
            let verdict = candidate.map_or(Verdict::Unavailable, |candidate| evidence.verdict(&candidate));
            let value = serde_json::to_value(&evidence).map_err(|error| Unavailable(error.to_string()))?;
            Ok((verdict, value, told(&evidence, verdict)))
        });
        let (verdict, evidence, reason) = match told {
            Ok(told) => told,
            Err(Unavailable(reason)) => (Verdict::Unavailable, Value::Null, Some(reason)),
        };
        CheckReport {
            schema: CHECKS_SCHEMA.to_owned(),
            requirements_digest: json::digest(self.admitted.admission.requirements()),
            context_digest: context.and_then(|text| text.parse().ok()),
            candidate_snapshot: candidate,
            verdict,
            evidence,
            reason,
        }
    }

    fn judged(&self, candidate: Digest) -> Result<Judged, Unavailable> {
        let admission = &self.admitted.admission;
        let requirements = Requirements::parse(admission.requirements())?;
        requirements.admissible()?;
        if self.task.execution != Execution::Finished {
            let ending = self
                .admitted
                .result
                .as_ref()
                .map_or("", |result| result.ending.as_str());
            return Err(Unavailable(format!(
                "the run did not finish its work: it ended with `{ending}`"
            )));
        }
        let workspace = PathBuf::from(&admission.workspace);
        let cache = DigestCache::load(&cache_path(self.store));
        let cancel = &self.run.cancel;
        let hurried = || cancel.is_urgent();
        let before = observe_unless(&self.run.clock, &cache, &workspace, &hurried)?;
        if before.digest() != candidate {
            return Err(Unavailable(
                "the workspace is not the candidate any more: it changed since the run ended".into(),
            ));
        }
        let suites = self.suites(&requirements, &workspace)?;
        let checked = self.checks(&requirements, &suites, &workspace, candidate)?;
        let (checks, streams): (Vec<_>, Vec<_>) = checked
            .into_iter()
            .map(|checked| (checked.outcome, checked.streams))
            .unzip();
        let after = observe_unless(&self.run.clock, &cache, &workspace, &hurried);
        let mut evidence = CheckEvidence {
            schema: VERIFICATION_SCHEMA.to_owned(),
            plan_digest: json::digest(&prepared_plan(admission.requirements(), &candidate)),
            input_digest: candidate,
            before_snapshot: Some(before.digest()),
            after_snapshot: after.as_ref().ok().map(Snapshot::digest),
            workspace: match &after {
                Ok(after) if *after == before => Sameness::Unchanged,
                Ok(_) => Sameness::Changed,
                Err(_) => Sameness::Unobservable,
            },
            verdict: Judgement::Unverifiable,
            checks,
        };
        evidence.verdict = evidence.judged(requirements.plan.checks.len());
        Ok(Judged {
            evidence,
            streams: streams.into_iter().flatten().collect(),
        })
    }

    /// The suites as they are now, which must be those that were admitted.
    fn suites(&self, requirements: &Requirements, workspace: &Path) -> Result<Vec<Suite>, Unavailable> {
        let frozen = self
            .admitted
            .admission
            .context
            .get("suites")
            .cloned()
            .unwrap_or_default();
        let frozen: Vec<ProtectedSuite> = serde_json::from_value(frozen).map_err(|_| {
            Unavailable("the admitted context names its suites in a form that is not known here".into())
        })?;
        let git = common_directory(workspace)?;
        let outside = Outside {
            workspace,
            store: self.store,
            git: git.as_deref(),
        };
        let mut suites = Vec::new();
        for (index, check) in requirements.plan.checks.iter().enumerate() {
            let suite = Suite::find(check, outside, self.run.clock.as_ref())?;
            if frozen.get(index) != Some(&suite.frozen) {
                return Err(Unavailable(format!(
                    "the suite of the check `{}` is not the one that was admitted",
                    check.id
                )));
            }
            suites.push(suite);
        }
        Ok(suites)
    }

    /// One check after the other, up to the first that does not pass or the end of the plan's time.
    fn checks(
        &self,
        requirements: &Requirements,
        suites: &[Suite],
        workspace: &Path,
        candidate: Digest,
    ) -> Result<Vec<Checked>, Unavailable> {
        let begun = Instant::now();
        let allowed = Duration::from_secs(requirements.plan.seconds);
        let place = ScratchPlace::create(self.store, &self.task.task_id)?;
        let mut outcomes = Vec::new();
        for (planned, suite) in requirements.plan.checks.iter().zip(suites) {
            let remaining = allowed.saturating_sub(begun.elapsed());
            if remaining.is_zero() {
                break;
            }
            let check = Check {
                planned,
                suite,
                place: self.place(workspace, place.path()),
                trust: self.run.trust,
                candidate,
                remaining,
                clock: self.run.clock.as_ref(),
                cancel: &self.run.cancel,
            };
            let checked = check.run();
            let passed = checked.outcome.verdict == Judgement::Passed;
            outcomes.push(checked);
            if !passed {
                break;
            }
        }
        Ok(outcomes)
    }

    fn place<'p>(&'p self, workspace: &'p Path, scratch: &'p Path) -> Place<'p> {
        // What the grant said, as it was recorded; a field it did not have is as always.
        let said = |name| self.admitted.admission.grant.get(name).cloned();
        let memory = said("memory_bytes").and_then(|memory| memory.as_u64());
        let limits: Limits = said("limits")
            .and_then(|limits| serde_json::from_value(limits).ok())
            .unwrap_or_default();
        let require = said("require")
            .and_then(|level| serde_json::from_value(level).ok())
            .unwrap_or_default();
        Place {
            workspace,
            store: self.store,
            trust: self.run.trust.path(),
            scratch,
            resources: limits.with_memory(memory.unwrap_or(MEMORY_BYTES)),
            require,
            environment: self.run.environment,
        }
    }
}

/// The Git directory of a workspace, or the one that a worktree shares.
pub(crate) fn common_directory(workspace: &Path) -> Result<Option<PathBuf>, Error> {
    Ok(match git_link::place(workspace)? {
        Some(git_link::Place::Linked(linked)) => Some(linked.common_directory),
        Some(git_link::Place::Checkout(git_dir)) => Some(git_dir),
        None => None,
    })
}

/// Why the verdict is not `passed`, in one line.
fn told(evidence: &CheckEvidence, verdict: Verdict) -> Option<String> {
    if verdict == Verdict::Passed {
        return None;
    }
    let not_passed = evidence.checks.iter().find(|check| check.verdict != Judgement::Passed);
    Some(match (evidence.workspace, not_passed) {
        (Sameness::Changed, _) => "the workspace changed while it was checked".to_owned(),
        (Sameness::Unobservable, _) => "the workspace could not be observed whole after the checks".to_owned(),
        (Sameness::Unchanged, Some(check)) => format!("`{}`: {}", check.id, check.reason),
        (Sameness::Unchanged, None) => "the plan's time was over before its last check".to_owned(),
    })
}
