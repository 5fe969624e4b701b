# The command-line tools. Tests run in `checks`, in a debug build shared with the linter: running them here would compile the
# workspace a third time, with a profile nobody tests with otherwise.
{
  lib,
  rustPlatform,
  sources,
}:
rustPlatform.buildRustPackage {
  pname = "microcoder";
  inherit (sources) version cargoLock;
  src = sources.rust;

  cargoBuildFlags = [ "--package=coder-cli" ];
  doCheck = false;

  meta = {
    description = "Runs coding agents on a repository under an exact grant, with evidence";
    license = [
      lib.licenses.mit
      lib.licenses.asl20
    ];
    mainProgram = "microcoder";
    platforms = lib.platforms.linux;
  };
}
