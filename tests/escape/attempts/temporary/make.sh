# Leaves a file where every program of the machine would find it.
echo owned >"$1"
