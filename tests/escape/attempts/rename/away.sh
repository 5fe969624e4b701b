# Moves the repository's directory away and puts another in its place.
mv .git .g2 && mkdir -p .git/hooks && printf '#!/bin/sh\n' >.git/hooks/pre-commit
