//! Turns a [`Cancel`] on when this process is interrupted or told to end. For programs, once, near their start: signal
//! dispositions are the whole process's, so a library inside another program must not touch them.

use crate::{Cancel, Error, Reason};
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

static SWITCH: OnceLock<(Cancel, Reason)> = OnceLock::new();
/// How many signals were taken.
static TAKEN: AtomicU32 = AtomicU32::new(0);

impl Cancel {
    /// A switch that `SIGINT`, `SIGTERM` and `SIGHUP` turn on with `reason`. The second of them makes it urgent; the third
    /// ends this process as if nothing watched, which is how a person gets out of a run that will not end, and the end of
    /// this process ends every command's tree. Called again, it gives the same switch.
    ///
    /// # Errors
    /// [`Error::Start`] if the process has no descriptor left or a handler cannot be set.
    pub fn on_signals(reason: Reason) -> Result<Self, Error> {
        if let Some((cancel, _)) = SWITCH.get() {
            return Ok(cancel.clone());
        }
        let cancel = Self::new()?;
        let (kept, _) = SWITCH.get_or_init(|| (cancel, reason));
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            watch(signal).map_err(Error::start("watch a signal"))?;
        }
        Ok(kept.clone())
    }
}

fn watch(signal: libc::c_int) -> io::Result<()> {
    // SAFETY: an all-zero `sigaction` is a valid value of that plain C struct.
    let mut old: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: `old` is a live local the call writes to; no new action is given.
    if unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut old) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if old.sa_sigaction == libc::SIG_IGN {
        // Whoever started this program wants it left alone, as `nohup` does with SIGHUP.
        return Ok(());
    }
    // SAFETY: as above.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = taken as extern "C" fn(libc::c_int) as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: `action` is a live local with an empty mask; the handler does only async-signal-safe work.
    if unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

extern "C" fn taken(signal: libc::c_int) {
    // Reading an initialised `OnceLock` is one atomic load, and `cancel` and `hurry` are made for signal handlers.
    let Some((cancel, reason)) = SWITCH.get() else { return };
    match TAKEN.fetch_add(1, Ordering::SeqCst) {
        0 => cancel.cancel(*reason),
        1 => cancel.hurry(*reason),
        _ => {
            // SAFETY: both calls are async-signal-safe; the signal is blocked here and acts when this handler returns.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
    }
}
