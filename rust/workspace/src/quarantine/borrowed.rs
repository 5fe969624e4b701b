//! The object stores that another one borrows from (`objects/info/alternates`), followed as Git follows them. Reads a few
//! small files; decides nothing about who may see the stores but that each must be one.

use super::read_fault;
use crate::Error;
use crate::git::path_of;
use std::io;
use std::path::{Path, PathBuf};

/// As deep as Git follows.
const DEPTH: usize = 5;
/// The most stores of one repository.
const STORES: usize = 64;

/// Every store that `objects` borrows from, resolved, each once. One that is gone is left out, as Git leaves it out.
///
/// # Errors
/// [`Error::BorrowedObjects`] for a directory that is no object store: showing it to commands would open something else.
pub fn stores(objects: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut pending = vec![(objects.to_owned(), 0)];
    while let Some((store, depth)) = pending.pop() {
        for line in lines(&store.join("info/alternates"))? {
            let Ok(path) = store.join(path_of(&line)).canonicalize() else {
                continue;
            };
            if found.contains(&path) || path == objects {
                continue;
            }
            if !is_store(&path) || found.len() == STORES || depth == DEPTH {
                return Err(Error::BorrowedObjects {
                    store: store.join("info/alternates"),
                    path,
                });
            }
            found.push(path.clone());
            pending.push((path, depth + 1));
        }
    }
    Ok(found)
}

/// Git makes these in every repository, and nobody else makes them together.
fn is_store(path: &Path) -> bool {
    path.join("info").is_dir() && path.join("pack").is_dir()
}

fn lines(path: &Path) -> Result<Vec<Vec<u8>>, Error> {
    let content = match std::fs::read(path) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(read_fault(path)(source)),
    };
    let lines = content.split(|byte| *byte == b'\n');
    let named = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    Ok(named.map(unquoted).collect())
}

/// A line in quotes has C's escapes.
fn unquoted(line: &[u8]) -> Vec<u8> {
    let Some(quoted) = line.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) else {
        return line.to_vec();
    };
    let mut bytes = Vec::new();
    let mut rest = quoted.iter().copied();
    while let Some(byte) = rest.next() {
        bytes.push(match (byte, byte == b'\\') {
            (_, false) => byte,
            (_, true) => match rest.next() {
                Some(b'a') => 7,
                Some(b'b') => 8,
                Some(b't') => b'\t',
                Some(b'n') => b'\n',
                Some(b'v') => 11,
                Some(b'f') => 12,
                Some(b'r') => b'\r',
                Some(digit @ b'0'..=b'3') => {
                    let more = [rest.next(), rest.next()].into_iter().flatten();
                    more.fold(digit - b'0', |value, digit| {
                        value.wrapping_mul(8).wrapping_add(digit.wrapping_sub(b'0'))
                    })
                }
                Some(other) => other,
                None => b'\\',
            },
        });
    }
    bytes
}
