# $1 is the store as the person names it, $2 what is granted and $3 how; the command asks for what is in the store.
ln -s "$PERSON/.openagents/tasks" link
ln -s "$PERSON" home
export MICROCODER_STORE="$1"
"$MICROCODER" exec --access "$ACCESS" "${3:---read}" "$2" -- cat "$PERSON/.openagents/tasks/task-1.atif.jsonl"
