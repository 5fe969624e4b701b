//! The loop itself: the order of one step and when a run ends. Every rule that ends a run is an [`Ending`] returned from
//! where it fires, so the reason that is reported is the one that was decided on. What an action does is in `act`.

mod act;

use crate::action::{Action, action_schema, parse_action};
use crate::ending::{Ending, Outcome};
use crate::environment::{Env, HostFault};
use crate::error::Error;
use crate::event::{Event, GeneratedRecord, Observe};
use crate::generate::{Generate, Generated, GenerationFailure, GenerationRequest};
use crate::judge::{
    ACTIONS_HEAD_CHARACTERS, ACTIONS_TAIL_CHARACTERS, ENVIRONMENT_CHARACTERS, Judge, JudgeState, Judgment,
    TASK_CHARACTERS,
};
use crate::limits::Limits;
use crate::projection::{Ends, first, one_line, push_fenced};
use crate::prompt::{Prompt, State};
use crate::step::{Deed, Step};
use crate::stuck::{Repetition, StuckGuard};
use crate::system::SYSTEM;
use crate::usage::{Cost, Tokens};
use crate::view::View;

/// How much of a provider's or a malformed reply's own words goes into a note, in characters.
const QUOTED_CHARACTERS: usize = 500;

/// What is to be done.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// The user's prompt.
    pub prompt: &'a str,
    /// Instructions found in the repository; may be empty. They stand beside the prompt, never in place of it.
    pub instructions: &'a str,
}

/// Those that do what the loop itself does not.
pub struct Parts<'a> {
    /// Answers prompts.
    pub generate: &'a mut dyn Generate,
    /// Judges the state before each step.
    pub judge: &'a mut dyn Judge,
    /// Runs commands and reads files.
    pub environment: &'a mut dyn Env,
    /// Hears of everything.
    pub observe: &'a mut dyn Observe,
}

impl std::fmt::Debug for Parts<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Parts").finish_non_exhaustive()
    }
}

/// Runs the loop to its end.
///
/// # Errors
/// [`Error::Limit`] before anything is done, when `limits` would switch a guard off. Everything later is an ending.
pub fn run(task: &Task<'_>, limits: &Limits, parts: Parts<'_>) -> Result<Outcome, Error> {
    limits.check()?;
    let mut run = Run {
        prompt: Prompt::new(task.prompt, task.instructions, parts.environment.description()),
        task: first(task.prompt, TASK_CHARACTERS).to_owned(),
        limits,
        parts,
        view: View::default(),
        steps: Vec::new(),
        begun: 0,
        actions: Ends::default(),
        guard: StuckGuard::default(),
        repetition: None,
        bad: Vec::new(),
        idle: 0,
        notes: Vec::new(),
        messages: Vec::new(),
        tokens: Tokens::UNKNOWN,
        uncounted_attempts: 0,
        cost: Cost::FREE,
        reply: None,
    };
    let ending = loop {
        if let Err(ending) = run.step() {
            break ending;
        }
    };
    Ok(run.outcome(ending))
}

struct Run<'l, 'p> {
    task: String,
    limits: &'l Limits,
    parts: Parts<'p>,
    prompt: Prompt,
    view: View,
    steps: Vec<Step>,
    /// Steps whose generation was requested.
    begun: u32,
    actions: Ends,
    guard: StuckGuard,
    /// What the plain rule says of the last step; `None` before the first.
    repetition: Option<Repetition>,
    /// The unusable replies in a row, each in one line.
    bad: Vec<String>,
    idle: u32,
    /// For the next state.
    notes: Vec<String>,
    /// Taken from the environment and not yet shown.
    messages: Vec<String>,
    tokens: Tokens,
    uncounted_attempts: u32,
    cost: Cost,
    reply: Option<String>,
}

impl Run<'_, '_> {
    fn step(&mut self) -> Result<(), Ending> {
        self.check_stopped()?;
        let number = self.begun.saturating_add(1);
        self.check_limits()?;
        self.take_messages(number)?;
        let judgment = self.judge(number)?;
        self.check_stuck(&judgment)?;
        let messages = std::mem::take(&mut self.messages);
        self.begin_prompt(number, &judgment, &messages)?;
        self.check_stopped()?;

        self.begun = number;
        let generated = self.parts.generate.generate(&GenerationRequest {
            step: number,
            system: SYSTEM,
            prompt: self.prompt.text(),
            previous_bytes: self.prompt.previous_bytes(),
            schema: action_schema(),
        });
        let answer = self.take_generated(number, generated)?;
        self.check_stopped()?;
        let action = match answer {
            Answer::Action(action) => action,
            Answer::NoCapacity { resets_at } => return Err(Ending::NoCapacity { resets_at }),
            Answer::Bad(bad) => return self.bad_reply(number, messages, bad),
        };
        self.bad.clear();
        self.act(number, messages, action)
    }

    fn check_stopped(&mut self) -> Result<(), Ending> {
        match self.parts.environment.stopped() {
            true => Err(Ending::Stopped),
            false => Ok(()),
        }
    }

    fn check_limits(&self) -> Result<(), Ending> {
        if self.limits.max_steps.is_some_and(|most| self.begun >= most) {
            return Err(Ending::StepLimit);
        }
        match self.limits.max_seconds {
            Some(most) if self.parts.observe.seconds() >= most => Err(Ending::TimeLimit),
            Some(_) | None => Ok(()),
        }
    }

    fn tell(&mut self, event: &Event) -> Result<(), Ending> {
        self.parts.observe.event(event).map_err(Ending::HostFault)
    }

    /// Takes up what the user said since; `step` is the one it will be shown in. Whether something now waits.
    fn take_messages(&mut self, step: u32) -> Result<Waiting, Ending> {
        let messages = self.parts.environment.messages();
        if !messages.is_empty() {
            self.messages.extend(messages.iter().cloned());
            self.tell(&Event::Messages { step, messages })?;
        }
        Ok(match self.messages.is_empty() {
            true => Waiting::Nothing,
            false => Waiting::Messages,
        })
    }

    fn judge(&mut self, step: u32) -> Result<Judgment, Ending> {
        let state = JudgeState {
            step,
            task: self.task.clone(),
            environment: first(self.parts.environment.description(), ENVIRONMENT_CHARACTERS).to_owned(),
            actions: self.actions.render(ACTIONS_TAIL_CHARACTERS),
            in_view: self.view.paths(),
            acceptance: "not used".to_owned(),
        };
        let judgment = self.parts.judge.judge(&state).checked();
        self.cost = self.cost.plus(judgment.cost);
        self.tell(&Event::Judged {
            step,
            judgment: judgment.clone(),
        })?;
        Ok(judgment)
    }

    fn check_stuck(&mut self, judgment: &Judgment) -> Result<(), Ending> {
        let Some(repetition) = self.repetition else {
            return Ok(());
        };
        let in_a_row = self.guard.count(judgment, repetition);
        if in_a_row < self.limits.stuck_steps {
            return Ok(());
        }
        Err(Ending::Stuck(format!(
            "the last {in_a_row} steps repeated an approach that had failed and made no progress"
        )))
    }

    fn begin_prompt(&mut self, step: u32, judgment: &Judgment, messages: &[String]) -> Result<(), Ending> {
        let notes = std::mem::take(&mut self.notes);
        let state = State {
            step,
            judgment,
            messages,
            notes: &notes,
        };
        let restart = self.prompt.begin(
            &state,
            self.parts.environment.description(),
            &mut self.view,
            &self.steps,
            self.limits,
        );
        match restart {
            Some(restart) => self.tell(&Event::PromptRestarted {
                step,
                bytes_before: restart.bytes_before,
                bytes_after: restart.bytes_after,
            }),
            None => Ok(()),
        }
    }

    /// Counts and records what the call gave before anything acts on it.
    fn take_generated(&mut self, step: u32, generated: Generated) -> Result<Answer, Ending> {
        self.tokens = self.tokens.plus(generated.tokens);
        self.cost = self.cost.plus(generated.cost);
        self.uncounted_attempts = self.uncounted_attempts.saturating_add(generated.uncounted_attempts);
        let mut record = GeneratedRecord {
            action: None,
            failure: None,
            malformed: None,
            model: generated.model,
            tokens: generated.tokens,
            cost: generated.cost,
            attempts: generated.attempts,
            uncounted_attempts: generated.uncounted_attempts,
        };
        let answer = match generated.reply {
            Ok(text) => match parse_action(&text) {
                Ok(action) => {
                    record.action = Some(action.clone());
                    Ok(Answer::Action(action))
                }
                Err(error) => {
                    record.malformed = Some(error.to_string());
                    Ok(Answer::Bad(Bad::Malformed { error, text }))
                }
            },
            Err(failure) => {
                record.failure = Some(failure.clone());
                match failure {
                    GenerationFailure::Capacity(refusal) => Ok(Answer::NoCapacity {
                        resets_at: refusal.resets_at,
                    }),
                    GenerationFailure::Provider(words) => Ok(Answer::Bad(Bad::Provider(words))),
                    GenerationFailure::Cancelled => Err(Ending::Stopped),
                    GenerationFailure::HostFault(fault) => Err(Ending::HostFault(fault)),
                }
            }
        };
        self.tell(&Event::Generated {
            step,
            prompt_chars: self.prompt.characters(),
            generated: Box::new(record),
        })?;
        answer
    }

    fn bad_reply(&mut self, step: u32, messages: Vec<String>, bad: Bad) -> Result<(), Ending> {
        let (instead, words, note) = match bad {
            Bad::Provider(words) => {
                let words = one_line(&words, QUOTED_CHARACTERS);
                let note = format!(
                    "At step {step} the model provider failed, and no reply of yours arrived: {words}. That is no fault of \
                     yours. Nothing was run; answer for the state as it is."
                );
                (
                    "the model provider failed",
                    format!("step {step}: the model provider failed: {words}"),
                    note,
                )
            }
            Bad::Malformed { error, text } => {
                let mut note = format!(
                    "Your reply at step {step} could not be used: {error}. Nothing was run. Answer with one JSON object that \
                     has the eight keys. "
                );
                if text.trim().is_empty() {
                    note.push_str("The reply was empty.");
                } else {
                    note.push_str("The reply began:\n");
                    push_fenced(&mut note, "", first(text.trim(), QUOTED_CHARACTERS));
                }
                (
                    "the reply could not be used",
                    format!("step {step}: the reply could not be used: {error}"),
                    note,
                )
            }
        };
        self.bad.push(words);
        self.note(step, note)?;
        self.repetition = Some(Repetition::SomethingNew);
        self.finish_step(Step {
            number: step,
            messages,
            deed: Deed::NoAction(instead),
        });
        if self.bad.len() < self.limits.bad_replies as usize {
            return Ok(());
        }
        Err(Ending::BadReplies(format!(
            "{} steps in a row gave no usable reply: {}",
            self.bad.len(),
            self.bad.join("; ")
        )))
    }

    fn note(&mut self, step: u32, note: String) -> Result<(), Ending> {
        self.notes.push(note.clone());
        self.tell(&Event::Noted { step, note })
    }

    fn finish_step(&mut self, step: Step) {
        let section = self.prompt.end(&step);
        self.actions
            .push(section, ACTIONS_HEAD_CHARACTERS, ACTIONS_TAIL_CHARACTERS);
        self.steps.push(step);
    }

    fn outcome(mut self, ending: Ending) -> Outcome {
        let mut outcome = Outcome {
            summary: ending.to_string(),
            ending,
            steps: self.begun,
            tokens: self.tokens,
            uncounted_attempts: self.uncounted_attempts,
            cost: self.cost,
            reply: self.reply.take(),
        };
        if let Err(HostFault(fault)) = self.parts.observe.event(&Event::Ended {
            outcome: outcome.clone(),
        }) {
            // The decided reason stays readable: losing the record of an ending must not hide why the run ended.
            let fault = HostFault(format!("{fault} (the run had ended: {})", outcome.summary));
            outcome.ending = Ending::HostFault(fault);
            outcome.summary = outcome.ending.to_string();
        }
        outcome
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Nothing,
    Messages,
}

enum Answer {
    Action(Action),
    NoCapacity { resets_at: Option<i64> },
    Bad(Bad),
}

enum Bad {
    Provider(String),
    Malformed { error: Error, text: String },
}
