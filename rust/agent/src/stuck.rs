//! The guard against going in circles: counts the steps in a row that repeat without progress, by the judge's word where
//! there is one and by a plain rule where there is none. It ends nothing by itself; the loop asks it.

use crate::environment::RanEnd;
use crate::judge::Judgment;
use coder_digest::{Digest, Hasher};
use std::collections::HashSet;

/// What the plain rule says of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repetition {
    /// It ran at least one command, and each had run before with the same end and the same (cut) output.
    OnlyRepeats,
    /// Something about it was new, or it ran nothing.
    SomethingNew,
}

/// The guard's state over a run.
#[derive(Debug, Default)]
pub(crate) struct StuckGuard {
    seen: HashSet<Digest>,
    in_a_row: u32,
}

impl StuckGuard {
    /// Notes the commands of one step, as (script, end, output as the prompt shows it).
    pub(crate) fn step<'a>(&mut self, commands: impl Iterator<Item = (&'a str, RanEnd, &'a str)>) -> Repetition {
        let identities: Vec<Digest> = commands
            .map(|(script, end, output)| identity(script, end, output))
            .collect();
        let repeats = !identities.is_empty() && identities.iter().all(|identity| self.seen.contains(identity));
        self.seen.extend(identities);
        match repeats {
            true => Repetition::OnlyRepeats,
            false => Repetition::SomethingNew,
        }
    }

    /// Counts the last step, given the judgment of the state after it; returns how many in a row now go in circles.
    pub(crate) fn count(&mut self, judgment: &Judgment, rule: Repetition) -> u32 {
        self.in_a_row = match goes_in_circles(judgment, rule) {
            true => self.in_a_row.saturating_add(1),
            false => 0,
        };
        self.in_a_row
    }
}

/// A judged half counts by its probability; a half the judge left open counts by the rule.
fn goes_in_circles(judgment: &Judgment, rule: Repetition) -> bool {
    let rule = rule == Repetition::OnlyRepeats;
    let repeating = judgment.repeating.map(|probability| probability >= 0.5);
    let stalled = judgment.progress.map(|probability| probability < 0.5);
    match (repeating, stalled) {
        (Some(repeating), Some(stalled)) => repeating && stalled,
        (Some(half), None) | (None, Some(half)) => half && rule,
        (None, None) => rule,
    }
}

fn identity(script: &str, end: RanEnd, output: &str) -> Digest {
    let mut hasher = Hasher::new();
    // Lengths before contents: otherwise text could move from the script to the output unnoticed.
    for part in [script.as_bytes(), end.to_string().as_bytes(), output.as_bytes()] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finish()
}

#[cfg(test)]
#[path = "stuck_tests.rs"]
mod tests;
