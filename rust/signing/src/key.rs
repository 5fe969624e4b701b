//! Ed25519 keys and the files they live in: PKCS#8 for the private half, SubjectPublicKeyInfo for the public one, both as
//! PEM, so that other tools make and read them too. A private key is taken only from a file that nobody else can read.

use crate::{Error, pem};
use coder_digest::Digest;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use rustix::fs::OFlags;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

const PRIVATE: &str = "PRIVATE KEY";
const PUBLIC: &str = "PUBLIC KEY";
/// What stands before the 32 bytes of every Ed25519 SubjectPublicKeyInfo (RFC 8410).
const INFO_HEAD: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/// What stands before the 32 secret bytes of an Ed25519 key in the first version of PKCS#8 (RFC 8410), the form that every other tool
/// reads.
const PRIVATE_HEAD: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];
/// No key file of this kind comes near it.
const FILE_BYTES: u64 = 16 * 1024;

/// The name of a key: SHA-256 of its SubjectPublicKeyInfo, as lower-case hex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyId(String);

impl KeyId {
    /// The 64 hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A private key.
pub struct SigningKey {
    pair: Ed25519KeyPair,
    /// The PKCS#8 document that the pair came from; the library gives none back.
    document: Vec<u8>,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("SigningKey")
            .field(&self.verifying_key().key_id())
            .finish()
    }
}

/// Where a new pair of keys was put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFiles {
    /// The private key, 0600.
    pub private: PathBuf,
    /// The public key, 0644: the private one's name with `.pub`.
    pub public: PathBuf,
}

impl SigningKey {
    /// The key of 32 secret random bytes.
    ///
    /// # Errors
    /// [`Error::BadKey`] where the library refuses them.
    pub fn from_seed(seed: &[u8; 32]) -> Result<Self, Error> {
        Self::from_document([PRIVATE_HEAD.as_slice(), seed].concat())
    }

    /// Reads the text of an unencrypted PKCS#8 PEM.
    ///
    /// # Errors
    /// [`Error::BadKey`].
    pub fn from_pem(text: &[u8]) -> Result<Self, Error> {
        Self::from_document(pem::read(PRIVATE, text).map_err(|reason| bad("private", reason))?)
    }

    fn from_document(document: Vec<u8>) -> Result<Self, Error> {
        // Other tools write the older form, which does not repeat the public half.
        match Ed25519KeyPair::from_pkcs8_maybe_unchecked(&document) {
            Ok(pair) => Ok(Self { pair, document }),
            Err(_) => Err(bad("private", "the block holds no Ed25519 key in PKCS#8")),
        }
    }

    /// Reads the key file, through links.
    ///
    /// # Errors
    /// [`Error::File`]; [`Error::NotPrivate`] for anything but a plain file of one owner whom nobody else can read it from;
    /// [`Error::BadKey`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        let (file, bytes) = read(path)?;
        let status = file.metadata().map_err(file_fault("inspect", path))?;
        let refused = |reason| Error::NotPrivate {
            path: path.to_owned(),
            reason,
        };
        let owner = rustix::process::geteuid();
        if status.uid() != owner.as_raw() && !owner.is_root() {
            return Err(refused("it belongs to somebody else"));
        }
        if status.mode() & 0o077 != 0 {
            return Err(refused("others can read or write it: `chmod 600` makes it private"));
        }
        Self::from_pem(&bytes)
    }

    /// The text of the PKCS#8 PEM.
    pub fn to_pem(&self) -> String {
        pem::write(PRIVATE, &self.document)
    }

    /// Puts both halves into new files, durably; nothing is replaced, and after a failure neither file is there.
    ///
    /// # Errors
    /// [`Error::File`] when one of the two exists or cannot be made.
    pub fn write(&self, path: &Path) -> Result<KeyFiles, Error> {
        let mut public = path.as_os_str().to_owned();
        public.push(".pub");
        let files = KeyFiles {
            private: path.to_owned(),
            public: PathBuf::from(public),
        };
        create(&files.private, &self.to_pem(), 0o600)?;
        create(&files.public, &self.verifying_key().to_pem(), 0o644).inspect_err(|_| {
            // Its own failure is the one to tell.
            let _ = std::fs::remove_file(&files.private);
        })?;
        Ok(files)
    }

    /// The public half.
    pub fn verifying_key(&self) -> VerifyingKey {
        let mut point = [0; 32];
        for (to, from) in point.iter_mut().zip(self.pair.public_key().as_ref()) {
            *to = *from;
        }
        VerifyingKey { point }
    }

    /// The 64 bytes of the signature of `message`.
    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message).as_ref().to_vec()
    }
}

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyingKey {
    point: [u8; 32],
}

impl VerifyingKey {
    /// Reads the text of a SubjectPublicKeyInfo PEM.
    ///
    /// # Errors
    /// [`Error::BadKey`].
    pub fn from_pem(text: &[u8]) -> Result<Self, Error> {
        let bytes = pem::read(PUBLIC, text).map_err(|reason| bad("public", reason))?;
        let point = bytes
            .strip_prefix(&INFO_HEAD)
            .and_then(|rest| <[u8; 32]>::try_from(rest).ok());
        match point {
            Some(point) => Ok(Self { point }),
            None => Err(bad("public", "the block holds no Ed25519 key")),
        }
    }

    /// Reads the key file, through links.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::BadKey`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::from_pem(&read(path)?.1)
    }

    /// The text of the SubjectPublicKeyInfo PEM.
    pub fn to_pem(&self) -> String {
        pem::write(PUBLIC, &self.information())
    }

    /// The name of the key.
    pub fn key_id(&self) -> KeyId {
        KeyId(Digest::of(&self.information()).hex())
    }

    fn information(&self) -> Vec<u8> {
        [INFO_HEAD.as_slice(), &self.point].concat()
    }

    pub(crate) fn made(&self, signature: &[u8], message: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.point)
            .verify(message, signature)
            .is_ok()
    }
}

fn bad(kind: &'static str, reason: impl Into<String>) -> Error {
    Error::BadKey {
        kind,
        reason: reason.into(),
    }
}

fn file_fault(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::File { act, path, source }
}

/// The open plain file and what it holds. What is checked afterwards is the opened file, whatever the name leads to then.
fn read(path: &Path) -> Result<(File, Vec<u8>), Error> {
    // A pipe without a writer would be waited for.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
        .map_err(file_fault("open", path))?;
    let status = file.metadata().map_err(file_fault("inspect", path))?;
    let too_large = io::Error::new(io::ErrorKind::InvalidData, "it is no plain file of at most 16 KiB");
    if !status.is_file() || status.len() > FILE_BYTES {
        return Err(file_fault("read", path)(too_large));
    }
    let mut bytes = Vec::new();
    (&file)
        .take(FILE_BYTES)
        .read_to_end(&mut bytes)
        .map_err(file_fault("read", path))?;
    Ok((file, bytes))
}

fn create(path: &Path, text: &str, mode: u32) -> Result<(), Error> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
        .map_err(file_fault("make", path))?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.map_err(|source| {
        let _ = std::fs::remove_file(path);
        file_fault("write", path)(source)
    })
}

#[cfg(test)]
#[path = "key_tests.rs"]
mod tests;
