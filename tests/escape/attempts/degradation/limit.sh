# Starts a command where no user namespace can be made any more.
exec unshare --user --map-root-user sh -c '
    echo 0 >/proc/sys/user/max_user_namespaces
    exec "$MICROCODER" exec --access "$ACCESS" -- /bin/sh -c ": >ran; cat $OUTSIDE/secret"'
