//! Where a suite judges: a boundary in which the candidate is read-only, the suite's files are exactly those that were digested,
//! and nothing else is there but what its manifest asks for. The plan's contract allows more; it is not given, and what was
//! really held is recorded with each check.

use super::suite::Suite;
use crate::confine::{self, Environment};
use crate::{Error, git_link};
use coder_boundary::{
    Boundary, Enforced, ExactFile, GitView, Ground, Level, Mode, Network, Policy, Resources, Scratch, Workspace,
};
use coder_process::Command;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Where a suite is to judge.
pub(super) struct Place<'a> {
    pub(super) workspace: &'a Path,
    pub(super) store: &'a Path,
    /// The trust store's file: no suite reads what else is approved.
    pub(super) trust: &'a Path,
    /// An existing directory for the private scratch.
    pub(super) scratch: &'a Path,
    pub(super) resources: Resources,
    /// The least that is accepted.
    pub(super) require: Level,
    pub(super) environment: &'a Environment<'a>,
}

/// A boundary ready for one suite.
pub(super) struct Prepared {
    pub(super) boundary: Boundary,
    pub(super) demand: Enforced,
}

impl Place<'_> {
    /// Makes the boundary, with a home and `/tmp` of its own: nothing of one check is found by the next.
    pub(super) fn prepare(&self, suite: &Suite) -> Result<Prepared, Error> {
        let place = git_link::place(self.workspace)?;
        let borrowed = place
            .as_ref()
            .map_or_else(|| Ok(Vec::new()), git_link::Place::borrowed)?;
        let git = place.as_ref().map(git_link::Place::view);
        let needs = &suite.manifest.needs;
        let mut policy = Policy {
            workspace: Some(Workspace {
                path: self.workspace.to_owned(),
                mode: Mode::Read,
            }),
            exact_reads: suite.files().map(exact).collect(),
            reads: suite.trees().map(Path::to_owned).chain(borrowed).collect(),
            sealed: vec![self.store.to_owned(), self.trust.to_owned()],
            resources: self.resources,
            ..Policy::default()
        };
        if needs.toolchains {
            let common = match &git {
                Some(GitView::Linked { common, .. }) => Some(common.as_path()),
                Some(GitView::Checkout { git_dir }) => Some(git_dir.as_path()),
                None => None,
            };
            let sealed = policy.sealed.clone();
            confine::derive_toolchains(self.environment, sealed, common, &mut policy);
        }
        policy.git = git;
        // Toolchains bring the network for downloads; a suite has it only where its manifest asks for that too.
        policy.network = if needs.network { Network::Host } else { Network::None };
        policy.ground = Ground::find(self.require, &policy.network)?;
        let boundary = Boundary::prepare(policy, Scratch::create(self.scratch)?)?;
        let demand = boundary.demand();
        boundary
            .planned()
            .satisfies(&demand)
            .map_err(|shortfall| Error::TooLittleEnforced {
                missing: shortfall.to_string(),
            })?;
        Ok(Prepared { boundary, demand })
    }
}

fn exact(file: &super::grader::GraderFile) -> ExactFile {
    let (device, inode) = file.identity();
    ExactFile {
        path: file.path().to_owned(),
        device,
        inode,
    }
}

impl Prepared {
    /// The suite's command on `candidate`. Builds go to its own home, one job at a time: a check competes with nobody and
    /// its result does not hang on how many processors there are.
    pub(super) fn command(&self, suite: &Suite, candidate: &str) -> Command {
        let command = self.boundary.command(suite.program.path()).argument(candidate);
        let home = variable(&command, "HOME").unwrap_or_default();
        let target = Path::new(&home).join("target");
        command
            .variable("CARGO_TARGET_DIR", target)
            .variable("CARGO_BUILD_JOBS", "1")
            .variable("RUST_TEST_THREADS", "1")
    }

    /// The first program that the manifest needs and the suite would not find.
    pub(super) fn missing<'s>(&self, suite: &'s Suite) -> Option<&'s str> {
        let command = self.boundary.command(suite.program.path());
        let path = variable(&command, "PATH").unwrap_or_default();
        let there = |name: &str| {
            std::env::split_paths(&path).any(|directory| {
                let status = directory.join(name).metadata();
                status.is_ok_and(|status| status.is_file() && status.permissions().mode() & 0o111 != 0)
            })
        };
        let programs = suite.manifest.needs.programs.iter().map(String::as_str);
        programs.into_iter().find(|name| !there(name))
    }
}

fn variable(command: &Command, name: &str) -> Option<OsString> {
    let mut variables = command.variable_list();
    variables
        .find(|(found, _)| *found == OsStr::new(name))
        .map(|(_, value)| value.to_owned())
}
