# Moves a file of the workspace to the outside, by rename and by copy.
echo owned >x && mv x "$OUTSIDE/owned"
