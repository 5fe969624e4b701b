//! A warden started before it is known what it will run: its namespaces, which take the kernel longer than all else, are
//! made while the host still works that out. For commands whose streams are the host's own.

use crate::launch::{self, Launched};
use crate::prepared::{self, HostEnds, Plan};
use crate::{Command, Confinement, Error};
use std::sync::Arc;
use std::time::Duration;

/// How long a warden that got nothing to run may take to be gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// The warden, and a command's process that is secluded but has no program yet. Dropped, both end, and are waited for.
pub struct Early {
    launched: Option<Launched>,
}

impl std::fmt::Debug for Early {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Early").finish_non_exhaustive()
    }
}

impl Early {
    /// Starts both in the namespaces of a confinement, of which [`seclude`](Confinement::seclude) is done, and
    /// [`enter`](Confinement::enter) as the part of the command's own that does not depend on what is granted.
    ///
    /// # Errors
    /// [`Error::Namespaces`] and whatever else keeps a process from being made. What fails in the children is told by the
    /// run.
    pub fn start(confinement: Arc<dyn Confinement>) -> Result<Self, Error> {
        Ok(Self {
            launched: Some(launch::launch_early(confinement)?),
        })
    }

    /// Gives it a command to run, if it can be this one's warden: it has other namespaces than the command is to have, or
    /// other streams, in which case it ends.
    pub(crate) fn take(mut self, command: &Command) -> Result<Option<(Launched, HostEnds)>, Error> {
        let plan = Plan::new(command)?;
        let fits = |launched: &Launched| {
            launched.namespaces() == command.confinement.namespaces()
                && command.confinement.kept_descriptors().is_empty()
                && prepared::inherits_all(command)
        };
        Ok(self.launched.take_if(|launched| fits(launched)).map(|launched| {
            launched.tell(plan);
            (launched, HostEnds::default())
        }))
    }
}

impl Drop for Early {
    fn drop(&mut self) {
        if let Some(launched) = self.launched.take() {
            launched.abandon(PATIENCE);
        }
    }
}
