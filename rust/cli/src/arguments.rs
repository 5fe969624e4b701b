//! What the commands accept: one definition from which help, completions and man pages are made. No behaviour.

mod capability;
mod coder;
mod microcoder;

pub use capability::{ApproveArguments, CapabilityCommand, RevokeArguments};
pub use coder::{
    ArtifactArguments, CheckArguments, Coder, CoderCommand, CommandFile, ExportArguments, ExportFormat, KeyCommand,
    StoreArguments, TaskCommand, TaskName, VerifyArguments, ViewArguments,
};
pub use microcoder::{
    AccessWord, ApiWord, DemoArguments, DoctorArguments, ExecArguments, Microcoder, MicrocoderCommand, NetworkWord,
    ProviderWord, RepositoryArguments, RunArguments,
};
