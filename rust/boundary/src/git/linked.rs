//! A linked worktree: its repository lies elsewhere and is read-only as a whole. A quarantine, where there is one, is
//! mounted over what Git writes: the object store, the worktree's own directory, the directory of the run's branch.
//! No variable of the environment takes part, which a command could unset and which every other repository would obey.

use super::{Shown, directory};
use crate::Error;
use crate::paths::{Granted, Kind};
use crate::policy::{Mode, Quarantine};
use std::path::{Component, Path};

/// What steers Git in the worktree's own directory. Only the command's own Git would obey a changed copy; held all the
/// same, so that every Git of a run speaks of one repository.
const GUARDS: [&str; 3] = ["commondir", "gitdir", "config.worktree"];

pub(super) struct Linked<'a> {
    pub(super) common: &'a Path,
    pub(super) admin: &'a Path,
    pub(super) quarantine: Option<&'a Quarantine>,
}

impl Linked<'_> {
    pub(super) fn shown(&self, workspace: Option<&Granted>, mode: Mode) -> Result<Shown, Error> {
        let mut shown = Shown::default();
        let common = directory("common Git directory", self.common, Mode::Read)?;
        let admin = directory("worktree Git directory", self.admin, Mode::Read)?;
        if admin.path.parent() != Some(&common.path.join("worktrees")) {
            return Err(Error::GitPlace {
                path: admin.path,
                expected: common.path.join("worktrees"),
            });
        }
        let (common_path, admin_path) = (common.path.clone(), admin.path);
        shown.grants.push(common);
        if let Some(quarantine) = self.quarantine {
            shown.overlay(quarantine, &common_path, &admin_path, mode)?;
        }
        if let Some(workspace) = workspace.filter(|_| mode == Mode::Write) {
            shown.guard(&workspace.path, ".git", Kind::File)?;
        }
        Ok(shown)
    }
}

impl Shown {
    fn overlay(&mut self, quarantine: &Quarantine, common: &Path, admin: &Path, mode: Mode) -> Result<(), Error> {
        let own = |role, name: &str| directory(role, &quarantine.directory.join(name), mode);
        let objects = own("quarantine of objects", "objects")?;
        let information = objects.path.join("info");
        let place = common.join("objects");
        self.grants.push(objects.shown_at(place.clone()));
        self.hold(place.join("info"), Some(information), Kind::Directory);

        let real = directory("Git object store", &place, Mode::Read)?;
        let borrows = real.path.join("info/alternates").exists();
        self.grants.push(real.shown_at(quarantine.real_objects.clone()));
        if borrows {
            // A relative path in it would count from where the store is shown. The quarantine names all of them.
            self.covered.push(quarantine.real_objects.join("info/alternates"));
        }
        for borrowed in &quarantine.borrowed {
            self.grants
                .push(directory("borrowed Git object store", borrowed, Mode::Read)?);
        }

        if let Some(branch) = &quarantine.branch_directory {
            check_branch_directory(branch)?;
            let places = [
                ("references", common.join(branch)),
                ("logs", common.join("logs").join(branch)),
            ];
            for (name, place) in places {
                let there = directory("branch directory", &place, Mode::Read)?;
                if there.path != place {
                    return Err(Error::GitLink { path: place });
                }
                self.grants.push(own("quarantine of branches", name)?.shown_at(place));
            }
        }

        let private = own("quarantine of the worktree", "admin")?;
        for name in GUARDS {
            self.hold(admin.join(name), Some(private.path.join(name)), Kind::File);
        }
        // The repositories of submodules are not copied.
        let modules = admin.join("modules");
        if modules.is_dir() && private.path.join("modules").is_dir() {
            let modules = directory("Git directories of submodules", &modules, Mode::Read)?;
            let place = modules.path.clone();
            self.grants.push(modules.shown_at(place));
        }
        self.grants.push(private.shown_at(admin.to_path_buf()));
        Ok(())
    }
}

fn check_branch_directory(branch: &Path) -> Result<(), Error> {
    let plain = branch
        .components()
        .all(|component| matches!(component, Component::Normal(_)));
    // `refs/heads` itself would be every branch of the repository.
    if plain && branch.starts_with("refs/heads") && branch.components().count() > 2 {
        Ok(())
    } else {
        Err(Error::GitBranch {
            path: branch.to_path_buf(),
        })
    }
}
