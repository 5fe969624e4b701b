//! The command's process, from its clone to the moment it becomes the program. Under the same rules as `warden`.
//!
//! It shares the warden's memory and suspends it until the program runs, as `vfork` does: a second copy of the host's
//! page tables would cost as much as the first, and what failed can be left in plain memory.

use crate::prepared::Prepared;
use crate::record::{FILE_EXISTS, Kind, Record, Stage};
use crate::warden::{Broken, FAILED, broken, checked, errno, send};
use libc::{c_int, c_void, pid_t};
use std::ffi::CStr;
use std::ptr;

/// Bytes of stack until then.
const STACK: usize = 256 << 10;
/// How often a program that is open for writing is tried again, 2 ms apart.
const BUSY_TRIES: u32 = 50;

/// What the command's process leaves for the warden.
struct Shared<'a> {
    prepared: &'a Prepared<'a>,
    broken: Option<Broken>,
    layers: u64,
}

/// Starts the command; returns once the program runs.
///
/// # Safety
/// Only in the warden, which has one thread.
pub(crate) unsafe fn start(prepared: &Prepared<'_>) -> Result<(pid_t, u64), Broken> {
    // SAFETY: the stack is ours alone and large enough; the child uses `shared` only while this process is suspended, so
    // it is never touched by both.
    unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
        let stack = libc::mmap(ptr::null_mut(), STACK, protection, kind, -1, 0);
        if stack == libc::MAP_FAILED {
            return Err(broken(Stage::Stack));
        }
        let mut shared = Shared {
            prepared,
            broken: None,
            layers: 0,
        };
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        let command = libc::clone(become_program, stack.byte_add(STACK), flags, (&raw mut shared).cast());
        checked(command.into(), Stage::Fork)?;
        // Written by the other process behind the compiler's back.
        let left = ptr::read_volatile(&raw const shared);
        libc::munmap(stack, STACK);
        if let Some(broken) = left.broken {
            libc::waitpid(command, ptr::null_mut(), libc::__WALL);
            return Err(broken);
        }
        Ok((command, left.layers))
    }
}

/// The command's process. Returns only if the program cannot be run.
extern "C" fn become_program(argument: *mut c_void) -> c_int {
    // SAFETY: the warden passes its `Shared` and is suspended until this process runs the program or ends.
    unsafe {
        let shared = argument.cast::<Shared<'_>>();
        // Volatile: the compiler sees nobody who reads these, and might leave a plain write until after the program runs.
        let broken = execute((*shared).prepared, &raw mut (*shared).layers);
        ptr::write_volatile(&raw mut (*shared).broken, Some(broken));
        libc::_exit(FAILED)
    }
}

/// All that happens between the clone of the command and its program. Returns what failed.
unsafe fn execute(prepared: &Prepared<'_>, layers: *mut u64) -> Broken {
    // SAFETY: plain system calls with pointers into memory that lives until the program replaces it.
    unsafe {
        if prepared.has_pid_namespace() {
            send(prepared.socket, &Record::new(Kind::Here));
        }
        if libc::setpgid(0, 0) < 0 {
            return broken(Stage::Group);
        }
        if let Err(broken) = set_bounds(prepared) {
            return broken;
        }
        if let Some(directory) = &prepared.directory
            && libc::chdir(directory.as_ptr()) < 0
        {
            return broken(Stage::Directory);
        }
        let none: u64 = 0;
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const none,
            ptr::null_mut::<u64>(),
            size_of::<u64>(),
        );
        match prepared.confinement.restrict() {
            Ok(applied) => ptr::write_volatile(layers, applied),
            Err(failure) => {
                return Broken {
                    stage: Stage::Restrict,
                    act: failure.act,
                    errno: failure.errno,
                };
            }
        }
        replace(prepared)
    }
}

/// Tries the program's paths in turn, as a shell does.
unsafe fn replace(prepared: &Prepared<'_>) -> Broken {
    let mut worst = Broken {
        stage: Stage::Execute,
        act: 0,
        errno: libc::ENOENT,
    };
    for candidate in &prepared.candidates {
        // SAFETY: the path and both tables end as the kernel wants them and live until the program replaces us.
        unsafe {
            let mut errno = try_program(prepared, candidate);
            // A host that has just written the program may have cloned, from another thread, a process that still holds
            // it open for writing, for the moment until that process closes or replaces itself.
            for _ in 0..BUSY_TRIES {
                if errno != libc::ETXTBSY {
                    break;
                }
                let moment = libc::timespec {
                    tv_sec: 0,
                    tv_nsec: 2_000_000,
                };
                libc::nanosleep(&raw const moment, ptr::null_mut());
                errno = try_program(prepared, candidate);
            }
            let missing = errno == libc::ENOENT || errno == libc::ENOTDIR;
            if missing && libc::access(candidate.as_ptr(), libc::F_OK) < 0 {
                continue;
            }
            worst = Broken {
                stage: Stage::Execute,
                act: FILE_EXISTS,
                errno,
            };
            if errno != libc::EACCES {
                break;
            }
        }
    }
    worst
}

/// Becomes the program, or says why not.
unsafe fn try_program(prepared: &Prepared<'_>, candidate: &CStr) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        libc::execve(
            candidate.as_ptr(),
            prepared.arguments.pointer(),
            prepared.environment.pointer(),
        )
    };
    errno()
}

unsafe fn set_bounds(prepared: &Prepared<'_>) -> Result<(), Broken> {
    for (act, bound) in (0u32..).zip(&prepared.bounds) {
        // SAFETY: the kernel reads and writes the limits given, which live here.
        unsafe {
            let mut present: libc::rlimit64 = std::mem::zeroed();
            let got = libc::prlimit64(0, bound.resource as _, ptr::null(), &raw mut present);
            // Above the hard limit is not ours to give; the hard limit is the stricter of the two.
            let wanted = libc::rlimit64 {
                rlim_cur: bound.soft.min(present.rlim_max),
                rlim_max: bound.hard.min(present.rlim_max),
            };
            if got < 0 || libc::prlimit64(0, bound.resource as _, &raw const wanted, ptr::null_mut()) < 0 {
                return Err(Broken {
                    stage: Stage::Limit,
                    act,
                    errno: errno(),
                });
            }
        }
    }
    Ok(())
}
