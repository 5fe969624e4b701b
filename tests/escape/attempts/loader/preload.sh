# Has an ordinary program load a library from outside.
LD_PRELOAD="$OUTSIDE/library.so" /bin/true
