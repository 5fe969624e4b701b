# What bash does by way of /dev/fd, coprocesses and its own sockets.
exec bash -c '
set -euo pipefail
diff <(echo a) <(echo a)
coproc cat; echo through >&${COPROC[1]}; read -r line <&${COPROC[0]}; [ "$line" = through ]; exec {COPROC[1]}>&-
mapfile -t lines < <(printf "%s\n" one two); [ ${#lines[@]} = 2 ]
python3 -c "
import socket
with socket.create_server((\"127.0.0.1\", 18998)) as server:
    open(\"listening\", \"w\").close()
    server.accept()[0].sendall(b\"spoken\n\")
" &
until [ -e listening ]; do sleep 0.02; done
read -r line </dev/tcp/127.0.0.1/18998; [ "$line" = spoken ]; wait
trap "echo works" EXIT'
