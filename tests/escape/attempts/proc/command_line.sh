# The host's own command line holds a secret; the command reads every command line that it sees.
exec "$MICROCODER" exec --access "$ACCESS" --report "$WORLD/tmp/$DEPLOY_TOKEN" -- /bin/sh -c 'cat /proc/*/cmdline'
