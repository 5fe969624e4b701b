//! The bounds of facts 2.2 in one table. Reaching one refuses the new record; nothing is pruned to make room.

/// The most bytes of one command.
pub const COMMAND_BYTES: usize = 64 * 1024;
/// The most turns of one task.
pub const TURNS: usize = 64;
/// The most bytes of a prompt.
pub const PROMPT_BYTES: usize = 32 * 1024;
/// The most bytes of a reason.
pub const REASON_BYTES: usize = 2048;
/// The most bytes of the sentence that says why a run ended.
pub const RESULT_REASON_BYTES: usize = 4096;
/// The most bytes of a title.
pub const TITLE_BYTES: usize = 256;
/// The most bytes of a path.
pub const PATH_BYTES: usize = 4096;
/// The most images of an intent.
pub const IMAGES: usize = 16;

/// What one store holds at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub tasks: u64,
    pub commands: u64,
    pub events_per_task: u64,
    /// Bytes of the records of one task.
    pub bytes_per_task: u64,
    /// What an ending (a result, a verdict, a lost owner, a cancel) may use beyond `bytes_per_task`, so that a task
    /// which reached its bound can still be closed.
    pub ending_bytes: u64,
}

impl Limits {
    pub(crate) const STORE: Self = Self {
        tasks: 1024,
        commands: 2048,
        events_per_task: 8192,
        bytes_per_task: 15 * 1024 * 1024,
        ending_bytes: 1024 * 1024,
    };
}
