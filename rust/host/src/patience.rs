//! How long a run waits for disk space before it gives up: somebody may free some, and a long run need not be lost to another
//! program's passing use of the disk (facts 9.4). A stop ends the waiting at once. Decides nothing about what is written.

use crate::Error;
use crate::confine::Environment;
use coder_process::Cancel;
use std::time::Duration;

/// The variable that says for how many seconds to wait.
pub(crate) const VARIABLE: &str = "MICROCODER_DISK_WAIT_SECONDS";
const DEFAULT: Duration = Duration::from_secs(600);
/// The most that can be asked for.
const MOST: u64 = 86_400;
/// Between two tries.
const PAUSE: Duration = Duration::from_secs(2);
/// Between two looks at whether to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Waits between tries, for so long in all as was asked.
#[derive(Debug, Clone)]
pub(crate) struct Patience {
    most: Duration,
    cancel: Cancel,
}

impl Patience {
    /// What the host's environment asks for: ten minutes where it asks for nothing.
    ///
    /// # Errors
    /// [`Error::Variable`] when the variable is no number of seconds up to a day.
    pub(crate) fn of(environment: &Environment<'_>, cancel: Cancel) -> Result<Self, Error> {
        let most = match environment(VARIABLE) {
            None => DEFAULT,
            Some(text) => text
                .to_str()
                .and_then(|text| text.parse().ok())
                .filter(|seconds| *seconds <= MOST)
                .map(Duration::from_secs)
                .ok_or(Error::Variable {
                    name: VARIABLE,
                    rule: "a whole number of seconds, at most 86400",
                })?,
        };
        Ok(Self { most, cancel })
    }

    /// Waits for the next try. False when it was waited for long enough, or the run is to stop.
    pub(crate) fn wait(&self, waited: &mut Duration) -> bool {
        let until = self.most.min(*waited + PAUSE);
        if *waited >= until {
            return false;
        }
        while *waited < until {
            if self.cancel.is_cancelled() {
                return false;
            }
            let slice = LOOK.min(until - *waited);
            std::thread::sleep(slice);
            *waited += slice;
        }
        !self.cancel.is_cancelled()
    }
}

/// For tests, so long.
#[cfg(test)]
pub(crate) fn of(most: Duration) -> Patience {
    Patience {
        most,
        cancel: Cancel::never(),
    }
}

#[cfg(test)]
#[path = "patience_tests.rs"]
mod tests;
