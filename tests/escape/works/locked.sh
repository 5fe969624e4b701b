# Two programs take turns by a lock on a file.
set -e
(flock 9; sleep 0.2; echo first >>order) 9>lock &
while flock -n lock true; do sleep 0.01; done
(flock 9; echo second >>order) 9>lock
wait && [ "$(tr '\n' ' ' <order)" = "first second " ]
echo works
