//! The page around its parts: head, style, script, order. The policy in the head lets the page load nothing at all; its
//! own style and script are named by digest, so that nothing that slipped in could run either.

use super::markup::Markup;
use super::{Gathered, boundary, changes, evidence, header, story};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use coder_digest::Digest;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

pub(super) fn page(markup: &mut Markup, gathered: &Gathered) {
    markup.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    markup.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-");
    markup
        .text(&in_base64(STYLE))
        .raw("'; script-src 'sha256-")
        .text(&in_base64(SCRIPT));
    markup.raw("'; base-uri 'none'; form-action 'none'\">\n");
    markup.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    markup
        .raw("<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n");
    markup.wrap("<title>", &gathered.task.intent.title, " · Microcoder</title>\n<style>");
    markup.raw(STYLE).raw("</style>\n</head>\n<body>\n");
    markup.raw("<a class=\"skip\" href=\"#timeline\">Skip to the timeline</a>\n");
    header::header(markup, gathered);
    navigation(markup, gathered);
    markup.raw("<main>\n");
    changes::changes(markup, gathered);
    story::story(markup, gathered);
    boundary::boundary(markup, gathered);
    evidence::evidence(markup, gathered);
    markup.raw("</main>\n<footer>Made by <code>coder task view --html</code> from the kept evidence. ");
    markup.raw("The page loads nothing and proves nothing: <code>coder task verify</code> does.</footer>\n<script>");
    markup.raw(SCRIPT).raw("</script>\n</body>\n</html>\n");
}

fn in_base64(source: &str) -> String {
    STANDARD.encode(Digest::of(source.as_bytes()).as_bytes())
}

fn navigation(markup: &mut Markup, gathered: &Gathered) {
    let totals = &gathered.timeline.totals;
    markup.raw("<nav aria-label=\"Parts of this page\"><ul>\n<li><a href=\"#changes\">Changes</a></li>\n");
    markup.raw("<li><a href=\"#timeline\">Timeline</a></li>\n<li><a href=\"#boundary\">Boundary</a></li>\n");
    markup.raw("<li><a href=\"#evidence\">Evidence</a></li>\n</ul>\n");
    markup.raw("<div class=\"tools\" role=\"group\" aria-label=\"What the timeline shows\">");
    markup.raw("<button type=\"button\" data-show=\"all\" aria-pressed=\"true\">All</button>");
    markup.raw("<button type=\"button\" data-show=\"model\" aria-pressed=\"false\">Model <small>");
    markup.number(totals.calls).raw("</small></button>");
    markup.raw("<button type=\"button\" data-show=\"command\" aria-pressed=\"false\">Commands <small>");
    markup.number(totals.commands).raw("</small></button>");
    markup.raw("<button type=\"button\" data-show=\"failed\" aria-pressed=\"false\">Failed <small>");
    markup.number(totals.failed_commands).raw("</small></button>");
    markup.raw("<button type=\"button\" data-fold=\"open\">Unfold all</button>");
    markup.raw("<button type=\"button\" data-fold=\"shut\">Fold all</button></div></nav>\n");
}
