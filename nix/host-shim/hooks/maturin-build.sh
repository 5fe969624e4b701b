maturinBuildHook() {
    runHook preBuild
    (
        cd "$buildAndTestSubdir" || exit
        maturin build --jobs "$NIX_BUILD_CORES" --frozen --target "$rustcTarget" --manylinux off --strip --release ${maturinBuildFlags-}
    )
    mkdir -p dist
    mv target/wheels/*.whl dist/
    runHook postBuild
}
if [ -z "${buildPhase-}" ]; then buildPhase=maturinBuildHook; fi
