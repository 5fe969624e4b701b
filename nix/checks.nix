# What `nix flake check` proves, one name per concern. Building every package is a check; the linter and the tests share one debug
# build, because the dependencies take longer to compile than all of ours.
{
  pkgs,
  sources,
  microcoder,
  coder-core,
}:
{
  build = microcoder;

  # Installing runs the package's own tests and imports it.
  python = coder-core;

  format = pkgs.runCommand "microcoder-format" { nativeBuildInputs = [ pkgs.cargo pkgs.rustfmt ]; } ''
    cd ${sources.rust}
    cargo fmt --all --check
    touch $out
  '';

  # `coder-python` is linted here and tested through the wheel: a cdylib has no test binary that links without an interpreter.
  rust = pkgs.rustPlatform.buildRustPackage {
    pname = "microcoder-rust-checks";
    inherit (sources) version cargoLock;
    src = sources.rust;

    buildType = "debug";
    # The wrapper that embeds a list of crates in released programs has no business in a test build.
    auditable = false;
    env.CARGO_BUILD_TARGET = pkgs.stdenv.hostPlatform.rust.rustcTarget;
    nativeBuildInputs = [
      pkgs.clippy
      pkgs.python3
    ];
    buildPhase = ''
      runHook preBuild
      cargo clippy --frozen --workspace --all-targets -- --deny warnings
      runHook postBuild
    '';

    nativeCheckInputs = [ pkgs.git ];
    cargoTestFlags = [
      "--workspace"
      "--exclude=coder-python"
    ];
    installPhase = "touch $out";
  };

  # A source set that misses an embedded file or a migration fails to build or fails here: the packaged program does its whole main
  # job, from a new store to a verified trace.
  demo = pkgs.runCommand "microcoder-demo" { nativeBuildInputs = [ microcoder pkgs.git ]; } ''
    export HOME=$TMPDIR/home
    mkdir $HOME
    test "$(microcoder --version)" = "microcoder ${sources.version}"
    microcoder demo --store $TMPDIR/store
    touch $out
  '';
}
