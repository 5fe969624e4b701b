# The tools every build script takes for granted.
set -e
mkdir -p t/u && for n in 1 2 3 4 5 6 7 8; do echo $n >t/$n; done
find t -type f -print0 | xargs -0 -P4 -n1 cat | sort -n | awk '{ s += $1 } END { exit s != 36 }'
tar -czf t.tgz t && mkdir x && tar -xzf t.tgz -C x && diff -r t x/t && cp -al t l && [ t/1 -ef l/1 ]
sed -i s/1/one/ t/1 && grep -qx one t/1 && perl -e 'print "p" x 3' | grep -qx ppp
bash -c 'cmp <(echo a) <(echo a)'
timeout 5 sleep 0.01 && nice -n 5 true && nproc >/dev/null && ps -e >/dev/null && id -un >/dev/null && uname -a >/dev/null && date >/dev/null
command -v sh >/dev/null && [ -w "$HOME" ] && [ -w "$TMPDIR" ] && touch "$HOME/.cache-test" && mktemp -d >/dev/null
echo works
