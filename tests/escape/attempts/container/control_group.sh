# A control group with a release agent.
mkdir -p "/sys/fs/cgroup/$MARK" "/sys/fs/cgroup/memory/$MARK" "/sys/fs/cgroup/pids/$MARK"
