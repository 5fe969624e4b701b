//! SOCKS5 as far as a gateway needs it: no authentication, connections only, by name or by address. Reads from no socket.

use super::host_name::{self, HostName};
use std::net::{Ipv4Addr, Ipv6Addr};

/// The first byte of every message.
pub(super) const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const CONNECT: u8 = 1;
const FOUR: u8 = 1;
const NAME: u8 = 3;
const SIX: u8 = 4;

/// What a client is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Granted,
    Failed,
    NotAllowed,
    HostUnreachable,
    CommandUnknown,
    AddressUnknown,
}

impl Answer {
    /// The whole message; the address in it means nothing here.
    pub(super) fn message(self) -> [u8; 10] {
        let code = match self {
            Self::Granted => 0,
            Self::Failed => 1,
            Self::NotAllowed => 2,
            Self::HostUnreachable => 4,
            Self::CommandUnknown => 7,
            Self::AddressUnknown => 8,
        };
        [VERSION, code, 0, FOUR, 0, 0, 0, 0, 0, 0]
    }
}

/// Which method the client is told to use, of those it offers.
pub(super) fn method(offered: &[u8]) -> Result<[u8; 2], [u8; 2]> {
    if offered.contains(&NO_AUTHENTICATION) {
        Ok([VERSION, NO_AUTHENTICATION])
    } else {
        Err([VERSION, 0xff])
    }
}

/// How many bytes follow the first five of a request, which say how long its address is.
pub(super) fn length_after(start: [u8; 5]) -> Result<usize, (Answer, &'static str)> {
    let [version, command, reserved, kind, first] = start;
    if version != VERSION || reserved != 0 {
        return Err((Answer::Failed, "the request is not one of SOCKS5"));
    }
    if command != CONNECT {
        return Err((Answer::CommandUnknown, "only connections can be made"));
    }
    // One byte of the address has been read; two of the port follow.
    match kind {
        FOUR => Ok(3 + 2),
        NAME => Ok(usize::from(first) + 2),
        SIX => Ok(15 + 2),
        _ => Err((Answer::AddressUnknown, "the kind of address is unknown")),
    }
}

/// Reads the address and port; `rest` has the length that [`length_after`] told.
pub(super) fn target(start: [u8; 5], rest: &[u8]) -> Result<(HostName, u16), &'static str> {
    const FAULT: &str = "the address is cut short";
    let (address, port) = rest.split_last_chunk::<2>().ok_or(FAULT)?;
    let [.., kind, first] = start;
    let host = match kind {
        NAME => HostName::parse(address)?,
        FOUR => {
            let bytes: [u8; 3] = address.try_into().map_err(|_| FAULT)?;
            let [second, third, fourth] = bytes;
            host_name::checked(Ipv4Addr::new(first, second, third, fourth).into())?
        }
        _ => {
            let bytes: [u8; 15] = address.try_into().map_err(|_| FAULT)?;
            let mut all = [first; 16];
            all.iter_mut()
                .skip(1)
                .zip(bytes)
                .for_each(|(place, byte)| *place = byte);
            host_name::checked(Ipv6Addr::from(all).into())?
        }
    };
    match u16::from_be_bytes(*port) {
        0 => Err("port 0 is none"),
        port => Ok((host, port)),
    }
}

#[cfg(test)]
#[path = "socks_tests.rs"]
mod tests;
