# A hook for every worktree of the repository.
printf '#!/bin/sh\necho owned\n' >"$PROJECT/.git/hooks/post-checkout" && chmod 755 "$PROJECT/.git/hooks/post-checkout"
