"""What a hostile agent tries, inside of a sandbox and outside: a row each, with what comes of it.

`python tests/journeys/hostile_page.py` writes the table of docs/trust.md from it.
"""

from typing import NamedTuple


class Action(NamedTuple):
    """One thing that a hostile agent tries."""

    name: str
    what: str
    """In words, for the page."""
    script: str
    """Shell: it ends with 0 if the agent has managed it. `$H` is the home, `$R` the main checkout,
    `$B` a folder of the machine's, `$VICTIM` another process of the user, `$PORT` a service,
    `$ABSTRACT` the name of a socket, `$SCREEN` a terminal, `$SHM` the id of shared memory."""
    outside: bool
    """Whether it manages that without a sandbox."""
    inside: bool = False
    """The same in one."""


ACTIONS = (
    Action("read-key", "read a key in the home", "cat $H/.ssh/id_test", True),
    Action("list-keys", "list a folder of keys", "ls $H/.ssh | grep .", True),
    Action(
        "read-config",
        "read the user's configuration, with the values of `env`",
        "cat $H/.config/sow/config.yaml",
        True,
    ),
    Action(
        "read-secret",
        "read the secret by which queues are known",
        "cat $H/.local/state/sow/queue.key",
        True,
    ),
    Action("write-home", "change a file of the home", "echo x >>$H/.profile", True),
    Action("new-in-home", "make a file in the home", "echo x >$H/made", True),
    Action("accept", "accept command lines by hand", "echo '{}' >$H/.config/sow/trust.json", True),
    Action(
        "read-prompts",
        "read the prompts and the output of agents",
        "cat $R/.sow/run/jobs/*/*/prompt.md",
        True,
    ),
    Action("write-queue", "write beside the queue", "echo x >$R/.sow/run/made", True),
    Action("read-state", "read the project's state", "cat $R/.sow/project/state.yaml", True, True),
    Action(
        "write-state",
        "change the project's state by hand",
        "echo '# x' >>$R/.sow/project/state.yaml",
        True,
    ),
    Action(
        "write-settings",
        "change the repository's settings",
        "echo '# x' >>$R/.sow/config.yaml",
        True,
    ),
    Action(
        "hook",
        "leave a git hook for the user",
        "echo '#!/bin/sh' >$R/.git/hooks/post-checkout",
        True,
    ),
    Action(
        "git-config",
        "change the git configuration of the main checkout",
        "git config -f $R/.git/config alias.x '!true'",
        True,
    ),
    Action("read-git", "read the git folder of the main checkout", "cat $R/.git/HEAD", True),
    Action(
        "push", "push a branch into the main checkout", "git push -q $R HEAD:refs/heads/made", True
    ),
    Action("write-tree", "change a file of the main checkout", "echo x >>$R/code.txt", True),
    Action("read-tree", "read a file of the main checkout", "cat $R/code.txt", True),
    Action(
        "link-out",
        "read a key by a link in its clone",
        "ln -sf $H/.ssh/id_test link; cat link",
        True,
    ),
    Action(
        "write-link",
        "write into the home by a link in its clone",
        "ln -sf $H/.profile link2; echo x >>link2",
        True,
    ),
    Action(
        "hard-link", "take a key into its clone by a hard link", "ln -f $H/.ssh/id_test taken", True
    ),
    Action("other-clone", "read another task's clone", "cat ../020/code.txt", True),
    Action("read-temporary", "read a temporary file of the user's", "cat $B/temporary", True),
    Action(
        "write-temporary",
        "write a file where the machine's temporary ones are",
        "echo x >$B/made && test -s $B/temporary",
        True,
    ),
    Action("see-process", "see another process", "kill -0 $VICTIM", True),
    Action(
        "environment",
        "read another process's environment",
        "tr '\\0' '\\n' </proc/$VICTIM/environ | grep -q SECRET",
        True,
    ),
    Action("signal", "signal another process", "kill -USR1 $VICTIM", True),
    Action("memory", "look into another process's memory", "grep -q . /proc/$VICTIM/maps", True),
    Action(
        "trace",
        "trace another process (ptrace)",
        "python3 -c \"import ctypes, os; seize = 0x4206; pid = int(os.environ['VICTIM']);"
        ' exit(ctypes.CDLL(None).ptrace(seize, pid, None, None) != 0)"',
        True,
    ),
    Action(
        "other-limits", "change another process's limits", "prlimit --pid $VICTIM --core=0:0", True
    ),
    Action(
        "shared-memory",
        "see shared memory of the user's (System V)",
        "cut -c 12-22 /proc/sysvipc/shm | grep -qw -e $SHM",
        True,
    ),
    Action("supervisor", "see its own supervisor", "test $PPID -gt 2 && ls /proc/$PPID/fd", True),
    Action(
        "agent-socket",
        "speak to the user's ssh-agent",
        "python3 -c \"import os, socket; os.chdir(os.path.dirname(os.environ['SSH_AUTH_SOCK']));"
        " socket.socket(socket.AF_UNIX).connect('agent.sock')\"",
        True,
    ),
    Action(
        "named-socket",
        "speak to a socket of the user's by its path",
        'cd $B && python3 -c "import socket;'
        " socket.socket(socket.AF_UNIX).connect('agent.sock')\"",
        True,
    ),
    Action(
        "abstract-socket",
        "speak to a socket of the user's by its abstract name",
        'python3 -c "import os, socket;'
        " socket.socket(socket.AF_UNIX).connect(chr(0) + os.environ['ABSTRACT'])\"",
        True,
        True,
    ),
    Action("screen", "write on a terminal of the user's", "echo x >$SCREEN", True),
    Action("own-terminal", "type into the terminal that it was started from", ": </dev/tty", False),
    Action("run", "see the sockets of the system and of the session", "ls /run | grep .", True),
    Action(
        "root-of-parent",
        "go round by the root of its parent process",
        "cat /proc/$PPID/root$H/.ssh/id_test",
        True,
    ),
    Action(
        "descriptors",
        "use a folder that it has inherited open",
        "for each in /proc/self/fd/* /proc/$$/fd/*; do test -d $each/ && exit 0; done; exit 1",
        False,
    ),
    Action(
        "open-files",
        "use a file or a socket of sow's that it has inherited open",
        "for each in /proc/$$/fd/*; do test ${each##*/} -gt 2 && case $(readlink $each) in"
        " */alive.lock | */author.sh | '') ;; *) exit 0 ;; esac; done; exit 1",
        False,
    ),
    Action(
        "own-output",
        "rewrite what it has printed, by its standard output",
        "true 3<>/proc/$$/fd/1",
        True,
        True,
    ),
    Action(
        "setuid",
        "run a setuid program with its owner's rights",
        "! grep -q '^NoNewPrivs:.1' /proc/self/status",
        True,
    ),
    Action(
        "unmount",
        "take the hidden parts away in namespaces of its own",
        'unshare -Urm sh -c "umount $H; umount -l $H; cat $H/.ssh/id_test"',
        True,
    ),
    Action(
        "remount", "make the home writable", "mount -o remount,rw $H; echo x >$H/made-again", True
    ),
    Action(
        "daemon", "leave a process behind", "setsid sh -c 'sleep 600 & sleep 600' & false", False
    ),
    Action("trust", "run `sow trust`", "sow trust --yes", False),
    Action("merge", "run `sow merge`", "sow merge 010", False),
    Action("spawn", "start another agent", "sow agent spawn implementer 020", False),
    Action(
        "network",
        "reach a service on the machine's loopback",
        "python3 -c \"import socket; socket.create_connection(('127.0.0.1', $PORT), 5)\"",
        True,
        True,
    ),
    Action("own-folder", "write its own clone", "echo x >own", True, True),
    Action("commit", "commit in its own clone", "git add own && git commit -q -m own", True, True),
    Action("own-temporary", "write temporary files", "echo x >/tmp/own-$SOW_JOB_ID", True, True),
    Action("run-sow", "read its task with `sow`", "sow task show $SOW_TASK_ID", True, True),
)
"""In the order in which they are tried."""


def script_of(actions: tuple[Action, ...]) -> str:
    """Return a shell script that tries them all and prints what came of each."""
    tries = "\n".join(
        f'( {action.script}\n) </dev/null >/dev/null 2>>$PWD/words; echo "action {action.name} $?"'
        for action in actions
    )
    return f"#!/bin/sh\ncat >/dev/null\ntest $SOW_TASK_ID = 020 && exit\n{tries}\n"
