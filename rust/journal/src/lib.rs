//! The durable task store: what was asked of which task, what its owner did about it, and what came of it.
//!
//! A task begins with a `submit` command and is inert: nothing runs because of a record here. A command is given as exact
//! bytes and answered with a [`Receipt`] once it is durable; the same bytes again get the same receipt, any other bytes
//! under the same id are refused. An [`Owner`], who holds the task's lock, records what the run does as [`Event`]s. Every
//! record is tied to the one before by its digest, never changed and never deleted; the [`Task`] that [`Store::show`]
//! returns is what replaying the records gives, and [`Store::verify`] says whether it still is.
//!
//! All records of a store form one more chain, its ledger; a [`Head`] of it that was kept elsewhere shows later whether
//! anything up to there was taken away.
//!
//! Many processes share a store. Looking takes no lock that keeps a writer out; writers take turns. The store validates no
//! grant and starts no program: the host does, and hands over what it admitted.
//!
//! ```
//! use coder_digest::{FixedClock, TaskId, Timestamp};
//! use coder_journal::{Status, Store};
//! use std::sync::Arc;
//!
//! # let home = tempfile::tempdir()?;
//! # let path = home.path().join("store");
//! let store = Store::open(&path, Arc::new(FixedClock::new(Timestamp(0), 1)))?;
//! let receipt = store.command(
//!     br#"{"schema":"openagents.coder.task-command.v1","command_id":"c-1","task_id":"t-1","expected_revision":null,
//!     "action":{"type":"submit","intent":{"title":"Fix","prompt":"Fix the parser.",
//!     "workspace":{"path":"/home/me/tree","source_revision":null},
//!     "configuration":{"adapter":"microcoder-repository","model":"gpt-6-luna"}}}}"#,
//! )?;
//! assert_eq!((receipt.revision, receipt.status), (1, Status::Queued));
//! assert_eq!(store.verify(&TaskId::new("t-1")?)?, []);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(test)]
extern crate self as coder_journal;

mod admission;
mod archive;
mod ask;
mod command;
mod database;
mod directory;
mod error;
mod event;
mod evidence;
#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod fixtures;
#[cfg(test)]
mod history_tests;
mod intent;
mod ledger;
mod limits;
mod owner;
mod record;
mod reservation;
mod reserve;
mod settle;
mod state;
mod store;
mod task;
mod texts;
mod transition;
mod unowned;
mod verify;
mod write;

pub use admission::{Admission, BOUNDED_COMMAND, REPOSITORY};
pub use ask::Ask;
pub use command::{Action, COMMAND_SCHEMA, Command};
pub use error::Error;
pub use event::{
    AutoExec, CHECKER_OWNER_LOST, CHECKS_SCHEMA, CheckReport, CostStatus, Event, OWNER_LOST, OWNER_PROCESS_ENDED,
    RunResult, Verdict,
};
pub use evidence::{
    CheckEvidence, CheckOutcome, Held, Judgement, Sameness, SuiteEnding, SuiteEvidence, VERIFICATION_SCHEMA,
    prepared_plan,
};
pub use intent::{Configuration, Intent, Workspace};
pub use ledger::{Head, HeadError};
pub use limits::TURNS;
pub use owner::{Liveness, Owner};
pub use record::{Content, Record};
pub use settle::{Cleanup, Remains, Settled};
pub use state::{Checks, Execution, Status};
pub use store::{Store, Summary};
pub use task::{CORRECTED, Correction, FollowUp, RECEIPT_SCHEMA, Receipt, Rules, Run, Task, apply_command};
pub use transition::apply_event;
pub use unowned::Unowned;
pub use verify::Fault;
