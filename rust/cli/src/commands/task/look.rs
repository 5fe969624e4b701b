//! `coder task list`, `show` and `view`: JSON for programs, words for a person on a terminal, and a page for a browser.

use super::{reading, refused, task_id};
use crate::arguments::{ListArguments, StoreArguments, TaskName, ViewArguments};
use crate::output::{self, Failure};
use crate::surroundings;
use coder_host::{Existing, ReportFile};
use coder_trace::{Cursor, PageSize};
use serde::Serialize;

pub(super) fn list(arguments: &ListArguments) -> Result<u8, Failure> {
    let store = reading(&arguments.store)?;
    let tasks = match arguments.all {
        true => store.list_all(),
        false => store.list(),
    };
    let tasks = tasks.map_err(refused)?;
    answer(&arguments.store, &tasks, || {
        coder_host::list_table(&tasks, &surroundings::screen())
    })
}

pub(super) fn show(arguments: &TaskName) -> Result<u8, Failure> {
    let task = reading(&arguments.store)?.show(&task_id(arguments)?).map_err(refused)?;
    answer(&arguments.store, &task, || {
        coder_host::task_sheet(&task, &surroundings::screen())
    })
}

pub(super) fn view(arguments: &ViewArguments) -> Result<u8, Failure> {
    let task = task_id(&arguments.name)?;
    let store = reading(&arguments.name.store)?;
    if let Some(path) = &arguments.html {
        let existing = if arguments.force {
            Existing::Replace
        } else {
            Existing::Keep
        };
        let place = ReportFile::open_page(path, existing).map_err(refused)?;
        let page = coder_host::page(&store, &task).map_err(refused)?;
        place.write(page.as_bytes()).map_err(refused)?;
        return Ok(0);
    }
    let cursor: Option<Cursor> = arguments
        .cursor
        .as_deref()
        .map(|text| text.parse().map_err(|error: coder_trace::Error| refused(error)))
        .transpose()?;
    let size = PageSize::new(u64::from(arguments.limit)).map_err(refused)?;
    let now = surroundings::clock().now();
    let view = coder_host::view(&store, &task, cursor.as_ref(), size, now).map_err(refused)?;
    answer(&arguments.name.store, &view, || view.story(&surroundings::screen()))
}

/// JSON where a program reads or it is asked for, words where a person does.
fn answer(store: &StoreArguments, value: &impl Serialize, words: impl FnOnce() -> String) -> Result<u8, Failure> {
    if store.json || !output::person_reads() {
        output::json(value)?;
    } else {
        output::data(words().as_bytes())?;
    }
    Ok(0)
}
