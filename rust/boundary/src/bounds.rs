//! From what a policy allows a command to use up to who bounds it: a control group for the whole tree where this machine has
//! one for this user, else a limit of each process. Bounds nothing itself.

use crate::enforced::{Bound, Bounds, Group, Quota};
use crate::group::Wanted;
use crate::policy::Resources;
use coder_process::Limits;

/// What bounds each process by itself: what no group counts.
pub(crate) fn limits(resources: &Resources, counted: Option<Wanted>) -> Limits {
    let counted = counted.unwrap_or_default();
    let unless = |bound: Option<u64>, counted: Option<u64>| bound.filter(|_| counted.is_none());
    Limits {
        address_space: None,
        data: unless(resources.memory_bytes, counted.memory),
        processes: unless(resources.processes, counted.pids),
        open_files: resources.open_files,
        file_size: resources.file_bytes,
        cpu_seconds: resources.cpu_seconds,
    }
}

/// What a control group would count, where this machine lets this user make one.
pub(crate) fn counted(resources: &Resources) -> Option<(Wanted, Group)> {
    let wanted = Wanted {
        memory: resources.memory_bytes,
        pids: resources.processes,
    };
    (wanted != Wanted::default()).then(|| wanted.counted())?
}

pub(crate) fn bounds(resources: &Resources, counted: Option<(Wanted, Group)>, scratch: Quota) -> Bounds {
    let each = |bound: Option<u64>| bound.map_or(Bound::None, Bound::PerProcess);
    let (wanted, group) = counted.unzip();
    let wanted = wanted.unwrap_or_default();
    Bounds {
        memory: wanted.memory.map_or(each(resources.memory_bytes), Bound::Together),
        processes: match (wanted.pids, resources.processes) {
            (Some(count), _) => Bound::Together(count),
            // The kernel counts the processes of a user in a user namespace, but not root's.
            (None, Some(count)) if !rustix::process::geteuid().is_root() => Bound::Together(count),
            (None, Some(_) | None) => Bound::None,
        },
        open_files: each(resources.open_files),
        file_bytes: each(resources.file_bytes),
        cpu_seconds: each(resources.cpu_seconds),
        scratch,
        group,
    }
}
