//! The two programs as their users meet them: real processes in a world of their own, whole outputs, what is on disk
//! before and after. What a single crate promises is tested in that crate; here it is shown that the tools keep it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod access;
mod attestation;
mod bounded;
mod call;
mod cancel;
mod checks;
mod context;
mod controller;
mod demo;
mod detached;
mod documentation;
mod escape;
mod exec;
mod failover;
mod full_disk;
mod gc;
mod kill;
mod kill_load;
mod look;
mod memory;
mod openai;
mod quarantine;
mod read_only;
mod recover;
mod refusals;
mod repository;
mod run;
mod source;
mod steer;
mod tamper;
mod tamper_fields;
mod task_codes;
mod task_command;
mod toolchains;
mod turns;
mod usage;
mod why;
mod world;
