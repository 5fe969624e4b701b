# A terminal multiplexer: a server in a session of its own, a socket, a terminal.
set -e
export TERM=xterm TMUX_TMPDIR="$TMPDIR"
tmux -f /dev/null new-session -d -x 80 -y 24 'echo typed in; read line; echo "$line" >said'
for _ in $(seq 100); do if tmux capture-pane -p | grep -q 'typed in'; then break; fi; sleep 0.05; done
tmux send-keys hello Enter
for _ in $(seq 100); do if [ -s said ]; then break; fi; sleep 0.05; done
grep -qx hello said && { tmux kill-server || true; }
echo works
