# Plants a link inside a tree that may be written, and goes through it.
ln -s ../notes "$OUTSIDE/shown/link" && echo owned >"$OUTSIDE/shown/link"
