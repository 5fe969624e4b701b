# A commit on the branch that is there, after which everything is clean but what was there untracked.
set -e
export GIT_AUTHOR_NAME=p GIT_AUTHOR_EMAIL=p@x.invalid GIT_COMMITTER_NAME=p GIT_COMMITTER_EMAIL=p@x.invalid
echo more >>notes.txt
[ "$(git status --porcelain notes.txt)" = " M notes.txt" ]
git add notes.txt && git commit -q -m more && [ -z "$(git status --porcelain notes.txt)" ]
git log --oneline | grep -q more && git show HEAD:notes.txt | grep -qx more && git diff --exit-code HEAD~1 -- answer.txt
echo works
