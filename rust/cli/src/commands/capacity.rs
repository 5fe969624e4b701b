//! `coder capacity`: who is held by a provider's limit. The books are read elsewhere.

use crate::arguments::CapacityArguments;
use crate::output::{self, Failure};
use crate::surroundings;

const REFUSED: u8 = 1;

pub(crate) fn capacity(arguments: &CapacityArguments) -> Result<u8, Failure> {
    let store = surroundings::store(arguments.store.as_deref(), REFUSED)?;
    let clock = surroundings::clock();
    let capacity = coder_host::capacity(&store, clock.as_ref(), arguments.clear.as_deref())
        .map_err(|error| Failure::of(&error, REFUSED))?;
    if arguments.json || !output::person_reads() {
        output::json(&capacity)?;
    } else {
        output::data(coder_host::capacity_table(&capacity).as_bytes())?;
    }
    Ok(0)
}
