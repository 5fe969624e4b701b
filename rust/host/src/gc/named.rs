//! What is named anywhere in a store: every run of 64 hexadecimal digits in the journal's texts, in the traces and other files
//! beside it, and, from there on, in what is kept under those names. Knows no document's form, so a kind of document that
//! is added later keeps what it names without a change here.

use crate::Error;
use crate::sweep::FOLDER as SCRATCH;
use coder_digest::Digest;
use coder_journal::Store;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

const DIGITS: usize = 64;
const CHUNK: usize = 256 * 1024;

/// All digests that something in the store names.
pub(super) fn everything(store: &Store) -> Result<HashSet<Digest>, Error> {
    let mut found = Found::default();
    store.each_text(|text| {
        found.text(text);
        found.end();
    })?;
    let root = store.path();
    found.directory(root, Depth::Root)?;
    // What is kept may name more of what is kept: a manifest names its files.
    while let Some(digest) = found.pending.pop() {
        for path in [
            super::leftovers::blob(root, &digest),
            super::leftovers::manifest(root, &digest),
        ] {
            found.file(&path)?;
        }
    }
    Ok(found.named)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    Root,
    Below,
}

#[derive(Default)]
struct Found {
    named: HashSet<Digest>,
    /// Named, and not looked into yet.
    pending: Vec<Digest>,
    /// The hexadecimal digits read last, at most [`DIGITS`] of them.
    run: Vec<u8>,
}

impl Found {
    /// Looks through one piece of a text; a name may go on in the next.
    fn text(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'0'..=b'9' | b'a'..=b'f' => {
                    if self.run.len() == DIGITS {
                        self.run.remove(0);
                    }
                    self.run.push(*byte);
                    // In a longer run every place may be the right one.
                    if self.run.len() == DIGITS {
                        self.name();
                    }
                }
                _ => self.run.clear(),
            }
        }
    }

    fn end(&mut self) {
        self.run.clear();
    }

    fn name(&mut self) {
        let digest = std::str::from_utf8(&self.run).ok().and_then(|text| text.parse().ok());
        if let Some(digest) = digest
            && self.named.insert(digest)
        {
            self.pending.push(digest);
        }
    }

    /// Looks through one file, where there is one; what is no regular file names nothing.
    fn file(&mut self, path: &Path) -> Result<(), Error> {
        let fault = |source| Error::file("look for names in", path)(source);
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let opened = File::options()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(path);
        let mut file = match opened {
            Ok(file) if file.metadata().map_err(fault)?.is_file() => file,
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => return Ok(()),
            // A socket has no bytes.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => return Ok(()),
            Err(error) => return Err(fault(error)),
        };
        let mut chunk = vec![0; CHUNK];
        loop {
            match file.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => self.text(chunk.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(fault(error)),
            }
        }
        self.end();
        Ok(())
    }

    /// Looks through every file that is not itself something kept, unfinished or of a boundary.
    fn directory(&mut self, directory: &Path, depth: Depth) -> Result<(), Error> {
        let fault = |source| Error::file("list", directory)(source);
        let entries = match directory.read_dir() {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(fault(error)),
        };
        for entry in entries {
            let entry = entry.map_err(|source| Error::file("list", directory)(source))?;
            let name = entry.file_name();
            let bytes = name.as_encoded_bytes();
            let apart = depth == Depth::Root
                && (name == "blobs"
                    || name == SCRATCH
                    || bytes.starts_with(b"journal.")
                    || super::leftovers::manifest_digest(bytes).is_some());
            if apart || bytes.starts_with(b".") {
                continue;
            }
            let kind = entry
                .file_type()
                .map_err(|source| Error::file("inspect", &entry.path())(source))?;
            if kind.is_dir() {
                self.directory(&entry.path(), Depth::Below)?;
            } else if kind.is_file() {
                self.file(&entry.path())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "named_tests.rs"]
mod tests;
