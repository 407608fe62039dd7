"""What some processes use together, by Linux and by psutil."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from sow.processes import procfs, tree_linux, tree_portable

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="it compares with /proc"),
]
MB = 10**6
PROGRAM = f"""
import os, threading
x = b'x' * {60 * MB}
sum(range(2 * 10**6))
if os.fork() == 0:
    threading.Thread(target=input).start()
    threading.Event().wait()
if os.fork() == 0:
    sum(range(3 * 10**6))
    os._exit(0)
os.wait()
print(flush=True)
threading.Event().wait()
"""


@pytest.fixture(scope="module")
def pids() -> Iterator[list[int]]:
    """Two processes that share 60 MB, and have three threads; a third one has worked and ended."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    family = [*tree_linux.family([process.pid])]
    yield family
    for pid in family:
        os.kill(pid, 9)
    process.communicate()


def test_threads_count(pids: list[int]) -> None:
    assert len(pids) == 2
    assert tree_linux.use_of(pids).tasks == 3
    assert tree_portable.use_of(pids).tasks == 3


def test_shared_memory_counts_once_if_it_is_asked_for_exactly(pids: list[int]) -> None:
    assert 60 * MB < tree_linux.use_of(pids, exactly=True).memory_bytes < 120 * MB
    assert tree_linux.use_of(pids).memory_bytes > 120 * MB
    assert tree_portable.use_of(pids).memory_bytes > 120 * MB


def test_the_time_of_those_that_have_ended_counts(pids: list[int]) -> None:
    """By field: the third process was waited for by the first one."""
    first = pids[0]
    own = os.sysconf("SC_CLK_TCK") * tree_linux.use_of([first]).cpu_seconds
    stat = procfs.read_stat(first)
    assert stat is not None
    assert own > stat.cpu_ticks
    assert abs(tree_portable.use_of([first]).cpu_seconds * os.sysconf("SC_CLK_TCK") - own) < 2


def test_one_that_has_gone_uses_nothing() -> None:
    process = subprocess.Popen(["/bin/true"])
    process.wait()
    assert tree_linux.use_of([process.pid], exactly=True).tasks == 0
    assert tree_portable.use_of([process.pid]).tasks == 0
