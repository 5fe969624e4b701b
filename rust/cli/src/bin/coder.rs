//! The `coder` command: hands its arguments over and ends with the status that comes back.

use std::process::ExitCode;

fn main() -> ExitCode {
    coder_cli::coder(std::env::args_os())
}
