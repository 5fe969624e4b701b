//! The loop of a coding agent: state in, one action out, until it ends and says why.
//!
//! Nothing here opens a file or a socket, starts a program or reads a clock. The host passes four traits in:
//! [`Generate`] answers a prompt, [`Judge`] gives advisory judgments, [`Env`] runs commands, reads files and carries the
//! user's messages, [`Observe`] hears of everything that happened and tells the seconds. What the host refuses or cannot
//! retain comes back as a [`HostFault`], which ends the run: no effect follows evidence that was lost.
//!
//! [`run`] takes the [`Task`], the [`Limits`] and the [`Parts`] and gives an [`Outcome`]. Every call of the model is one
//! system text and one prompt; each prompt is the previous one byte for byte with new text at its end, until the log
//! grows past [`Limits::prompt_bytes`] and restarts compacted.
//!
//! ```
//! use coder_agent::{Action, Ask, parse_action};
//!
//! let action = parse_action(r#"{"rationale": "look", "commands": ["ls"], "finished": false}"#)?;
//! assert_eq!((action.commands, action.ask), (vec!["ls".to_owned()], Ask::None));
//! # Ok::<(), coder_agent::Error>(())
//! ```

mod action;
mod ending;
mod environment;
mod error;
mod event;
mod generate;
mod judge;
mod limits;
mod projection;
mod prompt;
mod run;
mod step;
mod stuck;
mod system;
mod usage;
mod view;

pub use action::{
    ACTION_SCHEMA, Action, Ask, COMMANDS_PER_STEP, ResponseSchema, SCRIPT_BYTES, action_schema, parse_action,
};
pub use ending::{Ending, Outcome};
pub use environment::{Captured, Env, HostFault, Ran, RanEnd, Viewed};
pub use error::Error;
pub use event::{CommandRecord, Event, GeneratedRecord, Observe};
pub use generate::{
    CapacityKind, CapacityRefusal, Generate, Generated, GenerationFailure, GenerationRequest, ResetOrigin,
};
pub use judge::{
    Judge, JudgeState, Judgment, NO_JUDGE_NOTE, NoJudge, QUESTION_SET, QUESTIONS, Question, QuestionKind,
    question_set_digest,
};
pub use limits::{Limits, MINIMUM_STUCK_STEPS};
pub use projection::{OUTPUT_HEAD_CHARACTERS, OUTPUT_TAIL_CHARACTERS, project_output};
pub use run::{Parts, Task, run};
pub use system::SYSTEM;
pub use usage::{Cost, Tokens};
pub use view::{VIEW_FILE_CHARACTERS, VIEW_FILES, VIEW_TOTAL_CHARACTERS};
