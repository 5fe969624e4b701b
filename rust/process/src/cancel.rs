//! A request to stop that any thread or signal handler can make and every run that was given it sees at once.
//! It carries a reason and never goes back; it stops nothing by itself. A second request makes it urgent: whoever watches it
//! then leaves out what only makes the end gentler.

use crate::{Error, system};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Why a run was to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Someone with the right to do so asked for it.
    Requested,
    /// The host received an interrupt or termination signal.
    Interrupted,
    /// The host is closing down.
    HostClosing,
    /// Another run took its place.
    Superseded,
}

impl Reason {
    const ALL: [Self; 4] = [Self::Requested, Self::Interrupted, Self::HostClosing, Self::Superseded];

    const fn number(self) -> u32 {
        match self {
            Self::Requested => 1,
            Self::Interrupted => 2,
            Self::HostClosing => 3,
            Self::Superseded => 4,
        }
    }
}

/// A switch shared by its clones. Cancelling wakes every run that watches it; the first reason stays.
#[derive(Debug, Clone)]
pub struct Cancel {
    state: Option<Arc<State>>,
}

#[derive(Debug)]
struct State {
    reason: AtomicU32,
    event: OwnedFd,
    urgent: AtomicBool,
    urgency: OwnedFd,
}

impl Cancel {
    /// A switch that is off.
    ///
    /// # Errors
    /// [`Error::Start`] if the process has no descriptor left.
    pub fn new() -> Result<Self, Error> {
        let event = || system::event().map_err(Error::start("create an event descriptor"));
        Ok(Self {
            state: Some(Arc::new(State {
                reason: AtomicU32::new(0),
                event: event()?,
                urgent: AtomicBool::new(false),
                urgency: event()?,
            })),
        })
    }

    /// A switch that nobody can turn on, for runs that only a deadline ends.
    #[must_use]
    pub const fn never() -> Self {
        Self { state: None }
    }

    /// Turns the switch on. Async-signal-safe. Later calls change nothing; on [`Cancel::never`] none does.
    pub fn cancel(&self, reason: Reason) {
        if let Some(state) = &self.state {
            let _first = state
                .reason
                .compare_exchange(0, reason.number(), Ordering::SeqCst, Ordering::SeqCst);
            // The counter is never read, so the descriptor stays readable for every watcher.
            system::signal_event(state.event.as_raw_fd());
        }
    }

    /// Turns the switch on if it is off, and makes it urgent: a command that was asked to end is killed without its grace.
    /// Async-signal-safe.
    pub fn hurry(&self, reason: Reason) {
        self.cancel(reason);
        if let Some(state) = &self.state {
            state.urgent.store(true, Ordering::SeqCst);
            system::signal_event(state.urgency.as_raw_fd());
        }
    }

    /// Whether the end is urgent.
    #[must_use]
    pub fn is_urgent(&self) -> bool {
        self.state
            .as_ref()
            .is_some_and(|state| state.urgent.load(Ordering::SeqCst))
    }

    /// Whether the switch is on.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.reason().is_some()
    }

    /// The first reason given, if the switch is on.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        let number = self.state.as_ref()?.reason.load(Ordering::SeqCst);
        Reason::ALL.into_iter().find(|reason| reason.number() == number)
    }

    /// A descriptor that becomes readable, and stays so, once the switch is on. `None` for [`Cancel::never`].
    #[must_use]
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.state.as_ref().map(|state| state.event.as_fd())
    }

    /// A descriptor that becomes readable, and stays so, once the end is urgent. `None` for [`Cancel::never`].
    #[must_use]
    pub fn urgency(&self) -> Option<BorrowedFd<'_>> {
        self.state.as_ref().map(|state| state.urgency.as_fd())
    }
}
