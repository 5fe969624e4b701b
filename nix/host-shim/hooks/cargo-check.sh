cargoCheckHook() {
    runHook preCheck
    local profile=()
    if [ "$buildType" != debug ]; then profile=(--profile "$buildType"); fi
    cargo test -j "$NIX_BUILD_CORES" --target "$rustcTarget" --frozen "${profile[@]}" ${cargoTestFlags-} -- ${checkFlags-}
    runHook postCheck
}
if [ -z "${checkPhase-}" ]; then checkPhase=cargoCheckHook; fi
