//! Hosts and ports as entries and clients may write them: one spelling each, byte for byte, so that no two programs can
//! read a name differently. What other parsers forgive is refused here. Resolves nothing.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest name, as DNS has it.
const NAME_BYTES: usize = 253;
const LABEL_BYTES: usize = 63;

/// A host, by name or by address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum HostName {
    /// In lower case, without a dot at its end.
    Name(String),
    /// Never an IPv4 address in the clothes of an IPv6 one.
    Address(IpAddr),
}

impl HostName {
    /// Reads a host: a name of letters, digits and `-`, four decimal numbers, or an IPv6 address in brackets.
    ///
    /// # Errors
    /// Why it is none, in words.
    pub fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        match bytes.strip_prefix(b"[") {
            Some(rest) => ipv6(rest.strip_suffix(b"]").ok_or("a bracket is not closed")?),
            None => name(bytes),
        }
    }
}

impl HostName {
    /// Reads `HOST` or `HOST:PORT`.
    ///
    /// # Errors
    /// Why it is neither, in words.
    pub fn with_port(bytes: &[u8]) -> Result<(Self, Option<u16>), &'static str> {
        authority(bytes)
    }
}

fn ipv6(bytes: &[u8]) -> Result<HostName, &'static str> {
    const FAULT: &str = "what stands in brackets is not a plain IPv6 address";
    // The standard library reads no zone (`%eth0`), and nothing but the address.
    let address: Ipv6Addr = std::str::from_utf8(bytes)
        .map_err(|_| FAULT)?
        .parse()
        .map_err(|_| FAULT)?;
    checked(IpAddr::V6(address))
}

/// An address as clients may give it in binary.
pub(super) fn checked(address: IpAddr) -> Result<HostName, &'static str> {
    match address {
        IpAddr::V6(six) if six.to_ipv4_mapped().is_some() => Err("an IPv4 address is written as one"),
        IpAddr::V4(_) | IpAddr::V6(_) => Ok(HostName::Address(address)),
    }
}

fn name(bytes: &[u8]) -> Result<HostName, &'static str> {
    if bytes.is_empty() {
        return Err("the host is empty");
    }
    if bytes.len() > NAME_BYTES {
        return Err("the host is longer than 253 bytes");
    }
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    if !bytes.iter().all(plain) {
        return Err("a host is letters, digits, `-` and `.` only, and other scripts are written as `xn--`");
    }
    if bytes.ends_with(b".") {
        return Err("a host has no dot at its end");
    }
    let mut last: &[u8] = &[];
    for label in bytes.split(|byte| *byte == b'.') {
        if label.is_empty() || label.len() > LABEL_BYTES {
            return Err("each part of a host has 1 to 63 bytes");
        }
        if label.starts_with(b"-") || label.ends_with(b"-") {
            return Err("no part of a host begins or ends with `-`");
        }
        last = label;
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "a host is ASCII")?;
    if is_number(last) {
        // Short, octal and hexadecimal forms mean an address to some programs and a name to others.
        let address: Ipv4Addr = text
            .parse()
            .map_err(|_| "a host that ends in a number is an IPv4 address of four decimal numbers")?;
        return Ok(HostName::Address(address.into()));
    }
    Ok(HostName::Name(text.to_ascii_lowercase()))
}

fn is_number(label: &[u8]) -> bool {
    let hexadecimal = label.strip_prefix(b"0x").or_else(|| label.strip_prefix(b"0X"));
    match hexadecimal {
        Some(digits) => digits.iter().all(u8::is_ascii_hexdigit),
        None => label.iter().all(u8::is_ascii_digit),
    }
}

/// Reads a port: decimal digits, 1 to 65535, without a sign or a zero in front.
pub(super) fn port(bytes: &[u8]) -> Result<u16, &'static str> {
    const FAULT: &str = "a port is a decimal number from 1 to 65535 without a zero in front";
    if bytes.starts_with(b"0") || bytes.len() > 5 || !bytes.iter().all(u8::is_ascii_digit) {
        return Err(FAULT);
    }
    std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(FAULT)
}

/// Reads `HOST` or `HOST:PORT`.
pub(super) fn authority(bytes: &[u8]) -> Result<(HostName, Option<u16>), &'static str> {
    let end_of_host = match bytes.first() {
        Some(b'[') => bytes.iter().position(|byte| *byte == b']').map(|place| place + 1),
        Some(_) | None => bytes.iter().position(|byte| *byte == b':'),
    };
    let (host, rest) = bytes.split_at(end_of_host.unwrap_or(bytes.len()));
    let port = match rest.strip_prefix(b":") {
        Some(digits) => Some(port(digits)?),
        None if rest.is_empty() => None,
        None => return Err("only a port may follow the host"),
    };
    Ok((HostName::parse(host)?, port))
}

impl fmt::Display for HostName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => formatter.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(formatter),
            Self::Address(IpAddr::V6(address)) => write!(formatter, "[{address}]"),
        }
    }
}

#[cfg(test)]
#[path = "host_name_tests.rs"]
mod tests;
