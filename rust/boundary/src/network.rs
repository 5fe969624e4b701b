//! Which network a command sees: how it is written, and the gateway, the one way out of a network namespace to hosts that
//! were listed. The gateway is a forward proxy in the host whose listener lies inside; it compares, resolves and records.
//! It looks at no traffic: what a listed host serves under which name (SNI, `Host` within a tunnel) is between the two.

mod address;
mod allow_list;
mod conversation;
mod gateway;
mod host_name;
mod http;
mod record;
mod relay;
mod shared;
mod socks;

pub use allow_list::{AllowList, Entry};
pub use gateway::{Gateway, Outside, Resolve};
pub use host_name::HostName;
pub use record::{Connection, Connections, Verdict};

pub(crate) use gateway::{PORT, variables};

use crate::{Error, Network};
use std::fmt;
use std::str::FromStr;

/// What begins a list of hosts in words.
const ALLOW: &str = "allow:";

impl FromStr for Network {
    type Err = Error;

    /// `none`, `host`, or `allow:` and entries with commas between them; see [`Entry`].
    fn from_str(text: &str) -> Result<Self, Error> {
        match (text, text.strip_prefix(ALLOW)) {
            ("none", _) => Ok(Self::None),
            ("host", _) => Ok(Self::Host),
            (_, Some(entries)) => Ok(Self::Allow(AllowList::parse(entries.split(','))?)),
            (_, None) => Err(Error::NetworkEntry {
                entry: text.to_owned(),
                reason: "a network is `none`, `host` or `allow:HOST:PORT[,HOST:PORT…]`",
            }),
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => formatter.write_str("none"),
            Self::Host => formatter.write_str("host"),
            Self::Allow(list) => write!(formatter, "{ALLOW}{list}"),
        }
    }
}
