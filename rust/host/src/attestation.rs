//! What a run can say of itself to somebody who has no store: an in-toto Statement whose subjects are the candidate and
//! the evidence, signed or not, and the comparison of such a statement, or of an exported document, with a store. A
//! statement is derived from the store alone, twice the same bytes, and only where the store itself verifies.

mod compare;
mod derive;
mod document;
mod statement;

pub use compare::verify_attestation;
pub use document::verify_document;
pub use statement::{PAYLOAD_TYPE, PREDICATE_TYPE, STATEMENT_TYPE};

use crate::verify::{Verdict, verify};
use crate::{Error, attestation::derive::derive};
use coder_digest::TaskId;
use coder_journal::Store;
use coder_signing::{Envelope, SigningKey};

/// The statement of the task's current turn as canonical JSON with a newline at the end; with a key, the DSSE envelope
/// around it.
///
/// # Errors
/// [`Error::Absent`] before there is a result with a sealed trace; [`Error::Unverified`] where the store contradicts itself,
/// since a statement of it would be a lie; the journal's.
pub fn export_in_toto(store: &Store, task: &TaskId, key: Option<&SigningKey>) -> Result<Vec<u8>, Error> {
    let verification = verify(store, task)?;
    if let (Verdict::Mismatch, Some(mismatch)) = (verification.verdict, verification.first_mismatch) {
        return Err(Error::Unverified {
            task: task.clone(),
            mismatch,
        });
    }
    let shown = store.show(task)?;
    let statement = derive(store, &shown, shown.turn())?.to_json()?;
    let mut text = match key {
        None => statement,
        Some(key) => Envelope::sign(PAYLOAD_TYPE, statement.into_bytes(), key).to_json(),
    };
    text.push('\n');
    Ok(text.into_bytes())
}
