//! What a run tells whoever watches it, as it happens. For a person's eye only: the record is the trace.

use crate::configuration::Provider;
use coder_agent::{RanEnd, Tokens};
use coder_digest::TaskId;
use coder_process::Stream;
use std::path::PathBuf;

/// One thing a watcher may want to show.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress<'a> {
    /// The workspace of a run was made.
    Prepared {
        /// The task.
        task: &'a TaskId,
        /// The linked worktree.
        worktree: &'a PathBuf,
    },
    /// The run was admitted; the text is the boundary's own short form of what it enforces.
    Admitted {
        /// What is planned to be enforced.
        enforcing: &'a str,
    },
    /// The model is asked.
    Asking {
        /// The step, from 1.
        step: u32,
    },
    /// Another route is asked from here on.
    Switched {
        /// Who generates now.
        provider: Provider,
        /// With which model.
        model: &'a str,
    },
    /// The model answered.
    Answered {
        /// The step.
        step: u32,
        /// Its private note on the action.
        rationale: &'a str,
        /// What it says to the user; may be empty.
        reply: &'a str,
        /// The tokens of this answer.
        tokens: Tokens,
    },
    /// A command starts.
    Command {
        /// The script.
        script: &'a str,
    },
    /// Output of the running command.
    Output {
        /// Which stream.
        stream: Stream,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// The command ended.
    CommandEnded {
        /// How.
        end: RanEnd,
        /// After how many seconds.
        seconds: f64,
    },
    /// The loop ended.
    Ended {
        /// The ending in words.
        summary: &'a str,
    },
}

/// Watches a run. Must not block for long: the run waits.
pub type Watcher<'a> = dyn FnMut(&Progress<'_>) + 'a;

/// The one watcher of a run, shared by everything that has something to tell.
#[derive(Clone)]
pub(crate) struct Watch<'a>(std::rc::Rc<std::cell::RefCell<&'a mut Watcher<'a>>>);

impl<'a> Watch<'a> {
    pub(crate) fn new(watcher: &'a mut Watcher<'a>) -> Self {
        Self(std::rc::Rc::new(std::cell::RefCell::new(watcher)))
    }

    pub(crate) fn tell(&self, progress: &Progress<'_>) {
        (self.0.borrow_mut())(progress);
    }
}
