# A repository made inside the workspace is an ordinary one. $1 is what is tried in it.
set -e
export GIT_AUTHOR_NAME=p GIT_AUTHOR_EMAIL=p@x.invalid GIT_COMMITTER_NAME=p GIT_COMMITTER_EMAIL=p@x.invalid
git init -q --initial-branch main nested && cd nested
mkdir one two && echo a >one/a && echo b >two/b && git add . && git commit -q -m first
case $1 in
    worktree) git worktree add -q ../tree -b side && cd ../tree && echo c >c && git add c && git commit -q -m side && git worktree list | grep -q tree ;;
    submodule)
        git init -q --initial-branch main ../library && (cd ../library && echo l >l && git add l && git commit -q -m l)
        git -c protocol.file.allow=always submodule --quiet add ../library library && git commit -q -m library
        cd library && echo m >m && git add m && git commit -q -m m && cd .. && git submodule status | grep -q library
        git add library && git commit -q -m moved && [ -z "$(git status --porcelain)" ]
        ;;
    sparse) git sparse-checkout set one && [ ! -e two/b ] && [ -e one/a ] && git sparse-checkout disable && [ -e two/b ] ;;
    rebase)
        git checkout -q -b side && echo s >s && git add s && git commit -q -m s && git checkout -q main
        echo m >m && git add m && git commit -q -m m && git checkout -q side && git rebase -q main && [ -e m ]
        git checkout -q main && git merge -q side && git tag -a -m one v1 && git describe | grep -qx v1
        ;;
    clone) git clone -q . ../cloned && cd ../cloned && git pull -q && git fetch -q && git push -q origin HEAD:refs/heads/pushed && git gc -q && git fsck --strict ;;
    bisect)
        for n in 1 2 3 4 5 6; do echo $n >n && git add n && git commit -q -m $n; done
        git bisect start -q HEAD HEAD~6 >/dev/null && git bisect run sh -c '[ $(cat n 2>/dev/null || echo 0) -lt 4 ]' | grep -q 'first bad commit' && git bisect reset -q
        ;;
    crlf)
        printf 'one\r\ntwo\r\n' >dos.txt && git config core.autocrlf input && git add dos.txt 2>/dev/null && git commit -q -m dos
        [ "$(git show HEAD:dos.txt | od -An -c | grep -c '\\r')" = 0 ] && [ "$(od -An -c dos.txt | grep -c '\\r')" != 0 ] && [ -z "$(git status --porcelain)" ]
        ;;
    patches) echo x >x && git add x && git commit -q -m x && git format-patch -q -1 && git reset -q --hard HEAD~1 && git am -q 0001-x.patch && [ -e x ] && git stash list ;;
    names) n=$(printf 'caf\351\nline') && echo x >"$n" && git add . && git commit -q -m n && [ "$(git ls-files -z | tr -d '\0' | od -An -c | grep -c 351)" = 1 ] && git status --porcelain ;;
    hooks) printf '#!/bin/sh\necho hooked\n' >.git/hooks/pre-commit && chmod 755 .git/hooks/pre-commit && echo h >h && git add h && git commit -m h 2>&1 | grep -q hooked ;;
esac
echo works
