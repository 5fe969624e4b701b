//! The independent checks: the verdict, and a row for each check that ran with what its verdict rests on. What was recorded
//! besides stands folded below, as it is.

use super::markup::{Class, Markup};
use super::{Gathered, prose};
use crate::screen;
use crate::view::verdict_word;
use coder_journal::{CheckEvidence, CheckOutcome, CheckReport, Judgement, Sameness, SuiteEnding, Verdict};

pub(super) fn checks(markup: &mut Markup, gathered: &Gathered) {
    let Some(run) = gathered.run() else { return };
    if let Some(report) = &run.report {
        let class = match report.verdict {
            Verdict::Passed => Class::Good,
            Verdict::Failed => Class::Bad,
            Verdict::Unavailable | Verdict::Disputed => Class::Busy,
        };
        markup
            .raw("<h3>Independent checks</h3><p>")
            .badge(class, verdict_word(report.verdict));
        markup.wrap(" ", report.reason.as_deref().unwrap_or_default(), "</p>\n");
        table(markup, report);
    } else if let Some(reason) = &run.check_reason {
        markup.wrap("<h3>Independent checks</h3><p>", reason, "</p>");
    }
}

fn table(markup: &mut Markup, report: &CheckReport) {
    if report.evidence.is_null() {
        return;
    }
    // Evidence of a form that is not known here is still shown as it stands.
    if let Ok(evidence) = serde_json::from_value::<CheckEvidence>(report.evidence.clone()) {
        markup.raw("<div class=\"wide\"><table id=\"checks\"><thead><tr>");
        for column in ["Verdict", "Check", "Status", "Exit", "Duration", "Output digest", "Why"] {
            markup.wrap("<th scope=\"col\">", column, "</th>");
        }
        markup.raw("</tr></thead><tbody>\n");
        for outcome in &evidence.checks {
            row(markup, outcome);
        }
        markup.raw("</tbody></table></div>\n");
        let candidate = evidence.input_digest.hex();
        markup.wrap("<p>Judged: the candidate <code>", &candidate, "</code>, which ");
        let stayed = match evidence.workspace {
            Sameness::Unchanged => "stayed as it was",
            Sameness::Changed => "did not stay as it was",
            Sameness::Unobservable => "could not be looked at afterwards",
        };
        markup.text(stayed).raw(".</p>\n");
    }
    prose::value(markup, "The report as recorded", &report.evidence);
}

fn row(markup: &mut Markup, outcome: &CheckOutcome) {
    let (class, word) = match outcome.verdict {
        Judgement::Passed => (Class::Good, "passed"),
        Judgement::Failed => (Class::Bad, "failed"),
        Judgement::Unverifiable => (Class::Busy, "unverifiable"),
    };
    let (status, exit) = match outcome.ending {
        SuiteEnding::NotStarted => ("not started".to_owned(), None),
        SuiteEnding::Exited(exit) => ("exited".to_owned(), Some(exit)),
        SuiteEnding::Signalled(signal) => (format!("ended by signal {signal}"), None),
        SuiteEnding::DeadlineExceeded => ("took too long".to_owned(), None),
        SuiteEnding::Interrupted => ("interrupted".to_owned(), None),
        SuiteEnding::Unknown => ("unknown".to_owned(), None),
    };
    let exit = exit.map_or_else(|| "none".to_owned(), |exit| exit.to_string());
    markup.raw("<tr><td>").badge(class, word);
    markup.wrap("</td><td>", outcome.id.as_str(), "</td><td>");
    markup.text(&status);
    markup.wrap("</td><td>", &exit, "</td><td>");
    markup.text(&screen::duration(outcome.elapsed_ms));
    markup.wrap(
        "</td><td><code>",
        &outcome.stdout_digest.to_string(),
        "</code></td><td>",
    );
    markup.wrap("", &outcome.reason, "</td></tr>\n");
}

#[cfg(test)]
#[path = "checks_tests.rs"]
mod tests;
