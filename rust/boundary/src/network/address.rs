//! Which addresses are public. A name that was listed must not lead back into this machine, its network or its cloud's
//! metadata service, whatever a name server answers. A table, and nothing else.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 ranges that are not public: first address, bits of the prefix, what they are.
const FOUR: [(Ipv4Addr, u32, &str); 15] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, "an address of this host"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "a private address"),
    (
        Ipv4Addr::new(100, 64, 0, 0),
        10,
        "an address of a provider's own network",
    ),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "a loopback address"),
    (
        Ipv4Addr::new(169, 254, 0, 0),
        16,
        "a link-local address, where clouds keep their metadata",
    ),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "a private address"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "a reserved address"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "an address of documentation"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "a reserved address"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "a private address"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "a private address"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "an address of documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "an address of documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "a multicast address"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "a reserved address"),
];

/// IPv6 ranges within the global one that are not public, or hold an IPv4 address whose way nobody here can tell.
const SIX: [(Ipv6Addr, u32, &str); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "a reserved address"),
    (
        Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0),
        32,
        "an address of documentation",
    ),
    (
        Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0),
        16,
        "an IPv4 address in other clothes",
    ),
    (
        Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0),
        20,
        "an address of documentation",
    ),
];

/// What an address is, when it is not public.
pub(super) fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(four) => FOUR
            .iter()
            .find(|(first, bits, _)| (four.to_bits() ^ first.to_bits()) >> (32 - bits) == 0)
            .map(|(_, _, kind)| *kind),
        IpAddr::V6(six) => not_public_six(six),
    }
}

fn not_public_six(six: Ipv6Addr) -> Option<&'static str> {
    let first = six.to_bits();
    // 2000::/3 is all that was ever given out; loopback, mapped, translated, private and local ones lie elsewhere.
    if first >> 125 != 0b001 {
        return Some(match six.segments() {
            [0, 0, 0, 0, 0, 0, 0, 1] => "a loopback address",
            [0xfe80..=0xfebf, ..] => "a link-local address",
            [0xfc00..=0xfdff, ..] => "a private address",
            [0xff00..=0xffff, ..] => "a multicast address",
            _ => "not a global address",
        });
    }
    SIX.iter()
        .find(|(own, bits, _)| (first ^ own.to_bits()) >> (128 - bits) == 0)
        .map(|(_, _, kind)| *kind)
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
