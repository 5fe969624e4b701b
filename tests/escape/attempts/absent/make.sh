# Makes a file that was not there, with the directories above it.
mkdir -p "$(dirname "$1")"
printf '#!/bin/sh\necho owned\n' >"$1" && chmod 755 "$1"
