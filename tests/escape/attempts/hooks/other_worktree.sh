# The state of a worktree that belongs to somebody else, and the repository's own branch.
git -C "$PROJECT" update-ref refs/heads/main HEAD~1; echo 'ref: refs/heads/owned' >"$PROJECT/.git/HEAD"
echo x >"$PROJECT/.git/refs/heads/owned"
