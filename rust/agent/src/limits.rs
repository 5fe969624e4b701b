//! The bounds of one run. The repository profile, which is the default, bounds neither steps nor time nor spending: its
//! run ends when the model ends it, when it is stopped, or when one of the guards counted here fires.

use crate::error::Error;

/// The smallest number of steps the stuck guard may wait for.
pub const MINIMUM_STUCK_STEPS: u32 = 4;

/// The bounds of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// The most steps; `None` for no limit.
    pub max_steps: Option<u32>,
    /// The most seconds before the last step may begin; `None` for no limit.
    pub max_seconds: Option<f64>,
    /// How many replies in a row may be unusable before the run ends.
    pub bad_replies: u32,
    /// How many steps in a row may do nothing before the run ends.
    pub idle_steps: u32,
    /// How many steps in a row may go in circles before the run ends; at least [`MINIMUM_STUCK_STEPS`].
    pub stuck_steps: u32,
    /// The size, in bytes, past which the prompt restarts compacted.
    pub prompt_bytes: usize,
    /// How many of the last steps a restart keeps in full.
    pub full_steps: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_steps: None,
            max_seconds: None,
            bad_replies: 3,
            idle_steps: 3,
            stuck_steps: 8,
            prompt_bytes: 600_000,
            full_steps: 12,
        }
    }
}

impl Limits {
    /// Checks that no guard is switched off by its own number.
    ///
    /// # Errors
    /// [`Error::Limit`] naming the first number out of its range.
    pub fn check(&self) -> Result<(), Error> {
        let least = |field, value: u64, least: u64| {
            if value < least {
                Err(Error::Limit { field, value, least })
            } else {
                Ok(())
            }
        };
        least("bad_replies", self.bad_replies.into(), 1)?;
        least("idle_steps", self.idle_steps.into(), 1)?;
        least("stuck_steps", self.stuck_steps.into(), MINIMUM_STUCK_STEPS.into())?;
        least("prompt_bytes", self.prompt_bytes as u64, 10_000)?;
        least("full_steps", self.full_steps as u64, 1)
    }
}
