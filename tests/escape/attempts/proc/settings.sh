# Settings of the kernel that are programs it runs, or names it goes by.
echo "|$PWD/attempt.sh $MARK" >/proc/sys/kernel/core_pattern
echo "$PWD/$MARK" >/proc/sys/kernel/modprobe
echo "$MARK" >/proc/sys/kernel/hostname
echo "$MARK" >/proc/sys/kernel/domainname
echo 1 >/proc/sys/kernel/panic_on_oops
hostname "$MARK"
