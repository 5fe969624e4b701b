# The Python package: one stable-ABI wheel, built by maturin from the same sources and the same lock as the tools.
{
  lib,
  python3Packages,
  rustPlatform,
  sources,
}:
python3Packages.buildPythonPackage {
  pname = "coder-core";
  inherit (sources) version;
  pyproject = true;
  src = sources.python;

  cargoDeps = rustPlatform.importCargoLock sources.cargoLock;
  buildAndTestSubdir = "python";
  nativeBuildInputs = [
    rustPlatform.cargoSetupHook
    rustPlatform.maturinBuildHook
  ];

  nativeCheckInputs = [
    python3Packages.pytestCheckHook
    python3Packages.hypothesis
  ];
  # `pytest` finds its settings from these arguments, so the installed package is tested and not the source folder. Only what needs
  # neither Git nor namespaces: `tests/run python` runs the rest.
  enabledTestPaths = [
    "python/tests/test_documents.py"
    "python/tests/test_import.py"
    "python/tests/test_packaging.py"
  ];
  pythonImportsCheck = [ "coder_core" ];

  meta = {
    description = "Typed Python interface to Microcoder";
    license = [
      lib.licenses.mit
      lib.licenses.asl20
    ];
    platforms = lib.platforms.linux;
  };
}
