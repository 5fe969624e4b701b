//! The `coder` command.

fn main() {}
