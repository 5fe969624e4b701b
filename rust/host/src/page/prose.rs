//! Blocks of other people's text: what somebody said, what a command printed. Long ones are folded with their beginning
//! and their end in sight.

use super::markup::Markup;
use crate::screen;
use crate::timeline::Output;
use serde_json::Value;

/// Up to so many lines a block is shown whole.
const WHOLE: usize = 16;
/// Of a longer one, so many lines of its beginning…
const HEAD: usize = 6;
/// …and of its end are shown beside the fold.
const TAIL: usize = 6;

/// Text that wraps.
pub(super) fn prose(markup: &mut Markup, text: &str) {
    let lines = screen::lines(text.as_bytes());
    if lines.iter().all(|line| line.is_empty()) {
        return;
    }
    folded(markup, "<div class=\"prose\">", "</div>", &lines);
}

/// The two ends of an output under its name.
pub(super) fn output(markup: &mut Markup, name: &'static str, output: &Output) {
    if output.is_empty() {
        return;
    }
    let (head, between, tail) = output.lines();
    markup
        .raw("<figure class=\"output\"><figcaption>")
        .raw(name)
        .raw(" <small>");
    markup.text(&screen::size(output.bytes())).raw("</small></figcaption>");
    folded(markup, "<pre tabindex=\"0\">", "</pre>", &head);
    if between > 0 {
        let words = format!("{} left out here", screen::size(between));
        markup.wrap("<p class=\"gap\">", &words, "; the trace has what was kept</p>");
        folded(markup, "<pre tabindex=\"0\">", "</pre>", &tail);
    }
    markup.raw("</figure>");
}

/// A value as it stands in the trace, folded.
pub(super) fn value(markup: &mut Markup, summary: &str, value: &Value) {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    markup.wrap("<details><summary>", summary, "</summary><pre tabindex=\"0\">");
    markup.lines(&screen::lines(text.as_bytes())).raw("</pre></details>");
}

fn folded(markup: &mut Markup, before: &'static str, after: &'static str, lines: &[String]) {
    if lines.len() <= WHOLE {
        markup.raw(before).lines(lines).raw(after);
        return;
    }
    let (head, rest) = lines.split_at(HEAD);
    let (middle, tail) = rest.split_at(rest.len().saturating_sub(TAIL));
    markup.raw(before).lines(head).raw(after);
    let words = screen::counted(middle.len() as u64, "more line");
    markup.wrap("<details class=\"fold\"><summary>", &words, "</summary>");
    markup.raw(before).lines(middle).raw(after).raw("</details>");
    markup.raw(before).lines(tail).raw(after);
}
