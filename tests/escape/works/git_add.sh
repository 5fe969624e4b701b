# Report 5 in a linked worktree: everything is staged, and a patch is made.
set -e
export GIT_AUTHOR_NAME=p GIT_AUTHOR_EMAIL=p@x.invalid GIT_COMMITTER_NAME=p GIT_COMMITTER_EMAIL=p@x.invalid
rm -f attempt.sh && [ -z "$(git status --porcelain --ignored)" ]
echo new >new && git add . && git commit -q -m new && git format-patch -q -1 HEAD && ls 0001-new.patch >/dev/null
echo works
