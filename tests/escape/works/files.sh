# Ordinary work on files.
set -e
mkdir d && echo one >d/a && mv d/a b && ln b c && ln -s b s && [ "$(cat s)" = one ]
chmod 700 b && echo two >.b.new && mv .b.new b && [ "$(cat b c)" = "two
one" ] && rm -r d && mkfifo p && (echo piped >p & cat p) | grep -qx piped
echo works
