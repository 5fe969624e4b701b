//! The command-line tools: parse, call one function, print. No logic of their own.
//!
//! `microcoder` runs agents and commands; `coder` looks after the tasks of a store. Standard output is data, standard
//! error is talk; progress only on a terminal. [`microcoder`] and [`coder`] are the two programs' whole `main`.

mod arguments;
mod bytes;
mod commands;
mod output;
mod programs;
mod progress;
mod published;
mod surroundings;

pub use arguments::{Coder, Microcoder};
pub use programs::{coder, microcoder};
