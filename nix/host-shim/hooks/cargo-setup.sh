# A cargo home of the build's own, over the host's downloaded crates. The index is copied because cargo writes beside it; the crates
# themselves are only read.
cargoSetupHook() {
    export CARGO_HOME=$NIX_BUILD_TOP/cargo-home
    mkdir -p "$CARGO_HOME/registry"
    cp -r "$hostCargoHome/registry/index" "$CARGO_HOME/registry/index"
    ln -s "$hostCargoHome/registry/cache" "$CARGO_HOME/registry/cache"
    if [ -e "$hostCargoHome/config.toml" ]; then cp "$hostCargoHome/config.toml" "$CARGO_HOME/config.toml"; fi
    chmod -R u+w "$CARGO_HOME/registry/index"
}
postUnpackHooks+=(cargoSetupHook)
