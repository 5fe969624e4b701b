//! The list of hosts and ports that a command may reach, and the one place that compares a request with it. An entry is
//! exact, or `*.` and a domain for every host beneath it. Knows nothing of connections.

use super::address;
use super::host_name::{self, HostName};
use crate::Error;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// The most entries of a list.
const ENTRIES: usize = 128;
/// What ends an entry whose name may lead to addresses that are not public.
const PRIVATE: &str = "+private";

/// Which hosts an entry means.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    Exactly(HostName),
    /// Every name below this one, and not it.
    Beneath(String),
}

/// One entry: `HOST:PORT`, `*.DOMAIN:PORT`, `ADDRESS:PORT` or `[ADDRESS]:PORT`. A name must lead to public addresses only,
/// unless the entry ends in `+private`; an address that is written out means itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    hosts: Pattern,
    port: u16,
    private: bool,
}

/// One to 128 entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct AllowList {
    entries: Arc<[Entry]>,
}

impl Entry {
    fn parse(text: &str) -> Result<Self, Error> {
        let fault = |reason| Error::NetworkEntry {
            entry: text.to_owned(),
            reason,
        };
        let (rest, private) = match text.strip_suffix(PRIVATE) {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let (domain, written) = match rest.strip_prefix("*.") {
            Some(domain) => (true, domain),
            None => (false, rest),
        };
        let (host, port) = host_name::authority(written.as_bytes()).map_err(fault)?;
        let port = port.ok_or(fault("a port is needed, as in `example.org:443`"))?;
        let hosts = match (domain, host) {
            (false, host) => Pattern::Exactly(host),
            (true, HostName::Name(name)) if name.contains('.') => Pattern::Beneath(name),
            (true, HostName::Name(_)) => return Err(fault("after `*.` comes a domain of two parts or more")),
            (true, HostName::Address(_)) => return Err(fault("there is nothing beneath an address")),
        };
        if private && matches!(hosts, Pattern::Exactly(HostName::Address(_))) {
            return Err(fault("an address means itself: leave `+private` out"));
        }
        Ok(Self { hosts, port, private })
    }

    fn means(&self, host: &HostName, port: u16) -> bool {
        let meant = match (&self.hosts, host) {
            (Pattern::Exactly(own), host) => own == host,
            (Pattern::Beneath(domain), HostName::Name(name)) => name
                .strip_suffix(domain.as_str())
                .is_some_and(|above| above.len() > 1 && above.ends_with('.')),
            (Pattern::Beneath(_), HostName::Address(_)) => false,
        };
        meant && self.port == port
    }

    /// Whether a host of this entry may lead to an address.
    ///
    /// # Errors
    /// What the address is instead of public.
    pub(super) fn may_lead_to(&self, address: IpAddr) -> Result<(), &'static str> {
        match (&self.hosts, self.private) {
            (Pattern::Exactly(HostName::Address(own)), _) if *own == address => Ok(()),
            (_, true) => Ok(()),
            (_, false) => address::not_public(address).map_or(Ok(()), Err),
        }
    }
}

impl AllowList {
    /// Reads the entries of a list.
    ///
    /// # Errors
    /// [`Error::NetworkEntry`], naming the entry and what is wrong with it; also when there is none, or more than 128.
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, Error> {
        let entries: Arc<[Entry]> = entries.into_iter().map(Entry::parse).collect::<Result<_, _>>()?;
        match entries.len() {
            1..=ENTRIES => Ok(Self { entries }),
            count => Err(Error::NetworkEntry {
                entry: format!("{count} entries"),
                reason: "a list has 1 to 128 entries",
            }),
        }
    }

    /// The entry that allows a host and port; without one they are refused.
    #[must_use]
    pub fn entry_for(&self, host: &HostName, port: u16) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.means(host, port))
    }

    /// Whether a host is written out in the list, with any port.
    pub(super) fn names(&self, host: &HostName) -> bool {
        let own = |entry: &Entry| matches!(&entry.hosts, Pattern::Exactly(own) if own == host);
        self.entries.iter().any(own)
    }
}

impl TryFrom<Vec<String>> for AllowList {
    type Error = Error;

    fn try_from(entries: Vec<String>) -> Result<Self, Error> {
        Self::parse(entries.iter().map(String::as_str))
    }
}

impl From<AllowList> for Vec<String> {
    fn from(list: AllowList) -> Self {
        list.entries.iter().map(ToString::to_string).collect()
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hosts {
            Pattern::Exactly(host) => host.fmt(formatter)?,
            Pattern::Beneath(domain) => write!(formatter, "*.{domain}")?,
        }
        let private = if self.private { PRIVATE } else { "" };
        write!(formatter, ":{}{private}", self.port)
    }
}

impl fmt::Display for AllowList {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, entry) in self.entries.iter().enumerate() {
            let between = if place == 0 { "" } else { "," };
            write!(formatter, "{between}{entry}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "allow_list_tests.rs"]
mod tests;
