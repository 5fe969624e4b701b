//! The command's process, from its clone to the moment it becomes the program, and the warden's side of the same. Under
//! the same rules as `warden`.
//!
//! Where the command gets namespaces of its own beside the mounts, it makes them, and takes on what restricts it, while
//! the warden assembles the root: the two take as long as each other, and machines have more than one processor. They
//! meet before the program: the warden joins the namespaces, and the command goes on in the finished root.

use crate::calls;
use crate::prepared::{Plan, Prepared, Start};
use crate::raw::{self, Told};
use crate::record::{FILE_EXISTS, GO, Kind, PLANNED, Record, Stage};
use crate::warden::{Broken, FAILED, at, send};
use libc::{c_int, c_void, pid_t};
use std::cell::Cell;
use std::ffi::CStr;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU32, Ordering};

/// How often a program that is open for writing is tried again, 2 ms apart.
const BUSY_TRIES: u32 = 50;

/// Not yet; what a word holds until the other side changes it.
const CLOSED: u32 = 0;
/// The other side has come as far as it says.
const OPEN: u32 = 1;
/// The other side will not come.
const BROKEN: u32 = 2;

/// What the two processes know of each other. On the warden's stack, which outlives the command's stay in this memory.
struct Shared<'a> {
    prepared: &'a Prepared,
    /// Zero once the command's process has run the program or ended: the kernel sets it.
    present: AtomicU32,
    /// Whether the command's process is in its own namespaces.
    apart: AtomicU32,
    /// Whether the root is ready.
    gate: AtomicU32,
    /// Written by the command's process, read by the warden once `present` or `apart` says so.
    broken: Cell<Option<Broken>>,
    layers: Cell<u64>,
    /// The warden as the command's process sees it.
    warden: pid_t,
}

/// Starts the command; returns once the program runs.
///
/// # Safety
/// Only in the warden, which has one thread.
pub(crate) unsafe fn start(prepared: &Prepared) -> Result<(pid_t, u64), Broken> {
    let apart = prepared.flags & APART;
    let mounts = prepared.flags & libc::CLONE_NEWNS as u64;
    if mounts != 0 {
        calls::unshare(mounts).map_err(|errno| namespaces(mounts, errno))?;
    }
    let enter = || {
        let failed = |failure: crate::Failure| Broken {
            stage: Stage::Enter,
            act: failure.act,
            errno: failure.errno,
        };
        match prepared.start {
            Start::Told => plan(prepared)?.confinement.enter().map_err(failed),
            Start::Early => {
                prepared.confinement.enter().map_err(failed)?;
                plan(prepared)?.confinement.resume().map_err(failed)
            }
        }
    };
    // With nothing to make meanwhile the two would only wait for each other.
    let entered = if apart == 0 {
        let entered = enter()?;
        released(prepared)?;
        Some(entered)
    } else {
        None
    };
    let shared = Shared {
        prepared,
        present: AtomicU32::new(1),
        apart: AtomicU32::new(CLOSED),
        gate: AtomicU32::new(if apart == 0 { OPEN } else { CLOSED }),
        broken: Cell::new(None),
        layers: Cell::new(0),
        warden: if prepared.has_pid_namespace() {
            1
        } else {
            calls::own_number()
        },
    };
    let mut descriptor: RawFd = -1;
    let told = Told {
        descriptor: &raw mut descriptor,
        left: shared.present.as_ptr(),
    };
    let flags = libc::CLONE_VM | libc::CLONE_CHILD_CLEARTID | libc::CLONE_PIDFD | libc::SIGCHLD;
    let flags = flags
        | if apart == 0 {
            libc::CLONE_VFORK
        } else {
            // Root and directory of the two stay one until they meet, so that the finished root is the command's too.
            libc::CLONE_FS
        };
    let argument = (&raw const shared).cast_mut().cast::<c_void>();
    // SAFETY: the stack is the command's alone; `shared` lives until `present` is zero, which this function waits for.
    let command = unsafe { raw::clone(flags as u64, prepared.stacks.command(), told, become_program, argument) }
        .map_err(at(Stage::Fork))?;
    let met = match entered {
        Some(entered) => Ok(entered),
        None => enter().and_then(|entered| {
            meet(&shared, descriptor, apart)?;
            released(prepared)?;
            Ok(entered)
        }),
    };
    shared
        .gate
        .store(if met.is_ok() { OPEN } else { BROKEN }, Ordering::Release);
    calls::wake(&shared.gate);
    while shared.present.load(Ordering::Acquire) != 0 {
        calls::wait_while(&shared.present, 1);
    }
    calls::close(descriptor);
    // What the command's process says of itself comes first: the warden may have failed for the lack of it.
    match (shared.broken.get(), met) {
        (None, Ok(entered)) => Ok((command, entered | shared.layers.get())),
        (Some(broken), _) | (None, Err(broken)) => {
            let _was_ended = calls::wait(command, 0);
            Err(broken)
        }
    }
}

/// What to run; waits for it if the host does not know yet. A host that ends or changes its mind closes the socket.
fn plan(prepared: &Prepared) -> Result<&Plan, Broken> {
    if prepared.start == Start::Early && calls::receive_byte(prepared.socket) != Some(PLANNED) {
        return Err(at(Stage::Plan)(libc::ECANCELED));
    }
    prepared.plan.get().ok_or(at(Stage::Plan)(libc::EPROTO))
}

/// Waits for the host to let the command start, which it does once it has noted who will hold it. Last of all, so that it
/// notes while the confinement is made. A host that died, or withholds the command, does not.
fn released(prepared: &Prepared) -> Result<(), Broken> {
    match calls::receive_byte(prepared.socket) {
        Some(GO) => Ok(()),
        Some(_) | None => Err(at(Stage::Release)(libc::ECANCELED)),
    }
}

/// The namespaces that the command's process makes for itself.
const APART: u64 = (libc::CLONE_NEWNET | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | libc::CLONE_NEWCGROUP) as u64;

fn namespaces(flags: u64, errno: c_int) -> Broken {
    Broken {
        stage: Stage::Namespaces,
        // Namespace flags lie below the highest bit.
        act: flags as u32,
        errno,
    }
}

/// Waits until the command's process is in its own namespaces, and joins them: through a pid 1 that stayed behind, the
/// command could see the host's network.
fn meet(shared: &Shared<'_>, command: RawFd, apart: u64) -> Result<(), Broken> {
    while shared.apart.load(Ordering::Acquire) == CLOSED && shared.present.load(Ordering::Acquire) != 0 {
        calls::wait_while(&shared.apart, CLOSED);
    }
    if shared.apart.load(Ordering::Acquire) != OPEN {
        // It says itself why, or was killed.
        return Err(namespaces(apart, libc::ESRCH));
    }
    // A host that hides its memory is hidden from its own warden too; then namespaces that nobody else is in do as well.
    calls::join_namespaces(command, apart)
        .or_else(|_| calls::unshare(apart))
        .map_err(|errno| namespaces(apart, errno))
}

/// The command's process.
///
/// # Safety
/// Only as the entry of the clone above.
unsafe extern "C" fn become_program(argument: *mut c_void) -> ! {
    // SAFETY: the warden passes its `Shared`, which lives until this process has left the memory; each cell is written
    // by this process and read by the warden after a word has told it to.
    let shared = unsafe { &*argument.cast::<Shared<'_>>() };
    let broken = execute(shared);
    shared.broken.set(Some(broken));
    shared.apart.store(BROKEN, Ordering::Release);
    calls::wake(&shared.apart);
    calls::exit(FAILED)
}

/// All that happens between the clone of the command and its program. Returns what failed.
fn execute(shared: &Shared<'_>) -> Broken {
    match make_ready(shared) {
        Ok(plan) => replace(plan),
        Err(broken) => broken,
    }
}

fn make_ready<'a>(shared: &Shared<'a>) -> Result<&'a Plan, Broken> {
    let prepared = shared.prepared;
    if prepared.has_pid_namespace() {
        send(prepared.socket, &Record::new(Kind::Here));
    }
    calls::new_group().map_err(at(Stage::Group))?;
    let apart = prepared.flags & APART;
    if apart != 0 {
        calls::unshare(apart).map_err(|errno| namespaces(apart, errno))?;
        shared.apart.store(OPEN, Ordering::Release);
        calls::wake(&shared.apart);
    }
    let restriction = |failure: crate::Failure| Broken {
        stage: Stage::Restrict,
        act: failure.act,
        errno: failure.errno,
    };
    let secluded = prepared.confinement.seclude().map_err(restriction)?;
    if apart != 0 {
        wait_for_root(shared)?;
        calls::unshare(libc::CLONE_FS as u64).map_err(at(Stage::Directory))?;
    }
    // There, or the warden would not have come this far.
    let plan = prepared.plan.get().ok_or(at(Stage::Plan)(libc::EPROTO))?;
    for (act, bound) in (0u32..).zip(&plan.bounds) {
        calls::lower_limit(bound.resource, bound.soft, bound.hard).map_err(|errno| Broken {
            stage: Stage::Limit,
            act,
            errno,
        })?;
    }
    if let Some(directory) = &plan.directory {
        calls::change_directory(directory).map_err(at(Stage::Directory))?;
    }
    calls::unblock_signals();
    let restricted = plan.confinement.restrict().map_err(restriction)?;
    shared.layers.set(secluded | restricted);
    Ok(plan)
}

fn wait_for_root(shared: &Shared<'_>) -> Result<(), Broken> {
    loop {
        match shared.gate.load(Ordering::Acquire) {
            CLOSED => calls::wait_while(&shared.gate, CLOSED),
            OPEN => return Ok(()),
            // The warden knows why, and says it.
            _ => calls::exit(FAILED),
        }
        // Without a namespace of its own this process outlives a warden that somebody killed.
        if calls::parent_number() != shared.warden {
            calls::exit(FAILED);
        }
    }
}

/// Tries the program's paths in turn, as a shell does.
fn replace(plan: &Plan) -> Broken {
    let mut worst = Broken {
        stage: Stage::Execute,
        act: 0,
        errno: libc::ENOENT,
    };
    for candidate in &plan.candidates {
        let mut errno = try_program(plan, candidate);
        // A host that has just written the program may have cloned, from another thread, a process that still holds
        // it open for writing, for the moment until that process closes or replaces itself.
        for _ in 0..BUSY_TRIES {
            if errno != libc::ETXTBSY {
                break;
            }
            calls::pause(2_000_000);
            errno = try_program(plan, candidate);
        }
        let missing = errno == libc::ENOENT || errno == libc::ENOTDIR;
        if missing && !calls::exists(candidate) {
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
    worst
}

/// Becomes the program, or says why not.
fn try_program(plan: &Plan, candidate: &CStr) -> c_int {
    // SAFETY: both tables end as the kernel wants them and live until the program replaces this process.
    unsafe { calls::execute(candidate, plan.arguments.pointer(), plan.environment.pointer()) }
}
