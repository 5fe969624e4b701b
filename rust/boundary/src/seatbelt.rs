//! The same policy as a profile for macOS's Seatbelt (`sandbox-exec -p`). A text and nothing else: this crate enforces on
//! Linux, and no profile was ever run where it was tested. Denies come before allows, and since the last rule that matches
//! decides, what must stay out of reach inside an allowed tree is cut out of the allowing rule itself.

use crate::Error;
use crate::git::guarded_names;
use crate::network::PORT;
use crate::policy::{Access, GitView, Mode, Network, Policy};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What ordinary programs read of the system.
const SYSTEM: [&str; 14] = [
    "/System",
    "/Library/Apple",
    "/Library/Preferences/com.apple.networkd.plist",
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/lib",
    "/usr/libexec",
    "/usr/sbin",
    "/usr/share",
    "/private/etc/hosts",
    "/private/etc/passwd",
    "/private/etc/ssl",
    "/private/var/db/timezone",
];

/// What only a command with the host's network reads.
const FOR_NETWORK: [&str; 2] = ["/private/etc/resolv.conf", "/private/var/run/resolv.conf"];

/// Devices that harm nobody.
const DEVICES: [&str; 6] = [
    "/dev/null",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/dtracehelper",
];

/// Services that the C library itself asks.
const SERVICES: [&str; 3] = [
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.logger",
    "com.apple.system.notification_center",
];
/// Services that resolve names.
const NAME_SERVICES: [&str; 2] = ["com.apple.dnssd.service", "com.apple.SystemConfiguration.configd"];

/// Writes the profile of a policy, with the private directory that commands have as home and for temporary files. Paths are
/// taken as they are written: whoever uses the profile resolves them first, since Seatbelt compares real paths.
///
/// # Errors
/// [`Error::NotAbsolute`]; [`Error::Reserved`] for the root; [`Error::Unwritable`] for a path that no profile can name;
/// [`Error::MeetsSealed`] for a granted path inside a sealed one, and for a writable one around it.
pub fn seatbelt_profile(policy: &Policy, scratch: &Path) -> Result<String, Error> {
    if policy.access == Access::Full {
        return Ok("(version 1)\n(allow default)\n".to_owned());
    }
    let trees = Trees::of(policy, scratch)?;
    let mut text = String::from(
        "(version 1)\n(deny default)\n(deny file-read* file-write* process-exec*)\n(deny network*)\n\
         (allow process-fork)\n(allow signal (target same-sandbox))\n(allow process-info* (target same-sandbox))\n\
         (allow sysctl-read)\n(allow file-ioctl (regex #\"^/dev/ttys[0-9]+$\"))\n(allow pseudo-tty)\n\
         (allow file-read-metadata)\n(allow file-read* (literal \"/\"))\n",
    );
    let mut push = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    let services = SERVICES.iter().chain(match policy.network {
        Network::Host => NAME_SERVICES.iter(),
        Network::None | Network::Allow(_) => [].iter(),
    });
    for service in services {
        push(&format!("(allow mach-lookup (global-name \"{service}\"))"));
    }
    for path in SYSTEM.iter().chain(match policy.network {
        Network::Host => FOR_NETWORK.iter(),
        Network::None | Network::Allow(_) => [].iter(),
    }) {
        push(&format!("(allow file-read* process-exec* (subpath \"{path}\"))"));
    }
    for path in DEVICES {
        push(&format!("(allow file-read* file-write-data (literal \"{path}\"))"));
    }
    for tree in &trees.readable {
        push(&format!(
            "(allow file-read* process-exec* {})",
            tree.filter(&trees.sealed, &[])?
        ));
    }
    for tree in &trees.writable {
        push(&format!(
            "(allow file-read* process-exec* {})",
            tree.filter(&trees.sealed, &[])?
        ));
        push(&format!(
            "(allow file-write* {})",
            tree.filter(&trees.sealed, &trees.fixed)?
        ));
    }
    match &policy.network {
        Network::Host => push("(allow network* system-socket)"),
        // Without a namespace the loopback is the host's own; the admission's label says so.
        Network::None => push(LOOPBACK),
        Network::Allow(_) => {
            push(LOOPBACK);
            push(&format!("(allow network-outbound (remote ip \"localhost:{PORT}\"))"));
        }
    }
    for tree in &trees.writable {
        push(&format!(
            "(allow network* (local unix-socket {}))",
            tree.filter(&trees.sealed, &[])?
        ));
        push(&format!(
            "(allow network-outbound (remote unix-socket {}))",
            tree.filter(&trees.sealed, &[])?
        ));
    }
    Ok(text)
}

/// Servers of the command's own.
const LOOPBACK: &str =
    "(allow network* (local ip \"localhost:*\"))\n(allow network-outbound (remote ip \"localhost:*\"))";

/// The policy's paths, checked against each other.
#[derive(Default)]
struct Trees {
    readable: Vec<Tree>,
    writable: Vec<Tree>,
    sealed: Vec<PathBuf>,
    /// What stays as it is in a writable tree.
    fixed: Vec<PathBuf>,
}

struct Tree(PathBuf);

impl Trees {
    fn of(policy: &Policy, scratch: &Path) -> Result<Self, Error> {
        let mut trees = Self::default();
        for path in &policy.sealed {
            trees.sealed.push(checked("sealed path", path)?);
        }
        if let Some(workspace) = &policy.workspace {
            trees.grant("workspace", &workspace.path, workspace.mode)?;
        }
        for path in &policy.writes {
            trees.grant("write", path, Mode::Write)?;
        }
        for path in policy
            .reads
            .iter()
            .chain(policy.exact_reads.iter().map(|file| &file.path))
        {
            trees.grant("read", path, Mode::Read)?;
        }
        match &policy.git {
            // Nothing can stand in place of something else here: of the repository only its worktree is written to.
            Some(GitView::Linked { common, admin, .. }) => {
                trees.grant("Git directory", common, Mode::Read)?;
                trees.grant("Git directory", admin, Mode::Read)?;
            }
            Some(GitView::Checkout { git_dir }) => {
                let git_dir = checked("Git directory", git_dir)?;
                trees.fixed.extend(guarded_names().map(|name| git_dir.join(name)));
            }
            None => {}
        }
        for path in &policy.guarded {
            trees.fixed.push(checked("guarded path", path)?);
        }
        trees.grant("scratch", scratch, Mode::Write)?;
        Ok(trees)
    }

    fn grant(&mut self, role: &'static str, path: &Path, mode: Mode) -> Result<(), Error> {
        let path = checked(role, path)?;
        for sealed in &self.sealed {
            if path.starts_with(sealed) || (mode == Mode::Write && sealed.starts_with(&path)) {
                return Err(Error::MeetsSealed {
                    role,
                    path,
                    sealed: sealed.clone(),
                });
            }
        }
        match mode {
            Mode::Read => self.readable.push(Tree(path)),
            Mode::Write => self.writable.push(Tree(path)),
        }
        Ok(())
    }
}

impl Tree {
    /// Everything beneath, without what lies in it and is sealed or fixed. A fixed name can be neither replaced nor
    /// removed, and neither can what leads to it.
    fn filter(&self, sealed: &[PathBuf], fixed: &[PathBuf]) -> Result<String, Error> {
        let mut cuts = String::new();
        for path in sealed.iter().chain(fixed).filter(|path| path.starts_with(&self.0)) {
            push_cut(&mut cuts, "subpath", path)?;
        }
        let mut leading: Vec<&Path> = fixed
            .iter()
            .filter(|path| path.starts_with(&self.0))
            .flat_map(|path| path.ancestors().skip(1).take_while(|above| above.starts_with(&self.0)))
            .filter(|above| *above != self.0)
            .collect();
        leading.sort_unstable();
        leading.dedup();
        for path in leading {
            push_cut(&mut cuts, "literal", path)?;
        }
        let tree = format!("(subpath {})", quoted(&self.0)?);
        Ok(if cuts.is_empty() {
            tree
        } else {
            format!("(require-all {tree}{cuts})")
        })
    }
}

fn push_cut(cuts: &mut String, kind: &str, path: &Path) -> Result<(), Error> {
    // Writing to a string cannot fail.
    let _written = write!(cuts, " (require-not ({kind} {}))", quoted(path)?);
    Ok(())
}

fn checked(role: &'static str, path: &Path) -> Result<PathBuf, Error> {
    let path = path.to_path_buf();
    if !path.is_absolute() {
        return Err(Error::NotAbsolute { role, path });
    }
    if path == Path::new("/") {
        return Err(Error::Reserved { role, path });
    }
    Ok(path)
}

/// A path as a profile writes it. What its language has no plain form for is refused instead of guessed at.
fn quoted(path: &Path) -> Result<String, Error> {
    let plain = path.to_str().filter(|text| !text.chars().any(char::is_control));
    let text = plain.ok_or_else(|| Error::Unwritable {
        path: path.to_path_buf(),
    })?;
    Ok(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}

#[cfg(test)]
#[path = "seatbelt_tests.rs"]
mod tests;
