"""Who below an agent is not the agent's, and is left alone when its tree is ended (§6)."""

import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from attempt_cases import PSUTIL, SECONDS, AttemptSite, is_running

from sow.paths import Workspace
from worker.supervisor.foreign_processes import agent_pid_of, is_held, named_in, registered_workers

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the tests read /proc"),
]

HOLDER = """
import fcntl, os, sys, time
path, said, pid = sys.argv[1:]
os.makedirs(os.path.dirname(path), exist_ok=True)
lock = open(path, "w")
fcntl.flock(lock, fcntl.LOCK_EX)
lock.write(f"{pid or os.getpid()} 12345\\n")
lock.flush()
open("." + said, "w").write(str(os.getpid()))
os.rename("." + said, said)
time.sleep(600)
"""
"""Holds a lock file that names it, or the pid that it is given."""


@pytest.fixture(params=["linux", "portable"])
def attempt(request: pytest.FixtureRequest, workspace: Workspace) -> Iterator[AttemptSite]:
    """An attempt whose supervisor uses each back end."""
    site = AttemptSite(workspace, packages=PSUTIL if request.param == "portable" else None)
    yield site
    site.close()


def wait_for(name: str) -> str:
    return f"while [ ! -e {name} ]; do sleep 0.01; done"


def leave(attempt: AttemptSite, command: str) -> int:
    """Have an agent leave a command behind, which says its pid in `left`; return that pid."""
    process = attempt.sh(f"{command} & {wait_for('seen')}", impatient=True)
    left = attempt.pid_in("left")
    if attempt.packages is not None:
        attempt.await_looks()  # nobody inherits it: it must have been seen below the agent
    attempt.file("seen").touch()
    assert process.wait(SECONDS) == 0
    return left


def test_a_variable_alone_spares_nobody(attempt: AttemptSite) -> None:
    """Whoever starts a process may give it the id of another attempt."""
    attempt.script("left", "{pid}; exec sleep 600")
    assert not is_running(leave(attempt, "SOW_ATTEMPT_ID=1.1.x setsid sh left.sh"))


def test_the_variable_of_a_supervisor_alone_spares_nobody(attempt: AttemptSite) -> None:
    attempt.script("left", "{pid}; exec sleep 600")
    assert not is_running(leave(attempt, "SOW_ATTEMPT_ID=supervisor setsid sh left.sh"))


@pytest.mark.parametrize("named", ["itself", "another process"])
def test_a_worker_of_another_checkout_is_spared(attempt: AttemptSite, named: str) -> None:
    """It holds open and locked the file that names it; a lock that names another proves nothing."""
    attempt.file("holder.py").write_text(HOLDER)
    lock = attempt.file("elsewhere") / ".sow/run/workers/w1.lock"
    other = "" if named == "itself" else "1"
    left = leave(attempt, f"setsid {sys.executable} holder.py {lock} left '{other}'")
    assert is_running(left) is (named == "itself")
    if is_running(left):
        os.kill(left, signal.SIGKILL)


@pytest.mark.parametrize("is_its_agent", [True, False])
def test_the_agent_of_another_attempt_is_spared_though_its_supervisor_has_died(
    attempt: AttemptSite, is_its_agent: bool
) -> None:
    """That attempt's own record names it."""
    other = AttemptSite(attempt.workspace, number=2)
    other.prepare()
    record = '{\\"agent_pid\\": ' + ("$$" if is_its_agent else "1")
    attempt.script("left", f'echo "{record}}}" >{other.paths.started}; {{pid}}; exec sleep 600')
    variables = f"SOW_ROOT={attempt.root} SOW_ATTEMPT_ID={other.attempt_id}"
    left = leave(attempt, f"{variables} setsid sh left.sh")
    assert is_running(left) is is_its_agent
    other.close()


LOOKS = [is_held, named_in, partial(agent_pid_of, attempt=""), registered_workers]


@pytest.fixture
def no_descriptors() -> Iterator[None]:
    """Leave this process none to open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("no_descriptors")
@pytest.mark.parametrize(
    "look", [is_held, named_in, partial(agent_pid_of, attempt=""), registered_workers]
)
def test_who_cannot_look_says_so_and_takes_nobody_for_a_leftover(
    tmp_path: Path, look: Callable[[str], object]
) -> None:
    """A worker whose lock cannot be read would be ended with the agent below which it runs."""
    with pytest.raises(OSError, match="Too many open files"):
        look(str(tmp_path))
