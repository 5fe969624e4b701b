//! The container profile of a grant: which engine, image and user commands would run with. Checks what the text alone can
//! say; whether program, socket and image are there and are the ones pinned is for admission.

use crate::Error;
use crate::grant::{absolute_path, field};
use coder_digest::Digest;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The schema every container profile names.
const SCHEMA: &str = "openagents.microcoder.container.v1";
/// The largest user or group number; engines keep them as signed 32-bit integers.
const LARGEST_ID: u32 = i32::MAX as u32;

/// The profile as written: closed, unchecked beyond its shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContainerText {
    schema: String,
    docker_program: String,
    docker_digest: Digest,
    socket: String,
    image: Digest,
    uid: u32,
    gid: u32,
}

/// A profile whose every field is inside its bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerProfile {
    /// The engine's client program: absolute, as the system itself would write it.
    pub docker_program: PathBuf,
    /// The digest of its bytes.
    pub docker_digest: Digest,
    /// The engine's Unix socket.
    pub socket: PathBuf,
    /// The image's id; never pulled.
    pub image: Digest,
    /// The user inside, from 1: never root.
    pub uid: u32,
    /// The group inside.
    pub gid: u32,
}

impl ContainerText {
    pub(crate) fn check(self) -> Result<ContainerProfile, Error> {
        if self.schema != SCHEMA {
            return Err(Error::UnsupportedSchema {
                what: "container profile",
                expected: SCHEMA,
            });
        }
        if self.uid == 0 || self.uid > LARGEST_ID {
            return Err(field(
                "container.uid",
                format!("a user from 1 to {LARGEST_ID} is needed, never root"),
            ));
        }
        if self.gid > LARGEST_ID {
            return Err(field("container.gid", format!("at most {LARGEST_ID}")));
        }
        Ok(ContainerProfile {
            docker_program: absolute_path("container.docker_program", &self.docker_program)?,
            docker_digest: self.docker_digest,
            socket: absolute_path("container.socket", &self.socket)?,
            image: self.image,
            uid: self.uid,
            gid: self.gid,
        })
    }
}

impl ContainerProfile {
    pub(crate) fn to_text(&self) -> Result<ContainerText, Error> {
        let text = |name: &str, path: &PathBuf| {
            let text = path.to_str().map(str::to_owned);
            text.ok_or_else(|| field(format!("container.{name}"), "the path is not UTF-8"))
        };
        Ok(ContainerText {
            schema: SCHEMA.to_owned(),
            docker_program: text("docker_program", &self.docker_program)?,
            docker_digest: self.docker_digest,
            socket: text("socket", &self.socket)?,
            image: self.image,
            uid: self.uid,
            gid: self.gid,
        })
    }
}

#[cfg(test)]
#[path = "container_profile_tests.rs"]
pub(crate) mod tests;
