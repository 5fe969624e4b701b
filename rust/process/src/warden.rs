//! The warden, from its clone to the running program. What it does after that is in `watch`, and what the command's
//! process does until it becomes the program in `program`.
//!
//! Everything in the three runs in the host's own memory, beside the host's threads, which hold its locks and go on: a
//! copy of the host's page tables would cost a large host more than all namespaces together. So the three make plain
//! system calls only, through `calls`: no allocation, no lock, no library function, nothing of the thread's own
//! storage, and nothing that can panic. They write to their own stacks alone. Whatever they need was made ready in
//! `prepared`, and lives until the host has reaped the warden.

use crate::calls;
use crate::prepared::Prepared;
use crate::program;
use crate::raw::Called;
use crate::record::{Kind, Record, Stage};
use crate::watch::Watch;
use libc::{c_int, c_void};
use std::os::fd::RawFd;

/// The warden's exit statuses are never shown; its records say all.
const DONE: c_int = 0;
pub(crate) const FAILED: c_int = 1;

/// A failed step.
#[derive(Clone, Copy)]
pub(crate) struct Broken {
    pub(crate) stage: Stage,
    pub(crate) act: u32,
    pub(crate) errno: c_int,
}

/// Makes the kernel's reason the failure of a stage.
pub(crate) fn at(stage: Stage) -> impl Fn(c_int) -> Broken {
    move |errno| Broken { stage, act: 0, errno }
}

/// The warden's life.
///
/// # Safety
/// Only as the entry of a clone with a stack of its own, every signal blocked, and a `Prepared` that outlives it.
pub(crate) unsafe extern "C" fn live(prepared: *mut c_void) -> ! {
    // SAFETY: the host passes its `Prepared`, which it only reads from now on and keeps until this process is reaped.
    let prepared = unsafe { &*prepared.cast::<Prepared>() };
    // SAFETY: this is the warden, with one thread and every signal blocked.
    let status = match unsafe { start(prepared) } {
        Ok(watch) => {
            // SAFETY: as above.
            unsafe { watch.wait() };
            DONE
        }
        Err(broken) => {
            let mut record = Record::new(Kind::Failed);
            record.stage = broken.stage as u32;
            record.act = broken.act;
            record.errno = broken.errno;
            send(prepared.socket, &record);
            FAILED
        }
    };
    calls::exit(status)
}

/// Tells the host. One that is gone needs nothing.
pub(crate) fn send(socket: RawFd, record: &Record) {
    let _host_is_gone = calls::send(socket, record.bytes());
}

/// Closes every descriptor but those given, which ascend.
fn close_all_but(kept: &[RawFd]) -> Called<()> {
    let mut from = 0;
    for &descriptor in kept {
        let descriptor = descriptor.cast_unsigned();
        if descriptor > from {
            calls::close_range(from, descriptor.wrapping_sub(1))?;
        }
        from = descriptor.wrapping_add(1);
    }
    calls::close_range(from, u32::MAX)
}

/// From the clone to the running program.
///
/// # Safety
/// Only in the warden.
unsafe fn start(prepared: &Prepared) -> Result<Watch, Broken> {
    // First of all: a lock, a pipe end or another run's lifeline must not live on in this process.
    close_all_but(&prepared.kept).map_err(at(Stage::Descriptors))?;
    calls::set_name(c"coder-warden");
    calls::new_session().map_err(at(Stage::Session))?;
    calls::default_signals();
    let processes = if prepared.has_pid_namespace() {
        -1
    } else {
        // Opened here, since the confinement may leave no /proc; without it a left daemon cannot be found.
        let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
        calls::open(libc::AT_FDCWD, c"/proc", flags).unwrap_or(-1)
    };
    for (target, &descriptor) in (0..).zip(&prepared.standard) {
        calls::hand_over(descriptor, target).map_err(at(Stage::Standard))?;
    }
    if !prepared.has_pid_namespace() {
        calls::control(libc::PR_SET_CHILD_SUBREAPER, 1).map_err(at(Stage::Guard))?;
    }
    let signals = calls::signal_descriptor(libc::SIGCHLD).map_err(at(Stage::Signals))?;

    // SAFETY: this is the warden, with one thread.
    let (command, layers) = unsafe { program::start(prepared) }?;

    // The command has its copies. A pipe end held here would keep its reader or writer waiting.
    let mut kept = [prepared.socket, signals, processes, processes];
    kept.sort_unstable();
    close_all_but(kept.split_at(kept.partition_point(|&descriptor| descriptor < 0)).1)
        .map_err(at(Stage::Descriptors))?;
    let mut record = Record::new(Kind::Started);
    record.layers = layers;
    record.process = command;
    send(prepared.socket, &record);
    Ok(Watch {
        socket: prepared.socket,
        signals,
        processes,
        command,
        namespace: prepared.has_pid_namespace() && calls::own_number() == 1,
        // Only now: the host's memory, whose peak the command began with, may have grown meanwhile.
        floor: calls::peak_kibibytes(),
        sent: 0,
        alive: true,
        untold: None,
    })
}
