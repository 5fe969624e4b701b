# Gives a file that may only be read a second name in the workspace, and writes through that.
ln "$OUTSIDE/shown/readable" mine && echo owned >mine
