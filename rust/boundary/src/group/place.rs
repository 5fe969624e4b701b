//! Where leaves can be made: read from what the kernel says of this process's own groups and of the mounts. Version 2
//! where a group above this process hands both controllers down and this user may write there; version 1 where this user
//! may write in its own groups, as root may. Makes nothing.

use crate::enforced::Group;
use rustix::fs::Access;
use std::fs;
use std::path::{Path, PathBuf};

/// What a controller counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Controller {
    Memory,
    Pids,
}

impl Controller {
    fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Pids => "pids",
        }
    }
}

/// One bound as its file takes it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) file: &'static str,
    pub(crate) value: String,
    pub(crate) optional: bool,
}

/// The groups in which leaves can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    kind: Group,
    memory: Option<PathBuf>,
    pids: Option<PathBuf>,
}

impl Place {
    /// This process's.
    pub(crate) fn find() -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        Self::described(&groups, &mounts)
    }

    /// The same from given tables.
    pub(crate) fn described(groups: &str, mounts: &str) -> Option<Self> {
        Self::second(groups, mounts).or_else(|| Self::first(groups, mounts))
    }

    fn second(groups: &str, mounts: &str) -> Option<Self> {
        let (own, top) = own_group(groups, mounts, None)?;
        let parent = own
            .ancestors()
            .take_while(|group| group.starts_with(&top))
            .find(|group| {
                let handed_down = fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default();
                let hands =
                    |controller: Controller| handed_down.split_whitespace().any(|word| word == controller.name());
                // To move a process takes the right to write in the group that is above both its old place and its new one.
                hands(Controller::Memory)
                    && hands(Controller::Pids)
                    && writable(group)
                    && writable(&group.join("cgroup.procs"))
            })?;
        Some(Self {
            kind: Group::CgroupV2,
            memory: Some(parent.to_path_buf()),
            pids: Some(parent.to_path_buf()),
        })
    }

    fn first(groups: &str, mounts: &str) -> Option<Self> {
        let own = |controller| {
            let (own, _) = own_group(groups, mounts, Some(controller))?;
            writable(&own).then_some(own)
        };
        Self {
            kind: Group::CgroupV1,
            memory: own(Controller::Memory),
            pids: own(Controller::Pids),
        }
        .unless_empty()
    }

    fn unless_empty(self) -> Option<Self> {
        (self.memory.is_some() || self.pids.is_some()).then_some(self)
    }

    /// This place for the controllers that proved of use.
    pub(crate) fn only(self, memory: bool, pids: bool) -> Option<Self> {
        Self {
            memory: self.memory.filter(|_| memory),
            pids: self.pids.filter(|_| pids),
            ..self
        }
        .unless_empty()
    }

    pub(crate) fn kind(&self) -> Group {
        self.kind
    }

    pub(crate) fn counts(&self, controller: Controller) -> bool {
        self.parent(controller).is_some()
    }

    pub(crate) fn parent(&self, controller: Controller) -> Option<&Path> {
        match controller {
            Controller::Memory => self.memory.as_deref(),
            Controller::Pids => self.pids.as_deref(),
        }
    }

    /// Every group in which leaves can lie.
    pub(crate) fn parents(&self) -> impl Iterator<Item = &Path> {
        let pids = self.pids.as_deref().filter(|pids| self.memory.as_deref() != Some(pids));
        self.memory.as_deref().into_iter().chain(pids)
    }

    /// What to write for a bound, in order. Swap is memory that a bound would otherwise only slow down.
    pub(crate) fn bounds(&self, controller: Controller, bound: u64) -> Vec<Setting> {
        let setting = |file, value: String, optional| Setting { file, value, optional };
        match (controller, self.kind) {
            (Controller::Pids, _) => vec![setting("pids.max", bound.to_string(), false)],
            (Controller::Memory, Group::CgroupV1) => vec![
                setting("memory.limit_in_bytes", bound.to_string(), false),
                setting("memory.memsw.limit_in_bytes", bound.to_string(), true),
            ],
            (Controller::Memory, Group::CgroupV2) => vec![
                setting("memory.max", bound.to_string(), false),
                setting("memory.swap.max", "0".to_owned(), true),
            ],
        }
    }

    /// The file that counts how often something ran out, and the word before the number.
    pub(crate) fn events(&self, controller: Controller) -> (&'static str, &'static str) {
        match (controller, self.kind) {
            (Controller::Pids, _) => ("pids.events", "max"),
            (Controller::Memory, Group::CgroupV1) => ("memory.oom_control", "oom_kill"),
            (Controller::Memory, Group::CgroupV2) => ("memory.events", "oom_kill"),
        }
    }
}

/// The group of this process in the hierarchy of a controller, or in the one of version 2, and the top of what is mounted
/// of that.
fn own_group(groups: &str, mounts: &str, controller: Option<Controller>) -> Option<(PathBuf, PathBuf)> {
    let own = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_number, names, path) = (fields.next()?, fields.next()?, fields.next()?);
        let ours = match controller {
            None => names.is_empty(),
            Some(controller) => names.split(',').any(|name| name == controller.name()),
        };
        ours.then_some(path)
    })?;
    mounts.lines().find_map(|line| {
        let (mount, filesystem) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let mut fields = filesystem.split(' ');
        let (kind, options) = (fields.next()?, fields.nth(1)?);
        let ours = match controller {
            None => kind == "cgroup2",
            Some(controller) => kind == "cgroup" && options.split(',').any(|option| option == controller.name()),
        };
        // In a container only a part may be mounted. A path with a space in it would be written otherwise here, and is
        // not looked for.
        let beneath = Path::new(own).strip_prefix(root).ok().filter(|_| ours)?;
        let top = PathBuf::from(point);
        let own = if beneath.as_os_str().is_empty() {
            top.clone()
        } else {
            top.join(beneath)
        };
        own.is_dir().then_some((own, top))
    })
}

fn writable(path: &Path) -> bool {
    rustix::fs::access(path, Access::WRITE_OK).is_ok()
}
