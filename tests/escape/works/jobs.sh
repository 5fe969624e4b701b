# A shell's background jobs: waited for, stopped, continued, ended, alone and as a group.
set -e
sleep 60 & one=$!
kill -STOP $one && kill -CONT $one && kill $one && ! wait $one
bash -c 'set -m; (sleep 60 & sleep 60) & kill -- -$! && ! wait $!'
trap 'got=1' USR1 && kill -USR1 $$ && [ "$got" = 1 ]
timeout -s TERM 0.1 sleep 60 || [ $? = 124 ]
python3 -m http.server --bind 127.0.0.1 18999 >/dev/null 2>&1 & server=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    if python3 -c 'import urllib.request as u; u.urlopen("http://127.0.0.1:18999/").read()' 2>/dev/null; then break; fi
    sleep 0.1
done
python3 -c 'import urllib.request as u; assert b"attempt" in u.urlopen("http://127.0.0.1:18999/").read()'
kill $server
echo works
