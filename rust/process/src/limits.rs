//! Resource limits of the command's process, inherited by all it starts.
//! They bound each process, not the tree; a bound on the tree is the confinement's matter.

/// Upper bounds for each process of the command. `None` leaves the host's own bound. A bound above the host's hard
/// limit becomes the hard limit, which is stricter. Core dumps are always off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Bytes of address space (`RLIMIT_AS`). Runtimes that reserve much and use little need [`data`](Self::data).
    pub address_space: Option<u64>,
    /// Bytes of private writable memory (`RLIMIT_DATA`).
    pub data: Option<u64>,
    /// Processes and threads of the same user (`RLIMIT_NPROC`); the kernel does not hold root to it.
    pub processes: Option<u64>,
    /// Open descriptors (`RLIMIT_NOFILE`).
    pub open_files: Option<u64>,
    /// Bytes of a written file (`RLIMIT_FSIZE`).
    pub file_size: Option<u64>,
    /// Seconds of processor time (`RLIMIT_CPU`): `SIGXCPU` at the bound, `SIGKILL` a second later.
    pub cpu_seconds: Option<u64>,
}

/// One bound as the kernel takes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    pub(crate) resource: u32,
    pub(crate) soft: u64,
    pub(crate) hard: u64,
    pub(crate) name: &'static str,
}

impl Limits {
    pub(crate) fn bounds(&self) -> Vec<Bound> {
        let plain = [
            (libc::RLIMIT_AS, self.address_space, "address space"),
            (libc::RLIMIT_DATA, self.data, "data"),
            (libc::RLIMIT_NPROC, self.processes, "processes"),
            (libc::RLIMIT_NOFILE, self.open_files, "open files"),
            (libc::RLIMIT_FSIZE, self.file_size, "file size"),
            (libc::RLIMIT_CORE, Some(0), "core dump"),
        ];
        let mut bounds: Vec<Bound> = plain
            .into_iter()
            .filter_map(|(resource, value, name)| {
                value.map(|value| Bound {
                    resource: resource as _,
                    soft: value,
                    hard: value,
                    name,
                })
            })
            .collect();
        if let Some(seconds) = self.cpu_seconds {
            let resource = libc::RLIMIT_CPU as _;
            bounds.push(Bound {
                resource,
                soft: seconds,
                hard: seconds.saturating_add(1),
                name: "processor time",
            });
        }
        bounds
    }
}
