"""Workers that an ordinary user starts as the pages say, under a systemd that has controllers.

`make test-groups` runs this in a machine that has such a systemd (tests/machine/in_session.sh), as
a user with a session. Without a figure in a job's reason it was the kernel that kept a limit:
nobody has seen more being used.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from capabilities import skip_or_fail
from journeys.gitsite import commit, make_repository
from journeys.site import SOW, Site, make_site, wait_until
from journeys.staff import shell_executor

pytestmark = [
    pytest.mark.groups,
    pytest.mark.skipif(sys.platform != "linux", reason="systemd is Linux's"),
]
RUNTIME = f"/run/user/{os.getuid()}"
IN_SCOPE = ("systemd-run", "--user", "--scope", "-p", "Delegate=yes")

HOLD = "head -c 150000000 /dev/zero | tail -n 1 | sleep 600"
"""Takes memory: `tail` looks for the beginning of the line."""
FORK = "for i in $(seq 40); do (sleep 600 &); done; while :; do sleep 0.1; done"
RAISE = """
unshare --user --map-root-user --mount --cgroup sh -c '
    mkdir /tmp/group; mount -t cgroup2 none /tmp/group && echo mounted
    echo +memory >/tmp/group/cgroup.subtree_control
    for file in $(find /tmp/group -name memory.max); do echo max >$file; done
'
"""
"""Mounts the group that it is in, and takes away what limits it there."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A site without forks: their server imports all of sow first, which takes minutes there."""
    made = make_site(tmp_path, forks=False)
    yield made
    made.close()


@pytest.fixture
def begun(site: Site) -> Site:
    """A project with an agent that takes memory, and one that starts processes."""
    if not Path(RUNTIME, "systemd").exists():
        skip_or_fail("no systemd runs here for this user: `make test-groups`")
    site.project("010")
    site.add_tasks("020", agent="tester")
    executors: dict[str, Any] = {
        "memory": shell_executor(site, "memory", HOLD, limits={"memory": "100MB"}),
        "processes": shell_executor(site, "processes", FORK, limits={"processes": 20}),
    }
    bindings = {"implementer": "memory", "tester": "processes"}
    site.configure({"agents": {"executors": executors, "bindings": bindings}})
    return site


def reasons(site: Site) -> list[str]:
    """Return why the agents that use too much have ended."""
    for task in ("010", "020"):
        site.sow("agent", "spawn", task, expect=1)
    jobs = [site.job(1), site.job(2)]
    causes = [job["cause"] for job in jobs]
    assert causes == ["memory_limit", "process_limit"], (jobs, site.worker_logs())
    return [job["reason"].partition(" (agents.")[0] for job in jobs]


KEPT = [
    "used more than 100MB of memory",
    "started more than 20 processes and threads",
]


def kept_by_doctor(site: Site) -> list[str]:
    """Return which limits the kernel keeps, as the doctor says."""
    out = site.sow("doctor", "memory", "processes", "--json", expect=None).json_lines[0]
    found = [each["facts"] for each in out["findings"] if each["check_name"] == "limits"]
    return [name for facts in found for name in facts["kernel"]]


def start_in_scope(site: Site) -> None:
    """docs/configuration.md: `systemd-run --user --scope -p Delegate=yes sow worker`."""
    log = site.base / "worker.log"
    with log.open("w") as file:
        process = subprocess.Popen(
            [*IN_SCOPE, str(SOW), "worker"],
            cwd=site.root,
            env=site.environment({"XDG_RUNTIME_DIR": RUNTIME}),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            text=True,
        )
    site.started.append(process)
    wait_until(lambda: site.workers() or process.poll() is not None, "a worker is there")
    assert process.poll() is None, log.read_text()


def test_the_kernel_keeps_the_limits_of_a_worker_in_a_scope(begun: Site) -> None:
    start_in_scope(begun)
    assert kept_by_doctor(begun) == ["memory", "processes"]
    assert reasons(begun) == KEPT


def test_an_agent_in_a_sandbox_cannot_raise_its_limits(begun: Site) -> None:
    """In namespaces of its own it may write in the group that it sees. The limits lie above."""
    make_repository(begun)
    (begun.root / ".sow/config.yaml").write_text("clones: {use: always}\n")
    raising = shell_executor(
        *(begun, "raising", RAISE + HOLD), sandbox="bwrap", limits={"memory": "100MB"}
    )
    bindings = {"implementer": "raising"}
    begun.configure({"agents": {"executors": {"raising": raising}, "bindings": bindings}})
    commit(begun, "a project")
    start_in_scope(begun)
    begun.sow("agent", "spawn", "010", expect=1)
    job = begun.job(1)
    assert job["cause"] == "memory_limit", (job, begun.worker_logs())
    assert job["reason"].partition(" (agents.")[0] == KEPT[0]
    assert "mounted" in begun.sow("job", "logs", "1").out
