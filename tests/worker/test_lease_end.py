"""A supervisor ends its agent by itself before another host may run the job again."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from attempt_cases import (
    SECONDS,
    WITHOUT_GROUP,
    AttemptSite,
    is_running,
    say_pid,
    wait_until,
)
from watch_cases import WatchSite, dead_process

from sow.processes import procfs
from sow.schema.causes import Cause
from worker.settle import settle_attempt
from worker.supervisor import lease_end
from worker.supervisor.lease_end import LeaseEnd, boot_seconds, pack_lease, write_lease_end
from worker.supervisor.limits import PROCESSES, pack_limits

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the supervisor reads /proc")
GRACE = 0.5
"""How long a guard leaves to the supervisor, in these tests."""
WAITS = "while [ ! -e go ]; do sleep 0.02; done; exit 3"
STUBBORN = "trap '' INT TERM; " + WAITS


def start_leased(attempt: AttemptSite, script: str, ends_at: float) -> subprocess.Popen[bytes]:
    attempt.prepare()
    supervisor = attempt.wait_for_orders()
    orders = attempt.orders("/bin/sh", "-c", script, lease=pack_lease(ends_at, GRACE))
    attempt.order(supervisor, orders)
    return supervisor


@on_linux
@pytest.mark.slow
def test_an_agent_whose_lease_nobody_renews_is_killed(attempt: AttemptSite) -> None:
    supervisor = start_leased(attempt, STUBBORN, boot_seconds() + 0.3)
    agent = attempt.agent_pid()
    assert supervisor.wait(SECONDS) == 0
    record = attempt.exit()
    assert (record["signal"], record["limit"], record["by_request"]) == (9, "lease", False)
    assert not is_running(agent)
    assert "the lease ends" in attempt.log()


@on_linux
@pytest.mark.slow
def test_an_agent_whose_lease_is_renewed_goes_on(attempt: AttemptSite) -> None:
    first = boot_seconds() + 0.5
    supervisor = start_leased(attempt, WAITS, first)
    attempt.agent_pid()
    write_lease_end(str(attempt.paths.folder), boot_seconds() + 600)
    wait_until(lambda: boot_seconds() > first + 0.2, "the first end has passed")
    attempt.file("go").touch()
    assert supervisor.wait(SECONDS) == 0
    record = attempt.exit()
    assert (record["code"], record.get("limit")) == (3, None)


def guards(agent: int) -> list[int]:
    """Return what its supervisor has forked besides the agent."""
    stat = procfs.read_stat(agent)
    assert stat is not None
    below = procfs.processes()
    return [pid for pid, it in below.items() if it.parent == stat.parent and pid != agent]


@on_linux
@pytest.mark.slow
@pytest.mark.one_of
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_without_its_supervisor_an_agent_ends_with_its_lease_too(
    attempt: AttemptSite, how: signal.Signals
) -> None:
    """With all that it has started; no worker is there, and nobody renews the lease."""
    script = f"(setsid sh -c '{say_pid('other')}; exec sleep 600' &) ; {STUBBORN}"
    supervisor = start_leased(attempt, script, boot_seconds() + 1.0)
    both = attempt.agent_pid(), attempt.pid_in("other")
    supervisor.send_signal(how)
    wait_until(lambda: not any(map(is_running, both)), "all of it has ended")
    assert "its guard does" in attempt.log()
    if how is signal.SIGSTOP:
        supervisor.send_signal(signal.SIGCONT)
    supervisor.wait(SECONDS)


@on_linux
@pytest.mark.slow
def test_without_its_supervisor_an_agent_goes_on_while_a_worker_renews_its_lease(
    attempt: AttemptSite,
) -> None:
    first = boot_seconds() + 0.5
    supervisor = start_leased(attempt, WAITS, first)
    agent = attempt.agent_pid()
    (guard,) = guards(agent)
    write_lease_end(str(attempt.paths.folder), boot_seconds() + 600)
    supervisor.kill()
    supervisor.wait(SECONDS)
    wait_until(lambda: boot_seconds() > first + GRACE + 0.5, "the first end has passed")
    assert is_running(agent)
    attempt.file("go").touch()
    wait_until(lambda: not is_running(agent), "the agent ends")
    wait_until(lambda: not is_running(guard), "and its guard")
    assert "guard" not in attempt.log()


@on_linux
@pytest.mark.slow
def test_an_agent_that_has_ended_leaves_no_guard(attempt: AttemptSite) -> None:
    supervisor = start_leased(attempt, WAITS, boot_seconds() + 600)
    (guard,) = guards(attempt.agent_pid())
    attempt.file("go").touch()
    assert supervisor.wait(SECONDS) == 0
    assert not is_running(guard)
    assert attempt.exit()["code"] == 3


@on_linux
@pytest.mark.slow
def test_the_guard_counts_for_no_limit(attempt: AttemptSite) -> None:
    attempt.prepare()
    supervisor = attempt.wait_for_orders(before=WITHOUT_GROUP)
    lease, limits = pack_lease(boot_seconds() + 600, GRACE), pack_limits({PROCESSES: 1}, [])
    orders = attempt.orders("/bin/sh", "-c", "exec sleep 1.3", limits=limits, lease=lease)
    attempt.order(supervisor, orders)
    assert supervisor.wait(SECONDS) == 0
    record = attempt.exit()
    assert (record["code"], record.get("limit")) == (0, None)


def test_the_file_is_read_again_where_the_moment_known_is_over(tmp_path: Path) -> None:
    folder = str(tmp_path)
    lease = LeaseEnd([b"1.0", b"2.0"], folder)
    write_lease_end(folder, boot_seconds() + 600)
    assert not lease.comes()
    assert lease.pause == lease_end.LOOK_SECONDS
    write_lease_end(folder, 2.0)
    assert not lease.comes(), "no end comes earlier than was promised"
    again = LeaseEnd([repr(boot_seconds() + 600).encode(), b"2.0"], folder)
    assert not again.comes(), "the file is of an earlier start"


@pytest.mark.parametrize("text", ["", "soon", "nan"])
def test_what_is_no_moment_is_one_that_has_passed(tmp_path: Path, text: str) -> None:
    (tmp_path / "lease").write_text(text)
    assert LeaseEnd([b"1.0", b"2.0"], str(tmp_path)).comes()


@on_linux
@pytest.mark.slow
@pytest.mark.parametrize("is_shared", [True, False])
def test_such_an_end_counts_against_nobody_where_leases_have_one(
    site: WatchSite, is_shared: bool
) -> None:
    """Else the agent has written that record itself, to be run again for nothing."""
    job = site.job()
    site.lease(job)
    attempt = site.attempt(job, supervisor=dead_process())
    record = {"attempt": attempt.attempt_id, "code": None, "signal": 9, "limit": "lease"}
    attempt.paths.exit.write_text(json.dumps(record))
    site.context.hearing.heard(boot_seconds(), 120.0 if is_shared else None)
    settle_attempt(site.context, site.adopt(job))
    cause = Cause.WORKER_STOPPED if is_shared else Cause.CRASHED
    assert site.last_attempt(job).cause is cause
