//! The ATIF log of a run: the file that says what an agent did, written before and after each act, readable with `tail`
//! after any crash.
//!
//! [`Writer`] appends to a private, new JSON-lines file: the session first, then steps, then the end. A record is one
//! write and one `fdatasync`, durable when the call returns, and taken back whole where it fails. Every record names the
//! digest of the line before it (the newline included, as `sed -n 3p LOG | sha256sum` gives it), so a removed or edited
//! line shows. Space for the last records is set aside, so that even a full disk leaves a sealed log.
//!
//! An effect is announced by [`Writer::intend`], which alone gives the [`Intent`] that [`Writer::conclude`] takes.
//!
//! [`Reader`] indexes a log in one pass and pages it by seeking; every fault is named with its line. [`KeptIndexes`] spare
//! the next look that pass. [`examine`] says how
//! far a log can be believed, [`view_page`] gives one page for a task's view, [`repair`] cuts a torn tail,
//! [`atif_document`] renders the document that other tools read, and [`check::strict`] checks any such document.
//!
//! The crate does not know what a task may do, runs nothing, and keeps nothing but the log.
//!
//! ```
//! use coder_digest::{SystemClock, TaskId};
//! use coder_trace::{Reader, Session, SessionId, Source, Step, Writer};
//! use std::sync::Arc;
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("fix.1.atif.jsonl");
//! let session = Session {
//!     id: SessionId::new(&TaskId::new("fix")?, 1),
//!     model: None,
//!     door: "repository".into(),
//!     repository: None,
//!     version: "0.1.0".into(),
//! };
//! let mut writer = Writer::create(&path, &session, Arc::new(SystemClock))?;
//! writer.append(&Step::new(Source::User, "fix the parser"))?;
//! let sealed = writer.seal()?;
//!
//! let reader = Reader::open(&path)?;
//! assert_eq!(reader.index().digest(), sealed.digest);
//! assert_eq!(reader.index().steps(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bytes;
pub mod check;
mod cursor;
mod effect;
mod error;
mod evidence;
mod export;
mod fault;
mod index;
mod index_file;
mod kept_index;
pub mod limits;
mod open;
mod reader;
mod record;
mod render;
mod repair;
mod step;
mod storage;
mod stream;
#[cfg(test)]
mod testing;
mod view;
mod writer;

pub use bytes::Bytes;
pub use cursor::{CURSOR_SCHEMA, Cursor, Subject};
pub use effect::{EffectKind, EffectKindError, EffectRecord, Intent, ResultRecord, Unconcluded};
pub use error::{Act, Error, Hazard};
pub use evidence::{EvidenceState, Examined, Expectation, Retention, evidence_state, examine, examine_kept};
pub use export::{atif_document, write_atif_document};
pub use fault::{Fault, FaultKind};
pub use index::{Chain, Index, Opening};
pub use kept_index::KeptIndexes;
pub use reader::{PageSize, Reader};
pub use record::{READABLE_VERSIONS, SCHEMA_VERSION};
pub use repair::{Cut, Repaired, repair};
pub use step::{Call, RecordedStep, Session, SessionId, Source, Step, Tokens};
pub use storage::Reserve;
pub use stream::{Gap, HolderRecord, ProcessRecord, StreamName, StreamRecord};
pub use view::{EvidencePage, PageStep, VIEW_SCHEMA, not_started, view_page};
pub use writer::{Appended, Sealed, Writer};
