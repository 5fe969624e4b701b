//! A run notices a request to stop wherever it comes from: a signal or a caller turns the switch on, a `cancel` or `correct`
//! command changes the journal, which is looked at here. Looking costs microseconds while nobody writes to the store, so it
//! can be frequent; nothing is replayed.

use coder_journal::Owner;
use coder_process::{Cancel, Reason};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often the journal is looked at.
const POLL: Duration = Duration::from_millis(25);
/// How long a run may still observe what it left once it was told to stop.
const LAST_LOOK: Duration = Duration::from_secs(30);

/// Carries out `act` while the journal is watched for a request to stop, which turns `cancel` on.
pub(crate) fn watched<T>(owner: &Owner, cancel: &Cancel, act: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(owner, cancel, &over));
        // Dropped by a panic too: the scope waits for the watcher before it passes one on.
        let _end = End {
            over: &over,
            watcher: watcher.thread(),
        };
        act()
    })
}

struct End<'a> {
    over: &'a AtomicBool,
    watcher: &'a std::thread::Thread,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        self.watcher.unpark();
    }
}

fn watch(owner: &Owner, cancel: &Cancel, over: &AtomicBool) {
    while !over.load(Ordering::Acquire) {
        match owner.cancellation_requested() {
            Ok(true) => {
                cancel.cancel(Reason::Requested);
                return;
            }
            // A store that cannot be asked now is asked again; the run's own records will meet the same trouble.
            Ok(false) | Err(_) => std::thread::park_timeout(POLL),
        }
    }
}

/// How long the last observation of a run may go on. A stop leaves it time to keep what was done, which is why the person
/// who stopped the run can still see it; not for ever, and not at all when the stop is urgent.
pub(crate) struct LastLook<'a> {
    cancel: &'a Cancel,
    told: OnceLock<Instant>,
}

impl<'a> LastLook<'a> {
    pub(crate) fn new(cancel: &'a Cancel) -> Self {
        Self {
            cancel,
            told: OnceLock::new(),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.cancel.is_urgent()
            || (self.cancel.is_cancelled() && self.told.get_or_init(Instant::now).elapsed() >= LAST_LOOK)
    }
}
