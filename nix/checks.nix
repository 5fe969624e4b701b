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

  # Everything is linted here. Tested are crates that need nothing but themselves: a build has no Git, no shell outside the store and
  # no certificates, and may not be given namespaces, so the others are tested by `tests/run`, and the wheel by its own.
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

    cargoTestFlags = map (name: "--package=coder-${name}") [
      "agent"
      "digest"
      "journal"
      "signing"
    ];
    installPhase = "touch $out";
  };

  # A source set that misses an embedded file fails to build; one that misses what the program needs at run time fails here. The
  # demonstration itself needs Git and a shell where commands see them, which a build has not: `nix run .#microcoder -- demo` shows it.
  package = pkgs.runCommand "microcoder-package" { nativeBuildInputs = [ microcoder ]; } ''
    test "$(microcoder --version)" = "microcoder ${sources.version}"
    test "$(coder --version)" = "coder ${sources.version}"
    microcoder completions bash >/dev/null
    { coder task list --store $TMPDIR/none 2>&1 || true; } | grep --quiet no_store
    touch $out
  '';
}
