//! Signatures over exact bytes: Ed25519 keys in private files, and the DSSE envelope that carries a statement with its
//! signatures.
//!
//! [`SigningKey`] is read from a PKCS#8 PEM file that only its owner can read, [`VerifyingKey`] from the public key beside
//! it. [`Envelope`] signs a payload together with its type (so that a signature cannot be moved to a payload of another
//! kind), and is read back as exactly the bytes that were signed. What a payload says is not known here, and no key is
//! trusted by this crate: whose key it is, the caller decides.
//!
//! ```
//! use coder_signing::{Envelope, SigningKey};
//!
//! let key = SigningKey::from_seed(&[7; 32])?;
//! let envelope = Envelope::sign("application/vnd.in-toto+json", b"{}".to_vec(), &key);
//! let read = Envelope::parse(envelope.to_json().as_bytes())?;
//! read.verify(&key.verifying_key())?;
//! # Ok::<(), coder_signing::Error>(())
//! ```

mod envelope;
mod error;
mod key;
mod pem;

pub use envelope::{Envelope, Signature};
pub use error::Error;
pub use key::{KeyFiles, KeyId, SigningKey, VerifyingKey};
