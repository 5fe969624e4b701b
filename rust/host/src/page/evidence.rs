//! What the page rests on: the trace with its digest, the independent checks, and every comparison that was made.

use super::markup::{Class, Markup};
use super::{Gathered, checks};
use crate::screen;
use crate::verify::Finding;
use crate::view::evidence_words;

pub(super) fn evidence(markup: &mut Markup, gathered: &Gathered) {
    let evidence = &gathered.evidence;
    markup.raw("<section id=\"evidence\"><h2>Evidence</h2>\n<dl class=\"facts\">");
    markup.wrap(
        "<div><dt>Trace</dt><dd>",
        evidence_words(evidence.state).0,
        "</dd></div>",
    );
    if let Some(file) = &evidence.trace_file {
        markup.wrap("<div><dt>File</dt><dd><code>", file, "</code></dd></div>");
    }
    if let Some(digest) = &evidence.digest {
        markup.wrap(
            "<div><dt>Digest</dt><dd><code>",
            &digest.to_string(),
            "</code></dd></div>",
        );
    }
    markup.wrap("<div><dt>Steps</dt><dd>", &screen::count(evidence.steps), "</dd></div>");
    if let Some(run) = gathered.run() {
        let digest = run.admission.grant_digest.to_string();
        markup.wrap("<div><dt>Grant</dt><dd><code>", &digest, "</code></dd></div>");
        if let Some(commit) = &run.admission.source_revision {
            markup.wrap("<div><dt>Commit</dt><dd><code>", commit, "</code></dd></div>");
        }
    }
    markup.raw("</dl>\n");
    checks::checks(markup, gathered);
    comparisons(markup, gathered);
    markup.raw("</section>\n");
}

fn comparisons(markup: &mut Markup, gathered: &Gathered) {
    let Ok(verification) = &gathered.verification else {
        return;
    };
    markup.raw("<h3>Comparisons</h3>\n<div class=\"wide\"><table><thead><tr><th scope=\"col\">Finding</th>");
    markup
        .raw("<th scope=\"col\">What</th><th scope=\"col\">Turn</th><th scope=\"col\">More</th></tr></thead><tbody>\n");
    for check in &verification.checks {
        let (class, word) = match check.finding {
            Finding::Holds => (Class::Good, "holds"),
            Finding::Absent => (Class::Plain, "absent"),
            Finding::Fails => (Class::Bad, "FAILS"),
        };
        markup.raw("<tr><td>").badge(class, word).raw("</td><td>");
        markup.text(&check.name.replace('_', " ")).raw("</td><td>");
        if let Some(turn) = check.turn {
            markup.number(turn as u64);
        }
        markup.wrap("</td><td>", check.detail.as_deref().unwrap_or_default(), "</td></tr>\n");
    }
    markup.raw("</tbody></table></div>\n");
}
