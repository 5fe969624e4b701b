pythonInstallHook() {
    runHook preInstall
    python3 -m pip install --no-index --no-deps --no-cache-dir --no-warn-script-location --ignore-installed --prefix "$out" dist/*.whl
    local folders=("$out"/lib/python3*/site-packages) module
    export PYTHONPATH=${folders[0]}
    for module in ${pythonImportsCheck-}; do (cd "$NIX_BUILD_TOP" && python3 -c "import $module"); done
    runHook postInstall
}
if [ -z "${installPhase-}" ]; then installPhase=pythonInstallHook; fi
