//! Advisory judgments of the run so far: how sure an independent judge is that it progresses, repeats itself, is done.
//! They are shown to the model as evidence and feed the stuck guard; they decide nothing else, and their absence or
//! failure is never fatal.

use crate::usage::Cost;
use coder_digest::{Digest, json};
use serde::{Deserialize, Serialize};

/// The identity of the question set; [`question_set_digest`] names its wording.
pub const QUESTION_SET: &str = "openagents.microcoder.judge.v1";
/// What [`NoJudge`] says at every step.
pub const NO_JUDGE_NOTE: &str = "no Jev key on this computer";

/// The longest task text a judge is given, in characters.
pub(crate) const TASK_CHARACTERS: usize = 6_000;
/// The longest environment text a judge is given, in characters.
pub(crate) const ENVIRONMENT_CHARACTERS: usize = 1_500;
/// How much of the actions' beginning a judge is given, in characters.
pub(crate) const ACTIONS_HEAD_CHARACTERS: usize = 4_000;
/// How much of the actions' end a judge is given, in characters.
pub(crate) const ACTIONS_TAIL_CHARACTERS: usize = 12_000;

/// How a question is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// With the probability of "yes".
    Yes,
    /// With one of five levels, 0 to 4.
    Level,
}

/// One question of the set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Question {
    /// Its identifier.
    pub id: &'static str,
    /// How it is answered.
    pub kind: QuestionKind,
    /// Its wording.
    pub text: &'static str,
}

/// The question set.
pub const QUESTIONS: [Question; 4] = [
    Question {
        id: "done",
        kind: QuestionKind::Yes,
        text: "Do the recorded actions and their output show that everything the task asks for has been done and checked?",
    },
    Question {
        id: "progress",
        kind: QuestionKind::Yes,
        text: "Did the most recent actions bring the work closer to what the task asks for?",
    },
    Question {
        id: "repeating",
        kind: QuestionKind::Yes,
        text: "Do the most recent actions repeat an approach that the record shows has already failed?",
    },
    Question {
        id: "complete",
        kind: QuestionKind::Level,
        text: "How much of what the task asks for is in place: nothing, a little, about half, most, or all of it?",
    },
];

/// The digest of the question set's wording.
pub fn question_set_digest() -> Digest {
    json::digest(&serde_json::json!({ "id": QUESTION_SET, "questions": QUESTIONS }))
}

/// What a judge is shown; every text is already cut to its bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JudgeState {
    /// The step about to begin, from 1.
    pub step: u32,
    /// The task, at most 6,000 characters.
    pub task: String,
    /// The environment's description, at most 1,500 characters.
    pub environment: String,
    /// The actions so far: the first 4,000 and the last 12,000 characters.
    pub actions: String,
    /// The files in view.
    pub in_view: Vec<String>,
    /// How acceptance stands; this profile has none of its own.
    pub acceptance: String,
}

/// A judge's answers; `None` where it gave none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judgment {
    /// Probability that the last actions made progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    /// Probability that they repeat a failed approach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeating: Option<f64>,
    /// Probability that the task is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<f64>,
    /// Level of completeness, 0 to 4; shown to people, never to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complete: Option<u8>,
    /// Why answers are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What the judgment cost.
    pub cost: Cost,
}

impl Judgment {
    /// No answers, for this reason.
    pub fn unavailable(note: impl Into<String>, cost: Cost) -> Self {
        Self {
            progress: None,
            repeating: None,
            done: None,
            complete: None,
            note: Some(note.into()),
            cost,
        }
    }

    /// The answers with everything that is no probability (or no level) taken out.
    pub(crate) fn checked(self) -> Self {
        let probability = |answer: Option<f64>| answer.filter(|value| (0.0..=1.0).contains(value));
        Self {
            progress: probability(self.progress),
            repeating: probability(self.repeating),
            done: probability(self.done),
            complete: self.complete.filter(|level| *level <= 4),
            ..self
        }
    }
}

/// Judges the run so far.
pub trait Judge {
    /// Judges one state. Never fails: what went wrong stands in [`Judgment::note`].
    fn judge(&mut self, state: &JudgeState) -> Judgment;
}

/// The judge of a computer without a key: says so, makes no request, costs nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoJudge;

impl Judge for NoJudge {
    fn judge(&mut self, _state: &JudgeState) -> Judgment {
        Judgment::unavailable(NO_JUDGE_NOTE, Cost::FREE)
    }
}
