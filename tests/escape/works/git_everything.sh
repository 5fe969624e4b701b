# Report 5: what a person stages is what is there; no mask of ours stands in the way.
set -e
export GIT_AUTHOR_NAME=p GIT_AUTHOR_EMAIL=p@x.invalid GIT_COMMITTER_NAME=p GIT_COMMITTER_EMAIL=p@x.invalid
rm -f attempt.sh && [ -z "$(git status --porcelain --ignored)" ]
echo new >new && git add . && git stash -q && git stash pop -q && [ "$(git status --porcelain)" = "A  new" ]
git commit -q -m new && git format-patch -q -1 HEAD && ls 0001-new.patch >/dev/null
git branch side 2>/dev/null || true
echo works
