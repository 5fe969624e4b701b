//! The `microcoder` command.

fn main() {}
