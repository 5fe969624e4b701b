# Moves the workspace itself away, and puts a link in its place.
cd .. && mv work moved && ln -s "$PERSON" work
