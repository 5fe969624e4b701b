# Reads a file outside through a link.
ln -s "$OUTSIDE/secret" link && cat link
