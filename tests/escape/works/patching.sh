# diff and patch, and an editor's way to save.
set -e
printf 'a\nb\nc\n' >old && printf 'a\nB\nc\n' >new && { diff -u old new >change || [ $? = 1 ]; }
if command -v patch >/dev/null; then patch -s old change && cmp old new; fi
git -c core.pager=cat diff --no-index new new && cp -p new .new.swp && printf x >>.new.swp && sync .new.swp && mv .new.swp new && [ "$(tail -c 1 new)" = x ]
echo works
