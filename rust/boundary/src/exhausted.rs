//! What of a command's bounds ran out, as far as anything counted it. It travels from the confinement to the outcome as one
//! number.

use crate::enforced::{Bound, Bounds, Quota};
use crate::group::Spent;
use serde::{Deserialize, Serialize};

const MEMORY: u64 = 1;
const PROCESSES: u64 = 1 << 1;
const SCRATCH: u64 = 1 << 2;

/// What ran out; `None` where nothing tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Exhausted {
    /// The kernel ended a process of the command for want of memory. Only a control group tells.
    pub out_of_memory: Option<bool>,
    /// A process or thread could not be made. Only a control group tells.
    pub out_of_processes: Option<bool>,
    /// The private home and `/tmp` held more than they may. A filesystem in memory tells the program only.
    pub out_of_scratch: Option<bool>,
}

impl Exhausted {
    pub(crate) fn bits(spent: Spent, scratch: bool) -> u64 {
        let bit = |happened: bool, bit: u64| if happened { bit } else { 0 };
        bit(spent.memory, MEMORY) | bit(spent.pids, PROCESSES) | bit(scratch, SCRATCH)
    }

    pub(crate) fn read(bits: u64, bounds: &Bounds) -> Self {
        let told = |counted: bool, bit: u64| counted.then_some(bits & bit != 0);
        let grouped = |bound: Bound| bounds.group.is_some() && matches!(bound, Bound::Together(_));
        Self {
            out_of_memory: told(grouped(bounds.memory), MEMORY),
            out_of_processes: told(grouped(bounds.processes), PROCESSES),
            out_of_scratch: told(matches!(bounds.scratch, Quota::Counted(_)), SCRATCH),
        }
    }
}

impl Exhausted {
    /// What ran out, in words for people, one line each.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            (
                self.out_of_memory,
                "out of memory: a process was ended because the command's memory was used up",
            ),
            (
                self.out_of_processes,
                "out of processes: the command's bound of processes and threads was reached",
            ),
            (
                self.out_of_scratch,
                "out of scratch: the private home and /tmp held more than they may",
            ),
        ];
        all.into_iter()
            .filter_map(|(happened, words)| (happened == Some(true)).then_some(words))
    }
}

#[cfg(test)]
#[path = "exhausted_tests.rs"]
mod tests;
