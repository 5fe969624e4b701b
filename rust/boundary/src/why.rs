//! Whether a command may do something, and by which rule: worked out from the very steps and Landlock rules that its
//! processes carry out, so that the answer cannot differ from what is enforced. Enforces nothing, and starts nothing.

mod view;

pub(crate) use view::Seen;

use self::view::{Node, View};
use crate::layers::Layer;
use crate::policy::Network;
use crate::{Boundary, HostName, Level};
use landlock::{AccessFs, BitFlags};
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};

/// Something a command may do to a path or a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Read a file.
    Read,
    /// Change a file, or what is in a directory; where nothing is, make it.
    Write,
    /// Execute a file.
    Execute,
    /// List a directory.
    List,
    /// Connect to a host and port.
    Connect,
}

impl Act {
    /// The name used in records and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Execute => "execute",
            Self::List => "list",
            Self::Connect => "connect",
        }
    }
}

impl fmt::Display for Act {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// What a command finds at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// A directory.
    Directory,
    /// Anything else.
    File,
    /// Nothing, here or on the host.
    Nothing,
    /// Nothing, though there is something on the host.
    Hidden,
    /// It is no path.
    Host,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Why {
    /// What is there.
    pub found: Found,
    /// What may be done to it.
    pub allowed: Vec<Act>,
    /// What could be done to such a thing, and may not.
    pub refused: Vec<Act>,
    /// What decides it, in words.
    pub rule: String,
}

impl Boundary {
    /// What a command may do to a path, which is absolute. Links are followed as the command would follow them.
    #[must_use]
    pub fn why(&self, path: &Path) -> Why {
        let Some(prepared) = &self.prepared else {
            let steps = self.guard.iter().flat_map(|guard| guard.steps());
            let seen = View::new(steps).look(path);
            let rule = match seen.read_only && self.guard.is_some() {
                true => "full access: the source checkout and what leads around it are held read-only",
                false => "no boundary: this user's own rights",
            };
            return answer(&seen, BitFlags::all(), rule.to_owned());
        };
        let rooted = prepared.seclusion.ground.gives(Layer::AssembledRoot);
        let view = if rooted {
            View::new(prepared.acts.iter().map(|act| &act.step))
        } else {
            View::of_the_host()
        };
        let seen = view.look(path);
        let rights = prepared.files.rights();
        let granted = rights
            .filter(|_| prepared.seclusion.ground.gives(Layer::Landlock))
            .map_or(BitFlags::all(), |rights| rights.at(&seen.path));
        let rule = if rooted {
            self.rule(&seen, path)
        } else {
            self.rule_on_the_host(&seen, granted)
        };
        answer(&seen, granted, rule)
    }

    /// Whether a command may connect to a host and port.
    #[must_use]
    pub fn why_host(&self, host: &HostName, port: u16) -> Why {
        let (allowed, rule) = match &self.network {
            Network::Host => (true, "network `host`: this computer's own network".to_owned()),
            Network::None => (
                false,
                "network `none`: nothing but a loopback of the command's own".to_owned(),
            ),
            Network::Allow(list) => match list.entry_for(host, port) {
                Some(entry) => (true, format!("network entry `{entry}`, through the gateway")),
                None => (false, format!("network `allow`: not in the list {list}")),
            },
        };
        let (granted, kept) = (vec![Act::Connect], Vec::new());
        let (allowed, refused) = if allowed { (granted, kept) } else { (kept, granted) };
        Why {
            found: Found::Host,
            allowed,
            refused,
            rule,
        }
    }

    /// Why names cannot be resolved and nothing can be reached directly; `None` with the host's network.
    #[must_use]
    pub fn why_offline(&self) -> Option<String> {
        match &self.network {
            Network::Host => None,
            Network::None => Some("network `none`: nothing but a loopback of the command's own".to_owned()),
            Network::Allow(list) => Some(format!(
                "network `allow`: only {list}, and only through the proxy that the environment names"
            )),
        }
    }

    /// The same where the files are the host's own.
    fn rule_on_the_host(&self, seen: &Seen, granted: BitFlags<AccessFs>) -> String {
        let level = self.planned().level.map(Level::name).unwrap_or_default();
        if granted == BitFlags::all() && self.planned().landlock.is_none() {
            return format!("level `{level}`: this user's own rights");
        }
        let around = self.roles.iter().filter(|(path, _)| seen.path.starts_with(path));
        match around.max_by_key(|(path, _)| path.components().count()) {
            Some((path, role)) => format!("{role} `{}`, held by Landlock", path.display()),
            None if granted.is_empty() => format!("not granted: Landlock refuses `{}`", seen.path.display()),
            None => "the system's, held by Landlock".to_owned(),
        }
    }

    /// Which part of the policy a place belongs to, in words.
    fn rule(&self, seen: &Seen, asked: &Path) -> String {
        let at = seen.mounted.display();
        let may_be_made = seen.in_directory && !seen.read_only;
        if seen.hidden && !may_be_made {
            let sealed = self.sealed.iter().find(|sealed| seen.path.starts_with(sealed));
            return match sealed {
                Some(sealed) => format!("sealed: `{}` is out of reach whatever is granted", sealed.display()),
                None => format!("not granted: a command does not see `{}`", asked.display()),
            };
        }
        let mode = if seen.read_only { "read-only" } else { "writable" };
        match self.roles.iter().find(|(path, _)| *path == seen.mounted) {
            Some((_, role)) => format!("{role} `{at}`, shown {mode}"),
            None => match seen.origin {
                view::Origin::System => format!("the system's `{at}`, shown read-only"),
                view::Origin::Own => format!("the boundary's own `{at}`, {mode}"),
                view::Origin::Covered => format!("sealed: something empty stands at `{at}`"),
            },
        }
    }
}

/// The acts that mount, Landlock and the file's own mode all allow.
fn answer(seen: &Seen, granted: BitFlags<AccessFs>, rule: String) -> Why {
    let may = |right| granted.contains(right);
    let (found, acts): (Found, Vec<(Act, bool)>) = match seen.node {
        Node::Directory => (
            Found::Directory,
            vec![
                (Act::List, may(AccessFs::ReadDir) && seen.permitted.read),
                (
                    Act::Write,
                    may(AccessFs::MakeReg) && !seen.read_only && seen.permitted.write && seen.permitted.execute,
                ),
            ],
        ),
        Node::File => (
            Found::File,
            vec![
                (Act::Read, may(AccessFs::ReadFile) && seen.permitted.read),
                (
                    Act::Write,
                    may(AccessFs::WriteFile) && !seen.read_only && seen.permitted.write,
                ),
                (
                    Act::Execute,
                    may(AccessFs::Execute) && !seen.no_execution && seen.permitted.execute,
                ),
            ],
        ),
        Node::Nothing => (
            if seen.hidden { Found::Hidden } else { Found::Nothing },
            vec![
                (Act::Read, false),
                (
                    Act::Write,
                    seen.in_directory && may(AccessFs::MakeReg) && !seen.read_only && seen.permitted.write,
                ),
            ],
        ),
    };
    let of = |wanted| {
        acts.iter()
            .filter(|(_, may)| *may == wanted)
            .map(|(act, _)| *act)
            .collect()
    };
    Why {
        found,
        allowed: of(true),
        refused: of(false),
        rule,
    }
}

impl Why {
    /// Whether something may be done; without a name, anything.
    #[must_use]
    pub fn allows(&self, act: Option<Act>) -> bool {
        act.map_or(!self.allowed.is_empty(), |act| self.allowed.contains(&act))
    }
}

/// The granted places and what they were granted as, for words.
pub(crate) type Roles = Vec<(PathBuf, &'static str)>;
