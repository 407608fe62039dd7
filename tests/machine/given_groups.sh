# The first process: run the tests of limits as root, whose group is the machine's, and as an
# ordinary user to whom a group was given as cgroups(7) describes it ("Delegation").

. /run/share/common.sh
prepare
mount -t cgroup2 cgroup2 /sys/fs/cgroup
tests=tests/worker/test_supervisor_limits.py

run_as root sh /run/share/run_pytest.sh root "$tests"

# The user's own processes are in a group inside of it, as with systemd's DelegateSubgroup=.
given=/sys/fs/cgroup/given
echo "+memory +pids" >/sys/fs/cgroup/cgroup.subtree_control
mkdir -p "$given/sow-worker"
for group in "$given" "$given/sow-worker"; do
    chown "$NUMBER:$NUMBER" "$group" "$group/cgroup.procs" "$group/cgroup.threads" \
        "$group/cgroup.subtree_control"
done
# shellcheck disable=SC2016 # it is the inner shell's
run_as user sh -c 'echo $$ >"$1" && shift && exec "$@"' enter "$given/sow-worker/cgroup.procs" \
    setpriv --reuid "$NUMBER" --regid "$NUMBER" --clear-groups \
    sh /run/share/run_pytest.sh user "$tests"

switch_off
