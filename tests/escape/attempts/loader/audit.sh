# Has the loader itself load a library from outside.
LD_AUDIT="$OUTSIDE/library.so" /bin/true
