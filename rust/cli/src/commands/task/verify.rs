//! `coder task verify`: a task's own records, or what somebody carries of it: an attestation, an exported document.

use super::{REFUSED, WRONG_USE, reading, refused};
use crate::arguments::VerifyArguments;
use crate::commands::repository::read_at_most;
use crate::output::{self, Failure};
use coder_digest::TaskId;
use coder_host::{AttestationState, Compared, SignatureState, Verdict, Verification};
use coder_signing::VerifyingKey;

/// One byte more than the largest thing that is read, so that a longer one is refused and not cut.
const CARRIED_BYTES: u64 = 256 * 1024 * 1024 + 1;

pub(crate) fn verify(arguments: &VerifyArguments) -> Result<u8, Failure> {
    let task = arguments.task.as_deref().map(TaskId::new).transpose();
    let task = task.map_err(|error| Failure::new("usage", error.to_string(), WRONG_USE))?;
    let verification = match (&arguments.attestation, &arguments.document, task) {
        (Some(file), _, task) => {
            let key = arguments
                .key
                .as_deref()
                .map(VerifyingKey::read)
                .transpose()
                .map_err(refused)?;
            let attestation = read_at_most(CARRIED_BYTES, file, "read_attestation", REFUSED)?;
            // Only a store that was named is looked at: an attestation is made for those who have none.
            let store = arguments
                .store
                .store
                .as_ref()
                .map(|_| reading(&arguments.store))
                .transpose()?;
            coder_host::verify_attestation(store.as_ref(), task.as_ref(), &attestation, key.as_ref())
        }
        (None, Some(file), task) => {
            let document = read_at_most(CARRIED_BYTES, file, "read_document", REFUSED)?;
            coder_host::verify_document(&reading(&arguments.store)?, task.as_ref(), &document)
        }
        (None, None, Some(task)) => match &arguments.head {
            Some(noted) => coder_host::verify_since(&reading(&arguments.store)?, &task, noted),
            None => coder_host::verify(&reading(&arguments.store)?, &task),
        },
        (None, None, None) => return Err(Failure::new("usage", "name a task", WRONG_USE)),
    };
    let verification = verification.map_err(refused)?;
    if arguments.store.json || !output::person_reads() {
        output::json(&verification)?;
    } else {
        output::data(words(&verification).as_bytes())?;
    }
    let holds = matches!(verification.verdict, Verdict::Verified | Verdict::Consistent);
    Ok(u8::from(!holds))
}

fn words(verification: &Verification) -> String {
    let mut text = String::new();
    for check in &verification.checks {
        let finding = serde_json::to_value(check.finding).unwrap_or_default();
        text.push_str(&format!(
            "{:<8}  {:<20} {}\n",
            finding.as_str().unwrap_or_default(),
            check.name,
            safe(check.detail.as_deref().unwrap_or_default())
        ));
    }
    if let Some(attestation) = &verification.attestation {
        text.push_str(&format!("{}\n", signature(attestation)));
    }
    let mismatch = verification.first_mismatch.as_deref().unwrap_or_default();
    text.push_str(&match verification.verdict {
        Verdict::Verified => "Verified.\n".to_owned(),
        Verdict::Consistent => "Consistent with itself; no store was compared: name one with --store.\n".to_owned(),
        Verdict::Incomplete => "Incomplete: the run could not keep all of its evidence.\n".to_owned(),
        Verdict::Unfinished => format!("Unfinished: the task is {}.\n", verification.state),
        Verdict::Mismatch => format!("MISMATCH: {}.\n", safe(mismatch)),
    });
    text
}

fn signature(attestation: &AttestationState) -> String {
    let key = attestation.key_id.as_deref().unwrap_or_default();
    let compared = match attestation.compared_with {
        Compared::Store => "compared with the store",
        Compared::Nothing => "compared with nothing",
    };
    let signed = match attestation.signature {
        SignatureState::Absent => "not signed".to_owned(),
        SignatureState::NotChecked => "signed by somebody: no --key was given to check by whom".to_owned(),
        SignatureState::Valid => format!("signed by {key}"),
        SignatureState::Invalid => format!("NOT signed by {key}"),
    };
    format!("Turn {}, {signed}, {compared}.", attestation.turn)
}

/// What others wrote, without anything that a terminal obeys.
fn safe(text: &str) -> String {
    coder_digest::display_bytes(text.as_bytes())
}
