//! What a command did through the gateway, connection by connection, as it is written down.

use coder_digest::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;

/// How many connections are listed; more are counted.
pub(super) const LISTED: usize = 512;

/// What became of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// An entry allows it, and it came about.
    Allowed,
    /// No entry allows it, or its request cannot be read in one way only, or its name leads where it must not.
    Refused,
    /// An entry allows it, and it did not come about.
    Failed,
}

/// One connection of a command to the gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// When it was made.
    pub time: Timestamp,
    /// The host it asked for; absent where the request could not be read.
    pub host: Option<String>,
    /// The port it asked for.
    pub port: Option<u16>,
    /// What became of it.
    pub verdict: Verdict,
    /// The entry that allows it.
    pub rule: Option<String>,
    /// Why it was refused or failed.
    pub reason: Option<String>,
    /// Where it led.
    pub address: Option<IpAddr>,
    /// Bytes from the command to the host.
    pub sent_bytes: u64,
    /// Bytes from the host to the command.
    pub received_bytes: u64,
}

/// All connections of one command, the first 512 of them in full.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connections {
    /// In the order they were made.
    pub listed: Vec<Connection>,
    /// How many came after those.
    pub omitted: u64,
}

impl Connections {
    /// Those that were refused or failed.
    pub fn denied(&self) -> impl Iterator<Item = &Connection> {
        self.listed
            .iter()
            .filter(|connection| connection.verdict != Verdict::Allowed)
    }
}

impl Connection {
    pub(super) fn new(time: Timestamp) -> Self {
        Self {
            time,
            host: None,
            port: None,
            verdict: Verdict::Refused,
            rule: None,
            reason: None,
            address: None,
            sent_bytes: 0,
            received_bytes: 0,
        }
    }
}

impl fmt::Display for Connection {
    /// One line for people.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.host, self.port) {
            (Some(host), Some(port)) => write!(formatter, "{host}:{port}")?,
            (Some(_) | None, _) => formatter.write_str("a request that names no host")?,
        }
        formatter.write_str(match self.verdict {
            Verdict::Allowed => " allowed",
            Verdict::Refused => " refused",
            Verdict::Failed => " failed",
        })?;
        match &self.reason {
            Some(reason) => write!(formatter, ": {reason}"),
            None => Ok(()),
        }
    }
}
