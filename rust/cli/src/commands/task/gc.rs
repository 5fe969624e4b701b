//! `coder task gc`: what was cleared away, with its bytes, or with `--dry-run` what would be.

use crate::arguments::GcArguments;
use crate::output::{self, Failure};
use crate::surroundings;
use coder_host::{Gc, Sweep};

use super::{REFUSED, refused};

pub(super) fn gc(arguments: &GcArguments) -> Result<u8, Failure> {
    let path = surroundings::store(arguments.store.store.as_deref(), REFUSED)?;
    let sweep = match arguments.dry_run {
        true => Sweep::DryRun,
        false => Sweep::Remove,
    };
    let done = coder_host::gc(
        &path,
        surroundings::clock(),
        sweep,
        arguments.older_than,
        &surroundings::environment,
    )
    .map_err(refused)?;
    if arguments.store.json || !output::person_reads() {
        output::json(&done)?;
    } else {
        output::data(told(&done).as_bytes())?;
    }
    Ok(0)
}

fn told(done: &Gc) -> String {
    let mut text = String::new();
    for cleared in &done.cleared {
        text.push_str(&format!("{:>12}  {}\n", cleared.bytes, cleared.path.display()));
    }
    for left in &done.left {
        text.push_str(&format!("      stays:  {}: {}\n", left.path.display(), left.reason));
    }
    let verb = match done.sweep {
        Sweep::Remove => "Removed",
        Sweep::DryRun => "Would remove",
    };
    text.push_str(&format!(
        "{verb} {} things of {} bytes.\n",
        done.cleared.len(),
        done.bytes
    ));
    text
}
