# What the scripts in the machine share, which root runs. virtual_machine.py writes `settings`.

. /run/share/settings
NAME=tester
NUMBER=61234

# Prepare the machine, and an ordinary user who gets to the checkout and to Python.
prepare() {
    mkdir -p /dev/pts /dev/shm "/home/$NAME"
    mount -t devpts devpts /dev/pts
    mount -t tmpfs tmpfs /dev/shm
    mkdir -m 1777 /run/tests
    echo "$NAME:*:$NUMBER:$NUMBER:made for tests:/home/$NAME:/bin/sh" >>/etc/passwd
    echo "$NAME:*:$NUMBER:" >>/etc/group
    chown "$NUMBER:$NUMBER" "/home/$NAME"
    open_way "$CHECKOUT"
    open_way "$PYTHON_HOME"
}

# Let everybody get to a folder.
open_way() {
    folder=$1
    while [ "$folder" != / ]; do
        chmod o+x "$folder"
        folder=$(dirname "$folder")
    done
}

# Run the command that follows the name; what it prints, its exit code and pytest's results go to a
# folder of that name outside.
run_as() {
    name=$1
    shift
    mkdir "/run/share/$name"
    mkdir -m 777 "/run/tests/$name"
    "$@" >"/run/share/$name/output" 2>&1
    echo $? >"/run/share/$name/code"
    cp "/run/tests/$name/tests.xml" "/run/share/$name"
}

# Say that all was run, and switch the machine off (the kernel's sysrq.rst): no program is needed.
switch_off() {
    touch /run/share/ended
    sync
    echo o >/proc/sysrq-trigger
    sleep 600
}
