//! What the commands accept: one definition from which help, completions and man pages are made. No behaviour.

mod capability;
mod coder;
mod microcoder;

pub use capability::{ApproveArguments, CapabilityCommand, RevokeArguments};
pub use coder::{
    Addressed, ArchiveArguments, ArtifactArguments, CancelArguments, CapacityArguments, CheckArguments, Coder,
    CoderCommand, CommandFile, ContinueArguments, CorrectArguments, ExportArguments, ExportFormat, GcArguments,
    GrantFile, KeyCommand, ListArguments, Prompt, SteerArguments, StoreArguments, TaskCommand, TaskName,
    VerifyArguments, ViewArguments,
};
pub use microcoder::{
    AccessWord, ActWord, ApiWord, DemoArguments, DoctorArguments, ExecArguments, Microcoder, MicrocoderCommand,
    ProviderWord, RepositoryArguments, RunArguments, WhyArguments,
};
