//! SHA-256 digests of exact bytes, written `sha256:<64 lower-case hex>`; the bare form is accepted on input everywhere
//! and written only where a specification fixes it (see [`bare`]). Not for passwords or keyed authentication.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::io;
use std::str::FromStr;

const PREFIX: &str = "sha256:";

/// The SHA-256 of some exact bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

/// A string that is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a digest is `sha256:` and 64 lower-case hexadecimal digits, or the digits alone")]
pub struct DigestError;

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of everything `reader` yields, read in pieces of 64 KiB.
    ///
    /// # Errors
    /// Whatever the reader answers; the bytes read so far are lost.
    pub fn of_reader(mut reader: impl io::Read) -> io::Result<(Self, u64)> {
        let mut hasher = Hasher::new();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok((hasher.finish(), hasher.bytes)),
                Ok(count) => hasher.update(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// A digest from its 32 raw bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 raw bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 lower-case hexadecimal digits, without the prefix.
    pub fn hex(&self) -> String {
        let mut text = String::with_capacity(64);
        for byte in self.0 {
            for nibble in [byte >> 4, byte & 15] {
                text.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
            }
        }
        text
    }
}

/// Hashes bytes that arrive in pieces.
#[derive(Clone, Default)]
pub struct Hasher {
    state: Sha256,
    bytes: u64,
}

impl Hasher {
    /// An empty hasher.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `bytes`.
    pub fn update(&mut self, bytes: &[u8]) {
        self.state.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    /// How many bytes were added.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The digest of what was added so far; more may follow.
    pub fn finish(&self) -> Digest {
        Digest(self.state.clone().finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(PREFIX)?;
        formatter.write_str(&self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let digits = text.strip_prefix(PREFIX).unwrap_or(text).as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 64 {
            return Err(DigestError);
        }
        for (index, pair) in digits.chunks_exact(2).enumerate() {
            bytes[index] = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

fn nibble(digit: u8) -> Result<u8, DigestError> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(DigestError),
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// For `#[serde(with = "coder_digest::bare")]`: written without the prefix, both forms read.
///
/// The specification fixes the bare form for source snapshots and value digests.
pub mod bare {
    use super::Digest;
    use serde::{Deserialize as _, Deserializer, Serializer};

    /// Writes the 64 digits alone.
    ///
    /// # Errors
    /// Only the serializer's own.
    pub fn serialize<S: Serializer>(digest: &Digest, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&digest.hex())
    }

    /// Reads either form.
    ///
    /// # Errors
    /// A string that is no digest.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        Digest::deserialize(deserializer)
    }
}

#[cfg(test)]
#[path = "digest_tests.rs"]
mod tests;
