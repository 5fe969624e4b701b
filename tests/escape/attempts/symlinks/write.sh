# Writes to a file outside through a link.
ln -s "$OUTSIDE/notes" link && echo owned >./link
