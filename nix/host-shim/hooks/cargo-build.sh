cargoBuildHook() {
    runHook preBuild
    local profile=()
    if [ "$buildType" != debug ]; then profile=(--profile "$buildType"); fi
    cargo build -j "$NIX_BUILD_CORES" --target "$rustcTarget" --frozen "${profile[@]}" ${cargoBuildFlags-}
    runHook postBuild
}
if [ -z "${buildPhase-}" ]; then buildPhase=cargoBuildHook; fi
