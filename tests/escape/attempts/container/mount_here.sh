# Mounts a file system on a directory of the workspace.
mkdir here && mount -t tmpfs "$MARK" here
