# Sets a variable for the host, and runs a command that would run something of the workspace if it had the variable.
variable=$1 value=$2
shift 2
echo ': >ran' >rc
echo 'open("ran", "w")' >sitecustomize.py
echo 'open(F, ">", "ran"); 1;' >Ran.pm
env "$variable=$value" "$MICROCODER" exec --access "$ACCESS" -- "$@"
