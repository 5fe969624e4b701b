//! Where requests may go: https to any host, plain http to this computer only. No user information, query or fragment, so
//! that an address in a record or an error can hold no credential.

use crate::error::Error;
use std::fmt;
use url::{Host, Url};

/// A checked base address, such as `https://api.example.com/v1`.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint(Url);

impl Endpoint {
    /// Checks an address.
    ///
    /// # Errors
    /// [`Error::Endpoint`] saying which rule it breaks; the address itself is not repeated.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let refuse = |reason: &'static str| Err(Error::Endpoint { reason });
        // The parser silently drops these; an address in a grant must mean what it reads.
        if text
            .chars()
            .any(|character| character.is_control() || character.is_whitespace() || character == '\\')
        {
            return refuse("it holds white space, a control character or a backslash");
        }
        let Ok(url) = Url::parse(text) else {
            return refuse("it is no absolute URL");
        };
        if !url.username().is_empty() || url.password().is_some() || text.contains('@') {
            return refuse("it holds user information; give the key by an environment variable");
        }
        if url.query().is_some() || url.fragment().is_some() {
            return refuse("it holds a query or a fragment");
        }
        let Some(host) = url.host() else {
            return refuse("it names no host");
        };
        match url.scheme() {
            "https" => Ok(Self(url)),
            "http" if is_loopback(&host) => Ok(Self(url)),
            "http" => refuse("plain http goes to this computer only (127.0.0.1, [::1], localhost); use https"),
            _ => refuse("it is neither https nor http"),
        }
    }

    /// The address of `path` below this one.
    pub(crate) fn below(&self, path: &str) -> String {
        format!("{}/{path}", self.0.as_str().trim_end_matches('/'))
    }

    /// The address as text, without a slash at its end.
    pub fn as_str(&self) -> &str {
        self.0.as_str().trim_end_matches('/')
    }
}

fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
        // The one name the resolver must keep on this computer (RFC 6761); a name below it is not as certain.
        Host::Domain(name) => name.eq_ignore_ascii_case("localhost"),
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), formatter)
    }
}

#[cfg(test)]
#[path = "endpoint_tests.rs"]
mod tests;
