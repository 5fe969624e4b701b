cargoInstallHook() {
    runHook preInstall
    local built
    for built in "target/$rustcTarget/$buildType"/*; do
        if [ ! -f "$built" ]; then continue; fi
        case $built in
            *.so | *.a) install -D -t "$out/lib" "$built" ;;
            *) if [ -x "$built" ]; then install -D -t "$out/bin" "$built"; fi ;;
        esac
    done
    runHook postInstall
}
if [ -z "${installPhase-}" ]; then installPhase=cargoInstallHook; fi
