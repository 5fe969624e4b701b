# The command-line database in write-ahead mode.
set -e
sqlite3 d.db 'PRAGMA journal_mode=WAL; CREATE TABLE t(n); INSERT INTO t VALUES (1), (2);' | grep -qx wal
[ "$(sqlite3 d.db 'SELECT sum(n) FROM t')" = 3 ]
echo works
