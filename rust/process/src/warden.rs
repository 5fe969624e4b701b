//! The warden, from its clone to the running program. What it does after that is in `watch`, and what the command's
//! process does until it becomes the program in `program`.
//!
//! Everything in the three runs after a clone of a program that may have other threads. So it makes plain system calls
//! only: no allocation, no lock, no library input or output, and nothing that can panic. Whatever it needs was made
//! ready in `prepared`.

use crate::prepared::Prepared;
use crate::program;
use crate::record::{Kind, Record, Stage};
use crate::watch::Watch;
use libc::{c_int, c_long, c_void};
use std::os::fd::RawFd;
use std::ptr;

/// The warden's exit statuses are never shown; its records say all.
const DONE: c_int = 0;
pub(crate) const FAILED: c_int = 1;

/// A failed step, kept in memory that the command's process shares.
#[derive(Clone, Copy)]
pub(crate) struct Broken {
    pub(crate) stage: Stage,
    pub(crate) act: u32,
    pub(crate) errno: c_int,
}

/// The warden's life. Never returns.
///
/// # Safety
/// Only for the child of a clone that copied the caller's memory, with every signal blocked.
pub(crate) unsafe fn live(prepared: &Prepared<'_>) -> ! {
    // SAFETY: the caller's promise holds for both; `_exit` ends this process without running anything of the host's.
    unsafe {
        let status = match start(prepared) {
            Ok(watch) => {
                watch.wait();
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
        libc::_exit(status)
    }
}

/// The kernel's reason for the failure just seen.
pub(crate) fn errno() -> c_int {
    // SAFETY: the location is this thread's own.
    unsafe { *libc::__errno_location() }
}

/// That reason as the failure of a stage.
pub(crate) fn broken(stage: Stage) -> Broken {
    Broken {
        stage,
        act: 0,
        errno: errno(),
    }
}

/// The kernel's -1 as the failure of a stage.
pub(crate) fn checked(result: c_long, stage: Stage) -> Result<c_long, Broken> {
    if result < 0 { Err(broken(stage)) } else { Ok(result) }
}

/// Tells the host.
pub(crate) fn send(socket: RawFd, record: &Record) {
    // SAFETY: the kernel reads one record that lives. A host that is gone needs none.
    unsafe {
        libc::send(
            socket,
            ptr::from_ref(record).cast(),
            size_of::<Record>(),
            libc::MSG_NOSIGNAL,
        )
    };
}

/// Closes every descriptor but those given, which ascend.
unsafe fn close_all_but(kept: &[RawFd], stage: Stage) -> Result<(), Broken> {
    let mut from = 0;
    for &descriptor in kept {
        let descriptor = descriptor.cast_unsigned();
        if descriptor > from {
            // SAFETY: takes no pointer; whatever owned those descriptors lives on in the host only.
            let result = unsafe { libc::syscall(libc::SYS_close_range, from, descriptor.wrapping_sub(1), 0) };
            checked(result, stage)?;
        }
        from = descriptor.wrapping_add(1);
    }
    // SAFETY: as above.
    let rest = unsafe { libc::syscall(libc::SYS_close_range, from, u32::MAX, 0) };
    checked(rest, stage)?;
    Ok(())
}

/// Default action for every signal. Those that cannot be set, and those of the thread library, fail and may.
unsafe fn default_signals() {
    // SAFETY: all zero is the default action; the kernel's own structure is no larger than the library's.
    unsafe {
        let action: libc::sigaction = std::mem::zeroed();
        for signal in 1..=64 {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                &raw const action,
                ptr::null_mut::<c_void>(),
                8usize,
            );
        }
    }
}

/// From the clone to the running program.
unsafe fn start<'a>(prepared: &'a Prepared<'a>) -> Result<Watch, Broken> {
    // SAFETY: plain system calls in a process of our own, with pointers into memory that lives as long as it does.
    unsafe {
        // First of all: a lock, a pipe end or another run's lifeline must not live on in this process.
        close_all_but(&prepared.kept, Stage::Descriptors)?;
        libc::prctl(libc::PR_SET_NAME, c"coder-warden".as_ptr());
        checked(libc::setsid().into(), Stage::Session)?;
        default_signals();
        let processes = if prepared.has_pid_namespace() {
            -1
        } else {
            // Opened here, since the confinement may leave no /proc; without it a left daemon cannot be found.
            libc::open(c"/proc".as_ptr(), libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC)
        };
        for (target, &descriptor) in (0..).zip(&prepared.standard) {
            let result = if descriptor == target {
                libc::fcntl(target, libc::F_SETFD, 0)
            } else {
                libc::dup2(descriptor, target)
            };
            checked(result.into(), Stage::Standard)?;
        }

        let entered = prepared.confinement.enter().map_err(|failure| Broken {
            stage: Stage::Enter,
            act: failure.act,
            errno: failure.errno,
        })?;

        // This process is a copy of the host's memory, keys included: nobody may look into it. Only after `enter`, since
        // the id maps of a process that is not dumpable belong to root.
        checked(libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0).into(), Stage::Guard)?;
        if !prepared.has_pid_namespace() {
            checked(
                libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0).into(),
                Stage::Guard,
            )?;
        }
        let mut ended: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&raw mut ended, libc::SIGCHLD);
        let signals = libc::signalfd(-1, &raw const ended, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        checked(signals.into(), Stage::Signals)?;
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);

        let (command, layers) = program::start(prepared)?;

        // The command has its copies. A pipe end held here would keep its reader or writer waiting.
        let mut kept = [prepared.socket, signals, processes, processes];
        kept.sort_unstable();
        close_all_but(
            kept.split_at(kept.partition_point(|&descriptor| descriptor < 0)).1,
            Stage::Descriptors,
        )?;
        let mut record = Record::new(Kind::Started);
        record.layers = entered | layers;
        record.process = command;
        send(prepared.socket, &record);
        Ok(Watch {
            socket: prepared.socket,
            signals,
            processes,
            command,
            namespace: prepared.has_pid_namespace() && libc::getpid() == 1,
            floor: usage.ru_maxrss.cast_unsigned(),
            sent: 0,
            alive: true,
            untold: None,
        })
    }
}
