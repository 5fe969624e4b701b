# The devices and descriptors of every program.
set -e
echo x >/dev/null && [ "$(head -c 4 /dev/zero | wc -c)" = 4 ] && [ "$(head -c 4 /dev/urandom | wc -c)" = 4 ]
echo in | cat /dev/stdin | grep -qx in && echo out >/dev/stdout && ls /dev/fd/ >/dev/null
if echo x 2>/dev/null >/dev/full; then exit 1; fi
[ "$(cat)" = "" ]
grep -q MemTotal /proc/meminfo && grep -q processor /proc/cpuinfo && grep -q Pid: /proc/self/status && cat /proc/loadavg >/dev/null && cat /proc/sys/kernel/ostype >/dev/null
echo works
