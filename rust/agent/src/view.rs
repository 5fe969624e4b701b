//! The files in view: chosen by the model, read again after every step that could have changed them, shown in full when
//! new or changed and otherwise only named. Reading is the host's; bounding what is shown is done here.

use crate::environment::{Env, HostFault, Viewed};
use crate::projection::{first, push_fenced, push_lossy};
use std::fmt::Write as _;

/// The most files in view.
pub const VIEW_FILES: usize = 12;
/// The most characters shown of one file.
pub const VIEW_FILE_CHARACTERS: usize = 40_000;
/// The most characters shown of all files together.
pub const VIEW_TOTAL_CHARACTERS: usize = 120_000;

/// The longest path asked of the host, in bytes.
const PATH_BYTES: usize = 4_096;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    Text { text: String, cut: Cut },
    NotText { bytes: u64 },
    Absent,
    Refused(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Whole,
    Shortened,
}

#[derive(Debug)]
struct File {
    path: String,
    content: Content,
    /// The step before which this very content was last shown in the present log.
    shown: Option<u32>,
}

/// How much of the view a prompt repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Show {
    /// Only what the log does not already hold.
    Changes,
    /// Everything, as at the beginning of a log.
    Everything,
}

/// What a change of the view came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// How many files were not in view before.
    pub(crate) new: usize,
    /// What the model has to be told, if not everything it asked for is in view.
    pub(crate) note: Option<String>,
}

/// The files in view.
#[derive(Debug, Default)]
pub(crate) struct View {
    files: Vec<File>,
}

impl View {
    /// Puts `paths` in view in place of the present files; those that stay keep what is known of them.
    pub(crate) fn choose(&mut self, paths: &[String]) -> Chosen {
        let mut wanted: Vec<&str> = Vec::new();
        let mut impossible = 0;
        for path in paths {
            let path = path.trim();
            if path.is_empty() || path.len() > PATH_BYTES || path.contains('\0') {
                impossible += 1;
            } else if !wanted.contains(&path) {
                wanted.push(path);
            }
        }
        let left_out = wanted.len().saturating_sub(VIEW_FILES);
        wanted.truncate(VIEW_FILES);
        let mut note = String::new();
        if left_out > 0 {
            let _ = write!(
                note,
                "At most {VIEW_FILES} files are in view; the last {left_out} you named are not."
            );
        }
        if impossible > 0 {
            let separator = if note.is_empty() { "" } else { " " };
            let _ = write!(note, "{separator}{impossible} of the names in `view` cannot be a path.");
        }
        let mut before = std::mem::take(&mut self.files);
        let mut new = 0;
        for path in wanted {
            let known = before
                .iter()
                .position(|file| file.path == path)
                .map(|index| before.swap_remove(index));
            self.files.push(known.unwrap_or_else(|| {
                new += 1;
                File {
                    path: path.to_owned(),
                    content: Content::Absent,
                    shown: None,
                }
            }));
        }
        Chosen {
            new,
            note: Some(note).filter(|note| !note.is_empty()),
        }
    }

    /// Reads every file in view again.
    ///
    /// # Errors
    /// The host's fault, at the first read that failed after its dispatch.
    pub(crate) fn read(&mut self, environment: &mut dyn Env) -> Result<(), HostFault> {
        let mut budget = VIEW_TOTAL_CHARACTERS;
        for file in &mut self.files {
            let content = match environment.view(&file.path) {
                Viewed::File { bytes, total_bytes } => text_of(&bytes, total_bytes, &mut budget),
                Viewed::Absent => Content::Absent,
                Viewed::Refused(reason) => Content::Refused(reason),
                Viewed::Fault(fault) => return Err(fault),
            };
            if content != file.content {
                file.content = content;
                file.shown = None;
            }
        }
        Ok(())
    }

    /// The names in view.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.files.iter().map(|file| file.path.clone()).collect()
    }

    /// Appends the view as the state before `step` shows it, and remembers what was shown.
    pub(crate) fn show(&mut self, text: &mut String, step: u32, show: Show) {
        if self.files.is_empty() {
            text.push_str("Files in view: none.\n");
            return;
        }
        text.push_str("Files in view:\n");
        for file in &mut self.files {
            if let (Show::Changes, Some(shown)) = (show, file.shown) {
                let _ = writeln!(text, "\n`{}`: unchanged, as shown before step {shown}.", file.path);
                continue;
            }
            file.shown = Some(step);
            let _ = write!(text, "\n`{}`", file.path);
            match &file.content {
                Content::Text {
                    text: content,
                    cut: Cut::Whole,
                } if content.is_empty() => text.push_str(": empty.\n"),
                Content::Text { text: content, cut } => {
                    text.push_str(":\n");
                    push_fenced(text, "", content);
                    match cut {
                        Cut::Whole => {}
                        Cut::Shortened => text.push_str("The file goes on; read the rest with a command.\n"),
                    }
                }
                Content::NotText { bytes } => {
                    let _ = writeln!(text, ": not text, {bytes} bytes.");
                }
                Content::Absent => text.push_str(": no such file.\n"),
                Content::Refused(reason) => {
                    let _ = writeln!(text, ": not readable: {}.", reason.trim_end_matches('.'));
                }
            }
        }
    }
}

fn text_of(bytes: &[u8], total_bytes: Option<u64>, budget: &mut usize) -> Content {
    let total = total_bytes.unwrap_or(bytes.len() as u64);
    if bytes.contains(&0) {
        return Content::NotText { bytes: total };
    }
    let mut text = String::with_capacity(bytes.len());
    push_lossy(&mut text, bytes);
    let kept = first(&text, VIEW_FILE_CHARACTERS.min(*budget)).len();
    let cut = match kept < text.len() || total > bytes.len() as u64 {
        true => Cut::Shortened,
        false => Cut::Whole,
    };
    text.truncate(kept);
    *budget = budget.saturating_sub(text.chars().count());
    Content::Text { text, cut }
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
