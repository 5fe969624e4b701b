//! `coder key`: the pair of keys that attestations are signed and verified with.

use crate::arguments::KeyCommand;
use crate::output::{self, Failure};
use crate::surroundings;
use coder_signing::SigningKey;
use serde_json::json;

const REFUSED: u8 = 1;

pub(crate) fn key(command: &KeyCommand) -> Result<u8, Failure> {
    let KeyCommand::Generate { output } = command;
    let refused = |error: coder_signing::Error| Failure::of(&error.into(), REFUSED);
    let key = SigningKey::from_seed(&surroundings::entropy()?).map_err(refused)?;
    let files = key.write(output).map_err(refused)?;
    output::json(&json!({
        "key_id": key.verifying_key().key_id().as_str(),
        "private": files.private.display().to_string(),
        "public": files.public.display().to_string(),
    }))?;
    Ok(0)
}
