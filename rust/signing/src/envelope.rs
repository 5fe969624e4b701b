//! The DSSE envelope (version 1): a payload, its type and signatures over both. The payload is carried as bytes, so that
//! a verifier parses exactly what was signed.

use crate::{Error, SigningKey, VerifyingKey};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use coder_digest::json;
use serde::{Deserialize, Serialize};

/// The largest envelope that is read, in bytes: a statement of every artifact a run may keep fits many times over.
const ENVELOPE: json::Limit = json::Limit(64 * 1024 * 1024);
/// The most signatures that are looked at.
const SIGNATURES: usize = 64;

/// A payload with the signatures over it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    payload_type: String,
    payload: Vec<u8>,
    signatures: Vec<Signature>,
}

/// One signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// The key it claims to be of; empty where it claims none. A hint that nothing vouches for.
    pub key_id: String,
    bytes: Vec<u8>,
}

/// The envelope as written. A field that is not known is passed over, as its specification demands.
#[derive(Serialize, Deserialize)]
struct Written {
    payload: String,
    #[serde(rename = "payloadType")]
    payload_type: String,
    signatures: Vec<WrittenSignature>,
}

#[derive(Serialize, Deserialize)]
struct WrittenSignature {
    #[serde(default)]
    keyid: Option<String>,
    sig: String,
}

impl Envelope {
    /// Signs `payload` as being of `payload_type`.
    pub fn sign(payload_type: &str, payload: Vec<u8>, key: &SigningKey) -> Self {
        let signature = Signature {
            key_id: key.verifying_key().key_id().as_str().to_owned(),
            bytes: key.sign(&encoded(payload_type, &payload)),
        };
        Self {
            payload_type: payload_type.to_owned(),
            payload,
            signatures: vec![signature],
        }
    }

    /// Reads an envelope of at most 64 MiB.
    ///
    /// # Errors
    /// [`Error::BadEnvelope`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let written: Written = json::parse_as(bytes, ENVELOPE).map_err(|error| bad(error.to_string()))?;
        if written.signatures.is_empty() || written.signatures.len() > SIGNATURES {
            return Err(bad(format!("it has no signature, or more than {SIGNATURES}")));
        }
        let signature = |written: WrittenSignature| {
            Ok(Signature {
                key_id: written.keyid.unwrap_or_default(),
                bytes: decoded("sig", &written.sig)?,
            })
        };
        Ok(Self {
            payload: decoded("payload", &written.payload)?,
            payload_type: written.payload_type,
            signatures: written
                .signatures
                .into_iter()
                .map(signature)
                .collect::<Result<_, _>>()?,
        })
    }

    /// What the payload claims to be; signed with it.
    pub fn payload_type(&self) -> &str {
        &self.payload_type
    }

    /// The exact bytes that were signed.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The signatures, at least one.
    pub fn signatures(&self) -> &[Signature] {
        &self.signatures
    }

    /// One line of canonical JSON, without a newline.
    pub fn to_json(&self) -> String {
        let signature = |signature: &Signature| serde_json::json!({ "keyid": signature.key_id, "sig": STANDARD.encode(&signature.bytes) });
        json::canonical(&serde_json::json!({
            "payload": STANDARD.encode(&self.payload),
            "payloadType": self.payload_type,
            "signatures": self.signatures.iter().map(signature).collect::<Vec<_>>(),
        }))
    }

    /// Whether `key` signed this payload as being of this type. What a signature says of its key is not believed: each is tried.
    ///
    /// # Errors
    /// [`Error::NotSigned`].
    pub fn verify(&self, key: &VerifyingKey) -> Result<(), Error> {
        let message = encoded(&self.payload_type, &self.payload);
        match self
            .signatures
            .iter()
            .any(|signature| key.made(&signature.bytes, &message))
        {
            true => Ok(()),
            false => Err(Error::NotSigned {
                key_id: key.key_id().as_str().to_owned(),
            }),
        }
    }
}

/// What is signed: both parts with their lengths, so that no two pairs share an encoding.
fn encoded(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut message = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    message.extend_from_slice(payload);
    message
}

/// Both alphabets are allowed.
fn decoded(field: &str, text: &str) -> Result<Vec<u8>, Error> {
    let engine = if text.contains(['-', '_']) {
        &URL_SAFE
    } else {
        &STANDARD
    };
    engine
        .decode(text)
        .map_err(|_| bad(format!("its `{field}` is not base64")))
}

fn bad(reason: impl Into<String>) -> Error {
    Error::BadEnvelope { reason: reason.into() }
}

#[cfg(test)]
#[path = "envelope_tests.rs"]
mod tests;
