//! One exact grant, of either kind: carried out in the foreground with its progress shown, or in a session of its own.

use crate::commands::repository::read;
use crate::output::{self, Failure};
use crate::progress::{Display, Show};
use crate::surroundings;
use coder_host::{Carrying, DetachedStart, Error, GrantRun, Progress, run_bounded, run_repository, start_detached};
use std::path::{Path, PathBuf};

/// A grant and its store, as they were named.
pub(crate) struct Granted {
    pub(crate) carrying: Carrying,
    pub(crate) grant: Vec<u8>,
    pub(crate) store: PathBuf,
    /// The status of a refusal.
    pub(crate) refused: u8,
}

impl Granted {
    pub(crate) fn read(carrying: Carrying, grant: &Path, store: Option<&Path>, refused: u8) -> Result<Self, Failure> {
        Ok(Self {
            carrying,
            grant: read(grant, "read_grant", refused)?,
            store: surroundings::store(store, refused)?,
            refused,
        })
    }

    /// Carries it out and prints the task.
    pub(crate) fn foreground(&self, failure: impl Fn(&Error) -> Failure) -> Result<u8, Failure> {
        let controller = surroundings::controller()?;
        let mut display = Display::new(Show::Terminal);
        let mut watcher = |progress: &Progress<'_>| display.show(progress);
        let run = GrantRun {
            grant: &self.grant,
            store: &self.store,
            clock: surroundings::clock(),
            cancel: surroundings::cancel_on_signals()?,
            environment: &surroundings::environment,
            controller: &controller,
        };
        let task = match self.carrying {
            Carrying::Repository => run_repository(run, &mut watcher),
            Carrying::BoundedCommand => run_bounded(run, &mut watcher),
        };
        let task = task.map_err(|error| failure(&error))?;
        drop(display);
        output::json(&task)?;
        Ok(0)
    }

    /// Starts it and prints what is known of the start. `name` and `words` make this program carry it out.
    pub(crate) fn detached(&self, name: &str, words: &[&str]) -> Result<u8, Failure> {
        let start = DetachedStart {
            grant: &self.grant,
            store: &self.store,
            carrying: self.carrying,
            name: name.into(),
            words: words.iter().map(Into::into).collect(),
            clock: surroundings::clock(),
            environment: &surroundings::environment,
        };
        output::json(&start_detached(&start).map_err(|error| Failure::of(&error, self.refused))?)?;
        Ok(0)
    }
}
