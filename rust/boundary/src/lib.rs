//! What a command may touch, and the kernel that makes it so.
//!
//! A [`Policy`] says in plain data which trees a command may read and change, which network it has and what it may use
//! up. [`Boundary::prepare`] checks it and makes everything ready; [`Boundary::command`] gives commands that
//! `coder_process` runs behind every wall at once:
//!
//! - user, mount, process, IPC, host name and (offline) network namespaces, with a [`Gateway`] to listed hosts if asked;
//! - a root assembled from what was granted, in which nothing else exists, read-only but for the granted writes;
//! - a private home and `/tmp` ([`Scratch`]), a fresh `/proc`, and the few devices that harm nobody;
//! - Landlock on files, abstract sockets and signals, and a filter of system calls, as second and third walls;
//! - no capability, no new privileges, no descriptor of the host, bounded resources.
//!
//! A wall the kernel does not give refuses the command and names the fix. What the kernel gave is a value,
//! [`Enforced`], which can be compared with what is demanded. [`probe`] tries every wall without a command.
//!
//! ```no_run
//! use coder_boundary::{Boundary, Mode, Policy, Scratch, Workspace};
//!
//! let policy = Policy {
//!     workspace: Some(Workspace { path: "/home/me/project".into(), mode: Mode::Write }),
//!     ..Policy::default()
//! };
//! let boundary = Boundary::prepare(policy, Scratch::create("/tmp".as_ref())?)?;
//! let outcome = boundary.command("make").argument("check").capture(64 * 1024)?;
//! assert!(boundary.enforced(outcome.layers).satisfies(boundary.planned()).is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What this crate does not do: it starts nothing itself, knows no task, and does not bound the memory of a whole tree
//! of processes. It trusts the granted trees' owner; a command cannot leave what was granted, but inside it it may do
//! anything. Linux 5.13 or later.

#![allow(
    unsafe_code,
    reason = "namespaces, mounts, Landlock and seccomp are entered by system calls after a clone"
)]

mod account;
mod assembly;
mod boundary;
mod bounds;
mod caches;
mod command_environment;
mod confinement;
mod enforced;
mod error;
mod exhausted;
mod filter;
mod fork;
mod git;
mod ground;
mod group;
mod guard;
mod lacks;
mod laid;
mod layers;
mod level;
mod machine;
mod network;
mod paths;
mod points;
mod policy;
mod probe;
mod quota;
mod rights;
mod scratch;
mod seatbelt;
mod step;
mod system;
pub mod toolchains;
mod unrooted;
mod why;

pub use account::{Account, account};
pub use boundary::{Boundary, Early};
pub use caches::{CacheMethod, ShownCache};
pub use enforced::{
    AbstractSockets, Bound, Enforced, Group, Namespace, Power, Quota, Reach, Root, Shortfall, Signals, SourceCheckout,
    SystemCalls,
};
pub use error::Error;
pub use exhausted::Exhausted;
pub use git::GIT_OBJECTS;
pub use ground::Ground;
pub use layers::{Layer, LayerSet, UnknownLayer};
pub use level::{Level, UnknownLevel};
pub use network::{AllowList, Connection, Connections, Entry, Gateway, HostName, Outside, Resolve, Verdict};
pub use policy::{
    Access, Cache, ExactFile, GitView, Mode, Network, Permission, Policy, Quarantine, Resources, Workspace,
};
pub use probe::{Capabilities, Finding, Gap, explain, probe};
pub use scratch::{Private, Scratch};
pub use seatbelt::seatbelt_profile;
pub use why::{Act, Found, Why};
