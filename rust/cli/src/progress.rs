//! What a person sees while a run goes on: step, command, time, tokens. On a terminal one line is redrawn while something
//! is under way and finished things stay above it; elsewhere nothing is shown.

use coder_agent::Tokens;
use coder_digest::display_bytes;
use coder_host::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal as _;
use std::time::Duration;

/// The widest text of a line, in characters.
const WIDTH: usize = 96;

/// Whether progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Show {
    /// On a terminal.
    Terminal,
    /// Never: the caller wants one document.
    Nothing,
}

/// Draws a run.
pub(crate) struct Display {
    bar: Option<ProgressBar>,
    tokens: Tokens,
    step: u32,
}

impl Display {
    pub(crate) fn new(show: Show) -> Self {
        let bar = (show == Show::Terminal && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            let template = if plain {
                "{spinner} {elapsed} {msg}"
            } else {
                "{spinner:.cyan} {elapsed:.dim} {msg}"
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Self {
            bar,
            tokens: Tokens::UNKNOWN,
            step: 0,
        }
    }

    pub(crate) fn show(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Prepared { task, worktree } => self.keep(format!("task {task} in {}", worktree.display())),
            Progress::Admitted { enforcing } => self.keep(format!("admitted: {enforcing}")),
            Progress::Asking { step } => {
                self.step = *step;
                self.set(format!("step {step}: asking the model{}", counted(self.tokens)));
            }
            Progress::Switched { provider, model } => {
                self.keep(format!("step {}: goes on with {model} of {provider}", self.step));
            }
            Progress::Answered {
                step,
                rationale,
                reply,
                tokens,
            } => {
                self.tokens = self.tokens.plus(*tokens);
                let said = if reply.is_empty() { rationale } else { reply };
                self.keep(format!("step {step}: {}", line(said)));
            }
            Progress::Command { script } => self.set(format!("step {}: $ {}", self.step, line(script))),
            Progress::Output { bytes, .. } => {
                let last = bytes.rsplit(|byte| *byte == b'\n').find(|line| !line.is_empty());
                if let (Some(bar), Some(last)) = (&self.bar, last) {
                    bar.set_message(format!("step {}: {}", self.step, line(&display_bytes(last))));
                }
            }
            Progress::CommandEnded { end, seconds } => self.keep(format!("  {end} after {seconds:.1} s")),
            Progress::Ended { summary } => self.keep(format!("ended: {}{}", line(summary), counted(self.tokens))),
        }
    }

    fn keep(&self, text: String) {
        if let Some(bar) = &self.bar {
            bar.println(text);
        }
    }

    fn set(&self, text: String) {
        if let Some(bar) = &self.bar {
            bar.set_message(text);
        }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn counted(tokens: Tokens) -> String {
    match (tokens.input, tokens.output) {
        (Some(input), Some(output)) => format!(" ({input} tokens in, {output} out)"),
        (None, _) | (_, None) => String::new(),
    }
}

/// One line of a text, safe for a terminal, cut to the width.
fn line(text: &str) -> String {
    let first = display_bytes(
        text.lines()
            .find(|line| !line.trim().is_empty())
            .unwrap_or_default()
            .as_bytes(),
    );
    let cut: String = first.chars().take(WIDTH).collect();
    if cut.len() < first.len() || text.lines().count() > 1 {
        format!("{cut} …")
    } else {
        cut
    }
}
