# Writes a hook where one may write, and moves it to where one may not.
printf '#!/bin/sh\necho owned\n' >.git/x && chmod 755 .git/x && mv .git/x .git/hooks/pre-commit
