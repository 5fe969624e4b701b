//! The candidate: which files changed, what of them is kept, and the kept patch with its lines told apart by sign and
//! colour.

use super::Gathered;
use super::markup::{Class, Markup};
use crate::auto_exec;
use crate::screen;
use coder_workspace::{Change, Manifest, State};

/// The most lines of the patch that are shown.
const LINES: usize = 20_000;
/// Files with more changed lines than this are folded.
const FOLDED: usize = 300;

pub(super) fn changes(markup: &mut Markup, gathered: &Gathered) {
    markup.raw("<section id=\"changes\"><h2>Changes</h2>\n");
    match &gathered.manifest {
        None if gathered.candidate_faults.is_empty() => {
            markup.raw("<p>No candidate is kept.</p>\n");
        }
        None => {
            markup.raw("<p>The candidate cannot be read: see above.</p>\n");
        }
        Some(manifest) => listed(markup, manifest),
    }
    if let Some(patch) = &gathered.patch {
        diff(markup, patch);
    }
    markup.raw("</section>\n");
}

fn listed(markup: &mut Markup, manifest: &Manifest) {
    if manifest.changes.is_empty() {
        markup.raw("<p>Nothing changed.</p>\n");
        return;
    }
    markup.raw("<ul class=\"files\">");
    for change in &manifest.changes {
        let runs = auto_exec::findings(std::slice::from_ref(change)).0;
        let (letter, words, path) = match change {
            Change::Created { path } => ("A", "created", path.to_string()),
            Change::Removed { path } => ("D", "removed", path.to_string()),
            Change::Modified { path, .. } => ("M", "modified", path.to_string()),
            Change::Retyped { path } => ("T", "of another kind now", path.to_string()),
            Change::Renamed { from, to, .. } => ("R", "renamed", format!("{from} → {to}")),
        };
        markup
            .raw("<li><abbr title=\"")
            .raw(words)
            .raw("\">")
            .raw(letter)
            .wrap("</abbr> <code>", &path, "</code>");
        for finding in runs {
            markup.wrap(" <em>executed by ", &finding.runs, "</em>");
        }
        markup.raw("</li>");
    }
    markup.raw("</ul>\n");
    if manifest.omitted_changes > 0 {
        let words = screen::counted(manifest.omitted_changes, "more change");
        markup.wrap("<p>", &words, " not listed.</p>\n");
    }
    let kept = manifest.entries.iter().filter(|entry| entry.state == State::Retained);
    let words = screen::counted(kept.count() as u64, "file");
    markup
        .raw("<p class=\"aside\">")
        .text(&words)
        .raw(" kept byte for byte. ");
    if !manifest.complete {
        markup.badge(Class::Busy, "not everything could be kept");
    }
    markup.raw("</p>\n");
}

/// A line of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    About,
    Place,
    Added,
    Removed,
    Same,
}

/// The lines of one file in a patch.
#[derive(Debug, Default, PartialEq)]
struct File {
    name: String,
    lines: Vec<(Kind, String)>,
    added: u64,
    removed: u64,
}

fn diff(markup: &mut Markup, patch: &[u8]) {
    let (files, missing) = files(patch);
    for file in &files {
        let open = file.added + file.removed <= FOLDED as u64;
        markup.raw(if open {
            "<details class=\"diff\" open>"
        } else {
            "<details class=\"diff\">"
        });
        markup.wrap("<summary><code>", &file.name, "</code> <span class=\"plus\">+");
        markup
            .number(file.added)
            .raw("</span> <span class=\"minus\">−")
            .number(file.removed);
        markup.raw("</span></summary><pre tabindex=\"0\">");
        // The name stands above, and the objects' names tell a person nothing.
        let told = ["diff --git ", "index ", "--- ", "+++ "];
        let lines = file.lines.iter();
        let lines =
            lines.filter(|(kind, line)| *kind != Kind::About || !told.iter().any(|told| line.starts_with(told)));
        for (kind, line) in lines {
            let (before, after) = match kind {
                Kind::About => ("<i>", "</i>\n"),
                Kind::Place => ("<b>", "</b>\n"),
                Kind::Added => ("<ins>", "\n</ins>"),
                Kind::Removed => ("<del>", "\n</del>"),
                Kind::Same => ("", "\n"),
            };
            markup.wrap(before, line, after);
        }
        markup.raw("</pre></details>\n");
    }
    if missing > 0 {
        let words = screen::counted(missing, "more line");
        markup.wrap(
            "<p class=\"gap\">",
            &words,
            " of the patch: <code>coder task artifact --patch</code> has all</p>\n",
        );
    }
}

/// The patch by files, and how many lines were too many.
fn files(patch: &[u8]) -> (Vec<File>, u64) {
    let lines = screen::lines(patch);
    let mut files: Vec<File> = Vec::new();
    // Lines of a hunk that are still to come, on either side: only they may begin with a sign.
    let mut left = (0, 0);
    for line in lines.iter().take(LINES) {
        let in_hunk = left != (0, 0);
        if !in_hunk && line.starts_with("diff --git ") {
            files.push(File {
                name: name(line),
                ..File::default()
            });
        }
        let Some(file) = files.last_mut() else { continue };
        let kind = match line.chars().next() {
            Some('+') if in_hunk => Kind::Added,
            Some('-') if in_hunk => Kind::Removed,
            Some('\\') => Kind::About,
            _ if in_hunk => Kind::Same,
            Some('@') => Kind::Place,
            _ => Kind::About,
        };
        match kind {
            Kind::Place => left = hunk(line),
            Kind::Added => {
                file.added += 1;
                left.1 = left.1.saturating_sub(1);
            }
            Kind::Removed => {
                file.removed += 1;
                left.0 = left.0.saturating_sub(1);
            }
            Kind::Same => left = (left.0.saturating_sub(1), left.1.saturating_sub(1)),
            Kind::About => {
                if let Some(to) = line.strip_prefix("+++ b/").or(line.strip_prefix("rename to ")) {
                    to.clone_into(&mut file.name);
                }
            }
        }
        file.lines.push((kind, line.clone()));
    }
    (files, lines.len().saturating_sub(LINES) as u64)
}

/// The file a patch begins to speak of; a better name may follow.
fn name(line: &str) -> String {
    let rest = line.strip_prefix("diff --git ").unwrap_or(line);
    rest.rsplit_once(" b/").map_or(rest, |(_, name)| name).to_owned()
}

/// How many lines of either side follow `@@ -a,b +c,d @@`.
fn hunk(line: &str) -> (u64, u64) {
    let mut ranges = line.split(' ').skip(1).map(|range| match range.split_once(',') {
        Some((_, count)) => count.parse().unwrap_or_default(),
        None => 1,
    });
    (ranges.next().unwrap_or_default(), ranges.next().unwrap_or_default())
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
