# Leaves processes behind that no group, session or parent leads to.
(setsid sh -c 'trap "" HUP TERM INT; exec sleep 300' </dev/null >/dev/null 2>&1 &)
setsid -f sleep 300 </dev/null >/dev/null 2>&1
