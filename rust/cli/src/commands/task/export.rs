//! `coder task export`: what came of a task as a document that other tools read.

use super::{REFUSED, WRONG_USE, reading, refused, task_id};
use crate::arguments::{ExportArguments, ExportFormat};
use crate::output::{self, Failure};
use coder_signing::SigningKey;

pub(crate) fn export(arguments: &ExportArguments) -> Result<u8, Failure> {
    if arguments.sign.is_some() && arguments.chosen() == ExportFormat::Atif {
        return Err(Failure::new(
            "usage",
            "only an in-toto statement is signed: add --in-toto",
            WRONG_USE,
        ));
    }
    let key = arguments
        .sign
        .as_deref()
        .map(SigningKey::read)
        .transpose()
        .map_err(refused)?;
    let store = reading(&arguments.name.store)?;
    let task = task_id(&arguments.name)?;
    let document = match arguments.chosen() {
        ExportFormat::Atif => {
            let mut document = Vec::new();
            coder_host::export_atif(&store, &task, &mut document).map_err(refused)?;
            document
        }
        ExportFormat::InToto => coder_host::export_in_toto(&store, &task, key.as_ref()).map_err(refused)?,
    };
    match &arguments.output {
        None => output::data(&document)?,
        Some(path) => std::fs::write(path, &document).map_err(|error| {
            Failure::new(
                "output",
                format!("could not write {}: {error}", path.display()),
                REFUSED,
            )
        })?,
    }
    Ok(0)
}
