//! The sizes of facts 9.4 in one place. All in bytes.

/// The most one step may take, serialised, with [`ENVELOPE`] added.
pub const STEP: u64 = 8 << 20;
/// What is reckoned for the record around a step.
pub const ENVELOPE: u64 = 256;
/// The most a log may take with ordinary records; the rest is kept for the final disposition and the end.
pub const ORDINARY: u64 = 48 << 20;
/// The largest log that is read.
pub const FILE: u64 = 64 << 20;
/// Disk space held past the log's end, so that a full disk cannot keep the final disposition out.
pub const RESERVE: u64 = 128 << 10;
/// The part of [`RESERVE`] that the final disposition leaves to the end record.
pub const END_RESERVE: u64 = 4 << 10;
/// How many faults are itemised; the rest are counted.
pub const FAULTS: usize = 4096;
/// The longest written cursor, in characters.
pub const CURSOR: usize = 4096;
