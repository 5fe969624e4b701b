# What each derivation may read, named file by file or folder by folder. Whole folders, never a filter by file extension: such a
# filter drops the schemas, templates and SQL that `include_str!` reads, and the build then fails only under Nix.
{ lib }:
let
  root = ../.;
  fileset = lib.fileset;
  version = (lib.importTOML ../Cargo.toml).workspace.package.version;

  workspace = fileset.unions [
    ../Cargo.toml
    ../Cargo.lock
    ../clippy.toml
    ../rustfmt.toml
    ../rust
    (fileset.maybeMissing ../tests/fixtures)
  ];
  select =
    set:
    fileset.toSource {
      inherit root;
      fileset = set;
    };
in
{
  inherit version;
  cargoLock.lockFile = ../Cargo.lock;

  # The Rust workspace, with the files its crates embed.
  rust = select workspace;

  # The same with the Python package around the extension.
  python = select (
    fileset.unions [
      workspace
      ../python
      # The package carries them through links.
      ../LICENSE-MIT
      ../LICENSE-APACHE
    ]
  );
}
