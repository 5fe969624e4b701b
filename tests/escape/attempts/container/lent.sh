# Has a program that runs as root read what only root may read.
"$OUTSIDE/lent" "$OUTSIDE/only-for-root"
