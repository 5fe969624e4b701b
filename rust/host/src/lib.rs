//! The task owner: from a grant to evidence.
//!
//! [`run_repository`] takes the exact bytes of a grant, compares them with the submitted task, the workspace and this
//! machine, and only then runs the loop: every model request, read and command is announced on disk before it happens and
//! answered after it. What the run left is kept and named by digest, the trace is sealed, the result recorded.
//! [`Launch`] is the friendly door to the same: it makes the worktree, the task and the grant itself. [`verify`]
//! re-derives everything offline, [`export_in_toto`] states what a run was for those who have no store; [`view`],
//! [`artifact`] and [`export_atif`] look; [`list_table`], [`task_sheet`] and [`page`] show it to a person. [`Execution`]
//! runs one command in the boundary without a task. [`Demo`] shows it all on an embedded repository, and [`diagnose`]
//! says what this machine can do.
//!
//! Time, randomness and the environment come in as values. Nothing here prints, and nothing reads a credential but the
//! one variable a grant names.

mod admission;
mod archive;
mod attestation;
mod auto_exec;
mod bounded;
mod cancellation;
mod capacity;
mod checks;
mod clients;
mod command;
mod command_environment;
mod configuration;
mod confine;
mod container_profile;
mod context;
mod controller;
mod demo;
mod denials;
mod detached;
mod dispatch;
mod doctor;
mod error;
mod exec;
mod finish;
mod gc;
mod generation;
mod git_link;
mod grant;
mod guards;
mod holding;
mod judge;
mod keeper;
mod labels;
mod launch;
mod limits;
mod login_environment;
mod outcome;
mod page;
mod patience;
mod progress;
mod quarantine;
mod recorder;
mod recovery;
mod refused;
mod report_file;
mod repository;
mod request;
mod requirements;
mod retention_lock;
mod route;
mod run;
mod screen;
mod shell;
mod shell_word;
mod steering;
mod store_place;
mod sweep;
#[cfg(test)]
mod testing;
mod timeline;
mod turns;
mod verify;
mod view;
mod world;

pub use archive::{Archived, archive};
pub use attestation::{
    PAYLOAD_TYPE, PREDICATE_TYPE, STATEMENT_TYPE, export_in_toto, verify_attestation, verify_document,
};
pub use bounded::run_bounded;
pub use capacity::{Capacity, capacity, capacity_table};
pub use checks::{
    Approval, Approved, CheckRun, Manifest, Needs, Outside, Pinned, ProtectedSuite, TrustStore, frozen_suites,
    run_checks,
};
pub use command::{CommandKind, ask, send_exact};
pub use configuration::{Access, Api, Configuration, Effort, Generation, IN_PROCESS, Knowledge, Provider, Route};
pub use confine::Environment;
pub use container_profile::ContainerProfile;
pub use context::{Capture, Context, Document, Instruction, Lineage, Uncaptured};
pub use demo::{Checked, Demo, Demonstrated, PROMPT as DEMO_PROMPT};
pub use denials::Denied;
pub use detached::{Carrying, DetachedStart, Pending, start_detached};
pub use doctor::{Diagnosis, Item, Standing, diagnose};
pub use error::Error;
pub use exec::{Commands, Executed, Execution, PreparedExecution, Report, Streams};
pub use gc::{Cleared, Gc, Left, Leftover, Sweep, gc};
pub use grant::{Grant, NewGrant, Work, WorkspaceAccess, write as write_grant};
pub use launch::{Launch, Launched, Standing as WorktreeStanding, worktree_place};
pub use limits::Limits;
pub use page::page;
pub use progress::{Progress, Watcher};
pub use recovery::{Recovered, recover};
pub use report_file::{Existing, ReportFile};
pub use repository::run_repository;
pub use requirements::{
    CANDIDATE, CheckLineage, Edition, KnowledgeInput, PLAN_SCHEMA, Plan, PlannedCheck, Requirement, Requirements,
    SCHEMA as REQUIREMENTS_SCHEMA, without_run_number,
};
pub use run::GrantRun;
pub use screen::{Colours, Screen};
pub use shell_word::{shell_path, shell_word};
pub use steering::{STEER_MESSAGE_BYTES, Steered, steer};
pub use store_place::{default_store, open_existing, open_to_read};
pub use verify::{
    AttestationState, Check, Compared, Finding, SignatureState, Verdict, Verification, verify, verify_since,
};
pub use view::{KeptPatch, View, artifact, candidate, export_atif, list_table, patch, task_sheet, view};
