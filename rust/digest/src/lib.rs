//! The plain values every other crate speaks in: strict JSON, canonical JSON, digests, identifiers, byte paths, time.
//!
//! Nothing here opens a file, spawns a program or knows what a task is. Input from outside (commands, grants, recorded
//! lines) is read through [`json`], which refuses what two readers could understand differently; bytes are named by
//! [`Digest`]; names are checked by [`Identifier`]; paths keep every byte in [`BytePath`]; time enters through [`Clock`].
//!
//! ```
//! use coder_digest::{Digest, json};
//!
//! let value = json::parse(br#"{"b":1,"a":[true,null]}"#, json::Limit::COMMAND)?;
//! assert_eq!(json::canonical(&value), r#"{"a":[true,null],"b":1}"#);
//! assert!(Digest::of(b"").to_string().starts_with("sha256:e3b0c442"));
//! # Ok::<(), json::Error>(())
//! ```

mod byte_path;
mod clock;
mod digest;
mod identifier;
pub mod json;
mod text;

pub use byte_path::{BytePath, display_bytes, is_unsafe_to_show};
pub use clock::{Clock, FixedClock, SystemClock, Timestamp, TimestampError};
pub use digest::{Digest, DigestError, Hasher, bare};
pub use identifier::{Identifier, IdentifierError, ModelName, TaskId};
pub use text::{TextError, check_line, check_text};
