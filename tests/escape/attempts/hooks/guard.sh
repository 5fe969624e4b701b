# Makes the repository writable again by every way to change a mount or to get around it, and writes a hook.
hook=$PROJECT/.git/hooks/pre-commit
for place in "$PROJECT" "$PROJECT/.git" "$PROJECT/.git/hooks"; do
    mount -o remount,bind,rw "$place"; umount -l "$place"; umount "$place"
done
nsenter --target 1 --mount sh -c "echo owned >$hook"
unshare --user --map-root-user --mount sh -c "mount -o remount,bind,rw $PROJECT; umount -l $PROJECT; echo owned >$hook"
for root in /proc/[0-9]*/root /proc/[0-9]*/cwd/../../../../..; do echo owned >"$root$hook"; done
ln "$PROJECT/.git/config" mine && echo owned >>mine
mkdir other && mount --bind "$PROJECT" other && echo owned >other/.git/hooks/pre-commit
echo owned >"$hook"
