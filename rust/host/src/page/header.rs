//! The top of the page: first what keeps the rest from being believed, then what was asked, where the task stands, what
//! the model said at the end, and what it took. An unknown is called one and never a zero.

use super::markup::{Class, Markup};
use super::{Gathered, prose};
use crate::screen;
use crate::timeline::{Disposition, Event};
use crate::verify::Verdict;
use crate::view::{evidence_words, result_cost, token_words};
use coder_journal::{Checks, Execution, Status};
use coder_trace::EvidenceState;

/// How many faults of one kind are listed.
const FAULTS: usize = 20;

pub(super) fn header(markup: &mut Markup, gathered: &Gathered) {
    markup.raw("<header>\n");
    let faults = faults(gathered);
    if !faults.is_empty() {
        markup.raw("<section class=\"alarm\" aria-label=\"What is wrong\"><h2>Before you believe this page</h2><ul>");
        for fault in &faults {
            markup.wrap("<li>", fault, "</li>");
        }
        markup.raw("</ul></section>\n");
    }
    let task = &gathered.task;
    markup.wrap("<p class=\"name\">", task.task_id.as_str(), "</p>");
    markup.wrap("<h1>", &task.intent.title, "</h1>\n<p class=\"badges\">");
    markup.badge(state_class(gathered), &state_words(gathered));
    markup.badge(
        checks_class(task.checks),
        &format!("checks: {}", task.checks.as_str().replace('_', " ")),
    );
    let (class, words) = verdict(gathered);
    markup.badge(class, &words).raw("</p>\n");
    markup.raw("<section class=\"prompt\" aria-label=\"Prompt\">");
    prose::prose(markup, task.prompt());
    markup.raw("</section>\n");
    if let Some(reply) = disposition(gathered).and_then(|disposition| disposition.reply.as_deref()) {
        markup.raw("<section class=\"answer\" aria-label=\"Answer\"><h2>The model’s last word</h2>");
        prose::prose(markup, reply);
        markup.raw("</section>\n");
    }
    facts(markup, gathered);
    markup.raw("</header>\n");
}

fn disposition(gathered: &Gathered) -> Option<&Disposition> {
    gathered
        .timeline
        .entries
        .iter()
        .rev()
        .find_map(|entry| match &entry.event {
            Event::Ended(disposition) if !entry.carried => Some(disposition),
            _ => None,
        })
}

fn state_words(gathered: &Gathered) -> String {
    let execution = gathered.task.execution;
    match gathered.task.status {
        Status::Finished if execution != Execution::Finished => format!("finished: {}", execution.as_str()),
        _ => gathered.state.replace('_', " "),
    }
}

fn state_class(gathered: &Gathered) -> Class {
    match (gathered.task.status, gathered.task.execution) {
        _ if gathered.state == "owner_gone" => Class::Bad,
        (Status::Finished, Execution::Finished) => Class::Good,
        (Status::Finished | Status::Unknown, _) => Class::Bad,
        (Status::Running | Status::CancelRequested, _) => Class::Busy,
        (Status::Queued | Status::Cancelled, _) => Class::Plain,
    }
}

fn checks_class(checks: Checks) -> Class {
    match checks {
        Checks::Passed => Class::Good,
        Checks::Failed => Class::Bad,
        Checks::Running | Checks::Disputed | Checks::Unavailable => Class::Busy,
        Checks::NotRun => Class::Plain,
    }
}

fn verdict(gathered: &Gathered) -> (Class, String) {
    match &gathered.verification {
        Err(_) => (Class::Bad, "evidence: cannot be verified".to_owned()),
        Ok(verification) => match verification.verdict {
            Verdict::Verified => (Class::Good, "evidence: verified".to_owned()),
            Verdict::Consistent => (Class::Good, "evidence: consistent".to_owned()),
            Verdict::Incomplete => (Class::Busy, "evidence: incomplete".to_owned()),
            Verdict::Unfinished => (Class::Plain, "evidence: unfinished".to_owned()),
            Verdict::Mismatch => (Class::Bad, "evidence: MISMATCH".to_owned()),
        },
    }
}

/// Everything that speaks against the page, gravest first.
fn faults(gathered: &Gathered) -> Vec<String> {
    let mut faults = Vec::new();
    let evidence = &gathered.evidence;
    match &gathered.verification {
        Err(error) => faults.push(format!("The task cannot be verified: {error}")),
        Ok(verification) => faults.extend(
            verification
                .first_mismatch
                .iter()
                .map(|mismatch| format!("Verification fails: {mismatch}")),
        ),
    }
    match evidence.state {
        EvidenceState::Sealed | EvidenceState::NotStarted => {}
        EvidenceState::Unsealed if gathered.run().is_some_and(|run| run.result.is_none()) => {
            faults.push("The run has no result yet: this page shows what is on disk so far.".to_owned());
        }
        state => faults.push(format!("Evidence: {}.", evidence_words(state).0)),
    }
    faults.extend(
        evidence
            .error
            .iter()
            .map(|error| format!("The trace cannot be read: {error}")),
    );
    let lines = evidence.faults.iter().take(FAULTS);
    faults.extend(lines.map(|fault| format!("Line {} of the trace: {}", fault.line, fault.kind.word())));
    let more = evidence.fault_count.saturating_sub(FAULTS as u64);
    if more > 0 {
        faults.push(format!("And {} of the trace.", screen::counted(more, "more fault")));
    }
    if gathered.state == "owner_gone" {
        faults.push("The run has neither a result nor an owner: what it was doing is not known.".to_owned());
    }
    if gathered.timeline.totals.open > 0 && gathered.state != "running" {
        let effects = screen::counted(gathered.timeline.totals.open, "effect");
        faults.push(format!(
            "Without a result: {effects}. What became of them is not known."
        ));
    }
    if let Some(disposition) = disposition(gathered) {
        faults.extend(
            disposition
                .fault
                .iter()
                .map(|fault| format!("The host could not go on: {fault}")),
        );
        faults.extend(
            disposition
                .candidate_faults
                .iter()
                .map(|fault| format!("Candidate: {fault}")),
        );
    }
    if let Some(result) = gathered.run().and_then(|run| run.result.as_ref())
        && !result.group_clear
    {
        faults.push("The run’s processes were not proved gone.".to_owned());
    }
    faults.extend(
        gathered
            .candidate_faults
            .iter()
            .take(FAULTS)
            .map(|fault| format!("Candidate: {fault}")),
    );
    faults
}

fn facts(markup: &mut Markup, gathered: &Gathered) {
    let task = &gathered.task;
    let totals = &gathered.timeline.totals;
    let result = gathered.run().and_then(|run| run.result.as_ref());
    markup.raw("<dl class=\"facts\">\n");
    let mut fact = |name: &'static str, value: &str| {
        if !value.is_empty() {
            markup
                .raw("<div><dt>")
                .raw(name)
                .wrap("</dt><dd>", value, "</dd></div>\n");
        }
    };
    let model = task
        .intent
        .configuration
        .model
        .as_ref()
        .map_or("none named", |model| model.as_str());
    fact("Model", model);
    if let Some(first) = totals.first {
        fact("Began", &screen::date_time(first));
    }
    let took = match (result.and_then(|result| result.elapsed_ms), totals.first, totals.last) {
        (Some(elapsed), _, _) => screen::duration(elapsed),
        (None, Some(first), Some(last)) => {
            let so_far = u64::try_from(last.0.saturating_sub(first.0)).unwrap_or_default();
            format!("{} so far", screen::duration(so_far))
        }
        _ => String::new(),
    };
    fact("Took", &took);
    if let Some(result) = result {
        fact("Ending", &result.ending.replace('_', " "));
        fact("Cost", &screen::cost(result_cost(result)));
        fact("Paid by", result.payer.as_deref().unwrap_or_default());
    } else if task.run.is_some() {
        fact("Cost", "unknown: no result yet");
    }
    if totals.calls > 0 {
        let part = match totals.uncounted {
            0 => String::new(),
            count => format!(", without {} that nobody counted", screen::counted(count, "request")),
        };
        fact("Tokens", &format!("{}{part}", token_words(totals.tokens)));
        fact("Model calls", &calls(totals.calls, totals.requests));
    }
    let failed = match totals.failed_commands {
        0 => String::new(),
        count => format!(", {} failed", screen::count(count)),
    };
    fact("Commands", &format!("{}{failed}", screen::count(totals.commands)));
    if totals.switches > 0 {
        fact("Route switches", &screen::count(totals.switches));
    }
    fact("Workspace", &task.intent.workspace.path);
    if let Some(run) = gathered.run() {
        let commit = run.admission.source_revision.as_deref().unwrap_or("none");
        fact("Commit", commit.get(..12).unwrap_or(commit));
        if task.turn() > 1 {
            fact("Turn", &task.turn().to_string());
        }
    }
    markup.raw("</dl>\n");
}

fn calls(calls: u64, requests: u64) -> String {
    match requests == calls {
        true => screen::count(calls),
        false => format!("{} in {}", screen::count(calls), screen::counted(requests, "request")),
    }
}
