//! Start a program, bound it, watch it, stop it, and prove that nothing of it is left. The only crate that spawns.
//!
//! A command is never the direct child of the program that runs it. Between the two stands a *warden*: a small process
//! of ours that enters the [`Confinement`], starts the command, waits for it, and then ends every descendant. The
//! warden holds one socket whose other end is only in the host, so that the end of the host, by `kill -9` too, is the
//! end of the command. With a pid namespace the warden is its pid 1 and the kernel gives the proof; without one it is a
//! child subreaper that kills and reaps until it has no child, daemons that called `setsid` twice included.
//!
//! What ended, how, what was printed and what is left is a value, [`Outcome`]. [`Error`] means that nothing ran.
//! Memory stays constant whatever a command prints, and no end depends on the end of a pipe.
//!
//! ```
//! use coder_process::{Command, Ending};
//!
//! let outcome = Command::new("/bin/sh").arguments(["-c", "echo hello; exit 3"]).capture(1024)?;
//! assert_eq!(outcome.ending, Ending::Exited(3));
//! assert_eq!(outcome.stdout.head, b"hello\n");
//! # Ok::<(), coder_process::Error>(())
//! ```
//!
//! A start costs about 0.3 ms more than an unsupervised one, however large the host is: the warden lives in the host's
//! memory instead of a copy, makes plain system calls only, and writes to its own stack alone. Who may read the host's
//! memory may read its warden's, and nobody else. Namespaces cost more; [`Early`] starts them while the host still works
//! out what to run.
//!
//! What this crate does not do: it decides nothing about what a command may touch (that is the confinement's), reads no
//! environment (a command starts with none), and keeps no output but the windows asked for. Without a pid namespace a
//! command that may signal its warden can kill it; the outcome then says [`Tree::Unknown`]. Linux 5.11 or later;
//! elsewhere it does not build.

#![allow(
    unsafe_code,
    reason = "processes are made and watched by system calls that Rust's library does not offer"
)]

#[cfg(not(target_os = "linux"))]
compile_error!("coder-process needs Linux: pid namespaces, subreapers, pidfds and close_range have no equal elsewhere");

mod calls;
mod cancel;
mod captured;
mod channel;
mod command;
mod confinement;
mod detach;
mod early;
mod error;
mod holder;
mod launch;
mod limits;
mod outcome;
mod prepared;
mod program;
mod raw;
mod record;
mod run;
mod signals;
mod stack;
mod streams;
mod system;
mod warden;
mod watch;

pub use cancel::{Cancel, Reason};
pub use captured::{Captured, Window};
pub use command::{Command, Output, Stdin};
pub use confinement::{Confinement, Failure, Unconfined};
pub use detach::Detached;
pub use early::Early;
pub use error::Error;
pub use holder::{Gone, Holder, Standing};
pub use limits::Limits;
pub use outcome::{Death, Ending, Event, Flow, Outcome, PeakMemory, Pid, Proof, StopSignal, Stream, Tree, Usage};
pub use raw::{Called, system_call};
pub use run::{run, run_early};
