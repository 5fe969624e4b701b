//! What can go wrong with the books and the list of routes. A book that cannot be understood is told of by its path and left
//! as it is: a newer program may have written it, and an empty one in its place would call every provider free.

use coder_digest::json;
use std::io;
use std::path::PathBuf;

/// A failed act on a book, or a list of routes that cannot be.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A book could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The book.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A book is no regular file of its own, or too large.
    #[error("{} {reason}; it is left as it is: look at it, and move it away if it is of no use", path.display())]
    Unsafe {
        /// The book.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A book is not strict JSON of its shape.
    #[error("{} is damaged, or a newer program wrote it; it is left as it is: move it away to begin an empty one", path.display())]
    Malformed {
        /// The book.
        path: PathBuf,
        /// What is wrong with it.
        source: json::Error,
    },
    /// A book has another schema.
    #[error(
        "{} has the schema `{schema}`, and this program knows only `{expected}`; it is left as it is: use the program that wrote it",
        path.display()
    )]
    Version {
        /// The book.
        path: PathBuf,
        /// Its schema, shortened.
        schema: String,
        /// The known one.
        expected: &'static str,
    },
    /// The lock of the books could not be taken.
    #[error("cannot lock {}", path.display())]
    Lock {
        /// The lock's file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Another writer held the books for too long.
    #[error("another program has held {} for {seconds} s", path.display())]
    Busy {
        /// The lock's file.
        path: PathBuf,
        /// How long it was waited for.
        seconds: u64,
    },
    /// A book could not be replaced; the old one stands.
    #[error("cannot write {}", path.display())]
    Write {
        /// The book.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A run has at least one route.
    #[error("a run needs at least one route")]
    NoRoute,
    /// A run has one route and at most four fallbacks.
    #[error("a run has {count} routes; one and at most 4 fallbacks are allowed")]
    TooManyRoutes {
        /// How many were given.
        count: usize,
    },
    /// A provider and model are in the list twice.
    #[error("the route to `{model}` of `{provider}` is there twice")]
    RepeatedRoute {
        /// The provider.
        provider: String,
        /// The model.
        model: String,
    },
}

impl Error {
    /// The stable name of the failure.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Read { .. } => "book_read",
            Self::Unsafe { .. } => "book_unsafe",
            Self::Malformed { .. } => "book_malformed",
            Self::Version { .. } => "book_version",
            Self::Lock { .. } => "book_lock",
            Self::Busy { .. } => "book_busy",
            Self::Write { .. } => "book_write",
            Self::NoRoute => "route_missing",
            Self::TooManyRoutes { .. } => "routes_too_many",
            Self::RepeatedRoute { .. } => "route_repeated",
        }
    }
}
