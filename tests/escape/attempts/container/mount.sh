# Mounts over the workspace and the system, old way and new.
mount -t tmpfs "$MARK" . ; mount --bind "$OUTSIDE" . ; mount -t overlay overlay -o lowerdir=/,upperdir=.,workdir=. /usr
mount -t proc "$MARK" /proc; umount -l /proc; umount -l /tmp; mount -o remount,rw /; mount -o remount,bind,rw /usr
mkdir -p "/usr/lib/$MARK"
