//! Independent checks (facts 10): suites pinned before the candidate exists judge it afterwards, read-only and from outside, and
//! what they saw becomes the verdict. A model that says it is finished, or a command that exits with status 0, verifies nothing.
//!
//! `named` is the short way for one run; `suite` finds what a plan names and refuses what the run could have touched; `trust` says whose word lets it run; `place`
//! makes its boundary; `outcome` runs it; `run` is the whole, from the journal's intent to its report. The verdict itself is
//! derived in the journal, from the evidence alone.

mod grader;
mod manifest;
mod named;
mod outcome;
mod place;
mod run;
mod suite;
mod trust;

pub use manifest::{Manifest, Needs};
pub(crate) use named::NamedSuites;
pub use run::{CheckRun, run_checks};
pub use suite::{Outside, ProtectedSuite, frozen_suites};
pub use trust::{Approval, Approved, Pinned, TrustStore};
