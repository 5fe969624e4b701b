//! All tasks of a store as a table for a person: one line each, newest last as in the store, cut to the screen. The
//! title takes what the fixed columns leave.

use crate::screen::{self, Screen, Tone, columns, fit, padded};
use coder_journal::{Checks, Execution, Status, Summary};
use std::fmt::Write as _;

/// The narrowest title worth showing, in columns.
const NARROWEST_TITLE: usize = 12;
/// A task's name takes at most this many columns.
const WIDEST_NAME: usize = 40;

/// The table, with a heading; a sentence where there is no task.
pub fn list_table(tasks: &[Summary], screen: &Screen) -> String {
    if tasks.is_empty() {
        return "No tasks yet.\n".to_owned();
    }
    let rows: Vec<Row> = tasks.iter().map(|task| Row::of(task, screen)).collect();
    let heading = Row {
        name: "TASK".to_owned(),
        state: "STATE".to_owned(),
        tone: Tone::Quiet,
        checks: "CHECKS",
        age: "CHANGED".to_owned(),
        title: "TITLE".to_owned(),
    };
    let widest = |cell: fn(&Row) -> usize| rows.iter().chain([&heading]).map(cell).max().unwrap_or_default();
    let name = widest(|row| columns(&row.name)).min(WIDEST_NAME);
    let state = widest(|row| columns(&row.state));
    let checks = widest(|row| columns(row.checks));
    let age = widest(|row| columns(&row.age));
    let fixed = name + state + checks + age + 4 * 2;
    // A title that would not fit beside the rest goes below it.
    let below = screen.width < fixed + NARROWEST_TITLE;
    let mut text = String::new();
    for (row, is_heading) in [(&heading, true)]
        .into_iter()
        .chain(rows.iter().map(|row| (row, false)))
    {
        let cells = [
            padded(&fit(&row.name, name), name),
            screen.paint(row.tone, &padded(&row.state, state)),
            padded(row.checks, checks),
            padded(&row.age, age),
        ];
        let line = match (below, is_heading) {
            (false, true) => screen.paint(Tone::Quiet, &plain_line(row, [name, state, checks, age])),
            (false, false) => format!("{}  {}", cells.join("  "), fit(&row.title, screen.width - fixed)),
            (true, true) => continue,
            (true, false) => {
                let first = fit(&format!("{}  {}", row.name, row.state), screen.width);
                let second = fit(&format!("  {} ago  {}", row.age, row.title), screen.width);
                format!("{}\n{second}", screen.paint(Tone::Strong, &first))
            }
        };
        // Writing to text cannot fail.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

fn plain_line(row: &Row, widths: [usize; 4]) -> String {
    let cells = [row.name.as_str(), &row.state, row.checks, &row.age];
    let cells: Vec<String> = cells
        .iter()
        .zip(widths)
        .map(|(cell, width)| padded(cell, width))
        .collect();
    format!("{}  {}", cells.join("  "), row.title)
}

struct Row {
    name: String,
    state: String,
    tone: Tone,
    checks: &'static str,
    age: String,
    title: String,
}

impl Row {
    fn of(task: &Summary, screen: &Screen) -> Self {
        let (state, tone) = state_words(task.status, task.execution);
        let turn = match task.turn {
            0 | 1 => String::new(),
            turn => format!(" (turn {turn})"),
        };
        Self {
            name: screen::line(task.task_id.as_str()),
            state: format!("{state}{turn}"),
            tone,
            checks: checks_words(task.checks),
            age: screen::age(task.changed_at, screen.now),
            title: screen::line(&task.title),
        }
    }
}

/// Where a task stands, in the words of its states.
pub(super) fn state_words(status: Status, execution: Execution) -> (String, Tone) {
    match (status, execution) {
        (Status::Finished, Execution::Finished) => ("finished".to_owned(), Tone::Good),
        (Status::Finished, execution) => (format!("finished: {}", execution.as_str()), Tone::Bad),
        (Status::Queued, _) => ("queued".to_owned(), Tone::Strong),
        (Status::Running, _) => ("running".to_owned(), Tone::Busy),
        (Status::CancelRequested, _) => ("cancel requested".to_owned(), Tone::Busy),
        (Status::Cancelled, _) => ("cancelled".to_owned(), Tone::Quiet),
        (Status::Unknown, _) => ("unknown".to_owned(), Tone::Bad),
    }
}

/// What the checks say; nothing where there were none.
pub(super) fn checks_words(checks: Checks) -> &'static str {
    match checks {
        Checks::NotRun => "-",
        Checks::Running => "running",
        Checks::Passed => "passed",
        Checks::Failed => "FAILED",
        Checks::Unavailable => "unavailable",
        Checks::Disputed => "disputed",
    }
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
