//! What runs in the children: the warden, and the command's process until it becomes the program.
//!
//! Everything here runs after a clone of a program that may have other threads. So it makes plain system calls only: no
//! allocation, no lock, no library input or output, and nothing that can panic. Whatever it needs was made ready in
//! `prepared`. The command's process shares the warden's memory and suspends it until the program runs (as `vfork`):
//! a second copy of the host's page tables would cost as much as the first, and a failure can be left in plain memory.

use crate::prepared::Prepared;
use crate::record::{FILE_EXISTS, KILL, Kind, Record, Stage, TERMINATE};
use libc::{c_int, c_long, c_void, pid_t};
use std::ffi::CStr;
use std::os::fd::RawFd;
use std::ptr;

/// Bytes of stack for the command's process until it becomes the program.
const STACK: usize = 256 << 10;
/// Bytes of the list of children read at once.
const LISTED: usize = 1024;
/// How often a program that is open for writing is tried again, 2 ms apart.
const BUSY_TRIES: u32 = 50;

/// The warden's exit statuses are never shown; its records say all.
const DONE: c_int = 0;
const FAILED: c_int = 1;

/// A failed step, kept in memory that the command's process shares.
#[derive(Clone, Copy)]
struct Broken {
    stage: Stage,
    act: u32,
    errno: c_int,
}

/// What the command's process leaves for the warden.
struct Shared<'a> {
    prepared: &'a Prepared<'a>,
    broken: Option<Broken>,
    layers: u64,
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

fn errno() -> c_int {
    // SAFETY: the location is this thread's own.
    unsafe { *libc::__errno_location() }
}

fn broken(stage: Stage) -> Broken {
    Broken {
        stage,
        act: 0,
        errno: errno(),
    }
}

/// The kernel's -1 as the failure of a stage.
fn checked(result: c_long, stage: Stage) -> Result<c_long, Broken> {
    if result < 0 { Err(broken(stage)) } else { Ok(result) }
}

fn send(socket: RawFd, record: &Record) {
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

        let (command, layers) = fork(prepared)?;

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

/// Starts the command; returns once the program runs.
unsafe fn fork<'a>(prepared: &'a Prepared<'a>) -> Result<(pid_t, u64), Broken> {
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
        let shared = &mut *argument.cast::<Shared<'_>>();
        shared.broken = Some(execute(shared.prepared, &mut shared.layers));
        libc::_exit(FAILED)
    }
}

/// All that happens between the clone of the command and its program. Returns what failed.
unsafe fn execute(prepared: &Prepared<'_>, layers: &mut u64) -> Broken {
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
            Ok(applied) => *layers = applied,
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

/// The warden while the program runs.
struct Watch {
    socket: RawFd,
    signals: RawFd,
    /// `/proc`, or -1.
    processes: RawFd,
    command: pid_t,
    /// Whether this process is pid 1 of its own namespace.
    namespace: bool,
    /// Peak memory of this process before the command, in KiB.
    floor: u64,
    /// The last signal sent to the command.
    sent: c_int,
    alive: bool,
    /// The command's end, until the host was told.
    untold: Option<Record>,
}

/// What waiting for children came to.
#[derive(PartialEq, Eq)]
enum Children {
    Left,
    None,
}

impl Watch {
    /// Waits for the command, a request or the host's death; then ends everything.
    unsafe fn wait(mut self) {
        // SAFETY: plain system calls on our own descriptors and children.
        unsafe {
            while self.alive {
                let mut ready = [
                    libc::pollfd {
                        fd: self.signals,
                        events: libc::POLLIN,
                        revents: 0,
                    },
                    libc::pollfd {
                        fd: self.socket,
                        events: libc::POLLIN,
                        revents: 0,
                    },
                ];
                libc::poll(ready.as_mut_ptr(), 2, -1);
                let [signals, socket] = ready;
                if signals.revents != 0 {
                    let mut information: libc::signalfd_siginfo = std::mem::zeroed();
                    libc::read(
                        self.signals,
                        (&raw mut information).cast(),
                        size_of::<libc::signalfd_siginfo>(),
                    );
                }
                // Before a signal is sent, so that a command that ended by itself is not called stopped.
                self.reap(libc::WNOHANG);
                if !self.alive || socket.revents == 0 {
                    continue;
                }
                let mut request = KILL;
                let received = libc::recv(self.socket, (&raw mut request).cast(), 1, 0);
                if received == 1 && request == TERMINATE {
                    self.sent = libc::SIGTERM;
                    libc::kill(self.command.wrapping_neg(), libc::SIGTERM);
                    // A stopped process would not hear it.
                    libc::kill(self.command.wrapping_neg(), libc::SIGCONT);
                } else {
                    self.sent = libc::SIGKILL;
                    break;
                }
            }
            let clear = self.end() == Children::None;
            match self.untold.take() {
                // The usual case, told in one record: each wakes the host.
                Some(mut record) => {
                    record.clear = clear.into();
                    send(self.socket, &record);
                }
                None if clear => send(self.socket, &Record::new(Kind::Clear)),
                None => {}
            }
        }
    }

    /// Kills and reaps until nothing is left, or nothing more can be found.
    unsafe fn end(&mut self) -> Children {
        // SAFETY: `kill(-1)` is sent only as pid 1 of our own namespace, where it reaches our descendants alone.
        unsafe {
            loop {
                if self.reap(libc::WNOHANG) == Children::None {
                    return Children::None;
                }
                let found = if self.namespace {
                    libc::kill(-1, libc::SIGKILL) == 0
                } else {
                    self.kill_children()
                };
                if !found {
                    return Children::Left;
                }
                // What follows may take long, and the host's patience begins with the command's end.
                if let Some(record) = self.untold.take() {
                    send(self.socket, &record);
                }
                // One end at least is coming; whoever loses its parent by it becomes our child first.
                self.reap_one(0);
            }
        }
    }

    /// Kills every child of this process once, and says whether there is one. Only unreaped children are named, so no
    /// number can have passed to a stranger.
    unsafe fn kill_children(&self) -> bool {
        // SAFETY: plain system calls; the list names children that only we can reap.
        unsafe {
            let path = c"thread-self/children";
            let list = libc::openat(self.processes, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
            if list < 0 {
                return false;
            }
            let mut found = false;
            let mut number: pid_t = 0;
            let mut buffer = [0u8; LISTED];
            loop {
                let count = libc::read(list, buffer.as_mut_ptr().cast(), buffer.len());
                let Ok(count) = usize::try_from(count) else { break };
                if count == 0 {
                    break;
                }
                for &byte in buffer.iter().take(count) {
                    if byte.is_ascii_digit() {
                        let digit = pid_t::from(byte.wrapping_sub(b'0'));
                        number = number.wrapping_mul(10).wrapping_add(digit);
                    } else if number > 0 {
                        found = true;
                        libc::kill(number, libc::SIGKILL);
                        number = 0;
                    }
                }
            }
            libc::close(list);
            found
        }
    }

    /// Reaps all that can be reaped.
    unsafe fn reap(&mut self, options: c_int) -> Children {
        loop {
            // SAFETY: as `reap_one`.
            match unsafe { self.reap_one(options) } {
                Some(0) => return Children::Left,
                Some(_) => {}
                None => return Children::None,
            }
        }
    }

    /// Reaps one child: its number, 0 if none has ended, `None` if there is none. Notes the command's
    /// end.
    unsafe fn reap_one(&mut self, options: c_int) -> Option<pid_t> {
        // SAFETY: the kernel writes the status and usage, which live here; every child is ours to reap.
        unsafe {
            let mut status = 0;
            let mut usage: libc::rusage = std::mem::zeroed();
            let reaped = libc::wait4(-1, &raw mut status, options | libc::__WALL, &raw mut usage);
            if reaped < 0 {
                return if errno() == libc::EINTR { Some(0) } else { None };
            }
            if reaped == self.command && self.alive {
                self.alive = false;
                let mut record = Record::new(Kind::Ended);
                record.status = status;
                record.signal = self.sent;
                record.peak_kibibytes = usage.ru_maxrss.cast_unsigned();
                record.floor_kibibytes = self.floor;
                record.cpu_microseconds = microseconds(usage.ru_utime).wrapping_add(microseconds(usage.ru_stime));
                self.untold = Some(record);
            }
            Some(reaped)
        }
    }
}

fn microseconds(time: libc::timeval) -> u64 {
    time.tv_sec
        .cast_unsigned()
        .wrapping_mul(1_000_000)
        .wrapping_add(time.tv_usec.cast_unsigned())
}
