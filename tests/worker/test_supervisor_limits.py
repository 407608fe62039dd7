"""The limits of an attempt, with real agents that exceed them: who sees it, and what is left.

In four ways: the kernel keeps them in a control group that was given to us; a group of ours counts
its members; without a group Linux's process tree is summed; and the portable back end's. The first
needs controllers of version 2: `make test-groups` runs it in a machine that has them.
"""

import os
import signal
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from attempt_cases import (
    PSUTIL,
    SECONDS,
    WITHOUT_GROUP,
    AttemptSite,
    is_running,
    wait_until,
)
from capabilities import skip_or_fail

from sow.processes import cgroup
from sow.processes.cgroup_limits import CONTROLLERS
from worker.supervisor.limits import pack_limits

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="control groups are Linux's"),
]
MB = 10**6
IN_GIVEN_GROUP = """
from sow.processes import cgroup, cgroup_limits
cgroup.move_to({group!r})
cgroup_limits.delegate({group!r}, lambda pid: True)
"""
"""A worker's way to its group, in the process that becomes the supervisor."""


@pytest.fixture
def given_group() -> Iterator[str]:
    """A control group that was given to us with controllers of version 2."""
    home = cgroup.own_home()
    group = Path(home, f"test-{uuid.uuid4().hex[:12]}")
    try:
        for name in CONTROLLERS:
            cgroup.write(f"{home}/cgroup.subtree_control", f"+{name}")
        group.mkdir()
    except OSError as error:
        skip_or_fail(f"no control group can be given here (`make test-groups`): {error.strerror}")
    yield str(group)
    for inner in group.glob(f"{cgroup.PREFIX}*"):
        wait_until(partial(_is_gone, str(inner)), "its groups are empty")
    wait_until(partial(_is_gone, str(group)), "the group is empty")


def _is_gone(group: str) -> bool:
    cgroup.remove(group)
    return not Path(group).exists()


class Limited:
    """An attempt with limits, in one of the ways."""

    def __init__(self, site: AttemptSite, way: str, group: str) -> None:
        self.site = site
        self.way = way
        self.before = {
            "kernel": IN_GIVEN_GROUP.format(group=group),
            "tree": WITHOUT_GROUP,
        }.get(way, "")
        site.packages = PSUTIL if way == "portable" else None
        site.prepare()
        self.clone = site.root / "clone"
        self.clone.mkdir()

    def run(self, script: str, **most: float) -> dict[str, Any]:
        """Run a script with limits to its end; return what `exit.json` says."""
        process = self.site.wait_for_orders(before=self.before)
        limits = pack_limits(most, [str(self.clone)])
        self.site.order(process, self.site.orders("/bin/sh", "-c", script, limits=limits))
        assert process.wait(SECONDS) == 0, self.site.log()
        return self.site.exit()

    def nothing_is_left(self) -> None:
        wait_until(lambda: not self.site.carriers(), "nothing of the agent is left")


KERNEL = pytest.param("kernel", marks=pytest.mark.groups)


@pytest.fixture(params=[KERNEL, "group", "tree", "portable"])
def limited(request: pytest.FixtureRequest, attempt: AttemptSite) -> Iterator[Limited]:
    group = request.getfixturevalue("given_group") if request.param == "kernel" else ""
    if request.param == "group" and not os.access(cgroup.own_home() or "/none", os.W_OK):
        skip_or_fail("no control group can be made here")
    yield Limited(attempt, request.param, group)
    attempt.close()
    if attempt.paths.started.exists() and (fence := attempt.started_record()["fence"]):
        wait_until(lambda: _is_gone(fence), "its group is empty")


HOLDS = f"{sys.executable} -c \"import time; x = b'x' * {{}}; open('{{}}', 'w'); time.sleep(600)\""
"""Takes bytes of memory, and says so by a file."""


def test_memory_is_that_of_all_its_processes(limited: Limited) -> None:
    """Two that have left the agent's session, neither of which exceeds the limit by itself."""
    script = " ".join(f"setsid {HOLDS.format(70 * MB, name)} &" for name in "ab")
    record = limited.run(f"{script} while :; do sleep 0.05; done", memory=100 * MB)
    assert record["limit"] == "memory", (record, limited.site.log())
    assert record["by_request"] is False
    if limited.way != "kernel":
        assert 100 * MB < record["limit_seen"] < 400 * MB
    limited.nothing_is_left()


@pytest.mark.few(2)
@pytest.mark.parametrize("limited", [KERNEL, "group", "tree"], indirect=True)
def test_memory_that_several_share_counts_once(limited: Limited) -> None:
    """Forks of one process; the portable back end cannot tell: it sums psutil's resident memory."""
    program = limited.site.file("forks.py")
    program.write_text(
        f"import os, time\nx = b'x' * {50 * MB}\n"
        "for _ in range(4):\n    os.fork() or (time.sleep(2.5), os._exit(0))\n"
        "for _ in range(4):\n    os.wait()\n"
    )
    record = limited.run(f"{sys.executable} {program}", memory=160 * MB)
    assert (record["code"], record.get("limit")) == (0, None)


@pytest.mark.few(2)
def test_processor_time_is_that_of_those_that_have_ended_too(limited: Limited) -> None:
    spend = f'{sys.executable} -c "sum(range(3 * 10**6))"'
    record = limited.run(f"while :; do {spend}; done", cpu=0.6)
    assert record["limit"] == "cpu", (record, limited.site.log())
    assert record["limit_seen"] > 0.6
    limited.nothing_is_left()


@pytest.mark.few(2)
def test_processor_time_ends_an_agent_kindly(limited: Limited) -> None:
    script = "trap 'echo interrupted; exit 5' INT; while :; do :; done"
    record = limited.run(script, cpu=0.3)
    assert (record["limit"], record["code"]) == ("cpu", 5)
    assert limited.site.paths.output.read_text() == "interrupted\n"


def test_processes_are_counted(limited: Limited) -> None:
    """They are no children of the agent any more."""
    more = "for i in 1 2 3 4 5 6 7 8 9 10; do (setsid sleep 600 &); done;"
    record = limited.run(f"{more} while :; do sleep 0.05; done", processes=8)
    assert record["limit"] == "processes", (record, limited.site.log())
    limited.nothing_is_left()


def test_threads_count_like_processes(limited: Limited) -> None:
    program = limited.site.file("threads.py")
    program.write_text(
        "import threading, time\n"
        "for _ in range(12):\n    threading.Thread(target=time.sleep, args=(600,)).start()\n"
    )
    record = limited.run(f"{sys.executable} {program}", processes=8)
    assert record["limit"] == "processes", (record, limited.site.log())


def test_the_disk_is_counted_in_its_folders(limited: Limited) -> None:
    fill = f"dd if=/dev/zero of={limited.clone}/a/b bs=1000000 count=40 2>/dev/null"
    record = limited.run(
        f"mkdir {limited.clone}/a; {fill}; while :; do sleep 0.05; done", disk=20 * MB
    )
    assert record["limit"] == "disk", (record, limited.site.log())
    assert 20 * MB < record["limit_seen"] < 100 * MB
    limited.nothing_is_left()


ALL: Mapping[str, float] = {"memory": 1000 * MB, "cpu": 60.0, "processes": 50, "disk": 100 * MB}


@pytest.mark.few(2)
def test_an_agent_within_its_limits_ends_by_itself(limited: Limited) -> None:
    script = f"echo x >{limited.clone}/file; {sys.executable} -c 'import time; time.sleep(1.5)'"
    record = limited.run(f"{script}; exit 3", **ALL)
    assert (record["code"], record["signal"], record["by_request"]) == (3, None, False)
    assert "limit" not in record


def test_it_is_cancelled_as_ever(limited: Limited) -> None:
    process = limited.site.wait_for_orders(before=limited.before)
    ready = limited.site.file("ready")
    script = f"trap 'exit 7' INT; : >{ready}; while :; do sleep 0.02; done"
    limits = pack_limits(ALL, [str(limited.clone)])
    limited.site.order(process, limited.site.orders("/bin/sh", "-c", script, limits=limits))
    wait_until(ready.exists, "the agent expects its end")
    limited.site.agent_pid()
    process.terminate()
    assert process.wait(SECONDS) == 0
    record = limited.site.exit()
    assert (record["code"], record["by_request"], "limit" in record) == (7, True, False)


def test_its_groups_are_removed_after_a_kill_of_its_supervisor(limited: Limited) -> None:
    """An agent outlives it; the group with both parts goes once the agent has gone."""
    process = limited.site.wait_for_orders(before=limited.before)
    limits = pack_limits(ALL, [str(limited.clone)])
    limited.site.order(process, limited.site.orders("/bin/sleep", "600", limits=limits))
    agent = limited.site.agent_pid()
    fence = limited.site.started_record()["fence"]
    process.kill()
    process.wait()
    assert is_running(agent)
    if fence:
        assert cgroup.members(fence) == [agent]
        cgroup.remove(fence)
        assert cgroup.members(fence) == [agent]
    with suppress(ProcessLookupError):
        os.kill(agent, signal.SIGKILL)
    wait_until(lambda: not is_running(agent), "the agent is dead")
    if fence:
        wait_until(lambda: _is_gone(fence), "the group is removed")


def test_no_other_supervisor_imports_any_of_it(attempt: AttemptSite) -> None:
    file = attempt.file("modules")
    names = "repr([*sys.modules])"
    note = f"import atexit\natexit.register(lambda: open({str(file)!r}, 'w').write({names}))"
    attempt.prepare()
    process = attempt.wait_for_orders(before=note)
    attempt.order(process, attempt.orders("/bin/true"))
    assert process.wait(SECONDS) == 0
    modules = file.read_text()
    assert "worker.supervisor.supervise" in modules
    for name in ("limits", "disk_use", "cgroup_limits", "tree_use"):
        assert name not in modules
