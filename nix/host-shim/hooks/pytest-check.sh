pytestCheckHook() {
    python3 -m pytest -p no:cacheprovider ${enabledTestPaths-}
}
if [ -z "${installCheckPhase-}" ]; then installCheckPhase=pytestCheckHook; fi
