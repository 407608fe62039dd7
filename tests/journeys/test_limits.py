"""Agents that use more than they may, in a sandbox and outside: what ends, and what helps."""

import sys
from typing import Any

import pytest
import yaml
from capabilities import skip_or_fail
from journeys.gitsite import commit, make_repository
from journeys.site import Site, wait_until
from journeys.staff import await_supervisor

from sow.processes import procfs
from sow.sandbox.probe import SandboxUnavailable, usable

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")

HOLD = "python3 -c \"import time; x = b'x' * 150000000; time.sleep(600)\""
WORK = 'python3 -c "sum(range(3 * 10**7))"'
HOSTILE = {
    "memory": f"for i in 1 2; do setsid {HOLD} & done",
    "cpu": f"{WORK} & {WORK}; while [ -z $GO ]; do :; done",
    "processes": "for i in $(seq 40); do (setsid sleep 600 &); done",
    "disk": "dd if=/dev/zero of=big bs=1000000 count=60 2>/dev/null",
}
"""What the agent does before it waits, or reports: by the limit that it reaches."""
LOW: dict[str, Any] = {"memory": "200MB", "cpu": "500ms", "processes": 20, "disk": "30MB"}
HIGH: dict[str, Any] = {"memory": "2GiB", "cpu": "10m", "processes": 300, "disk": "300MB"}
CAUSES = {"processes": "process_limit"}
SCRIPT = """#!/bin/sh
cat >/dev/null
{work}
while [ -z "$GO" ]; do sleep 0.1; done
sow task set status needs_review
"""


def begin(site: Site, script: str, **executor: Any) -> None:
    """Make a repository with two tasks in clones, of which the implementer has this script."""
    make_repository(site)
    site.project("010", "020")
    (site.root / ".sow/config.yaml").write_text(yaml.safe_dump({"clones": {"use": "always"}}))
    write(site, "author.sh", script)
    write(site, "calm.sh", "#!/bin/sh\ncat >/dev/null\nuntil [ -e $B/go ]; do sleep 0.05; done\n")
    configure(site, **executor)
    commit(site, "a project")


def write(site: Site, name: str, script: str) -> None:
    (site.base / name).write_text(script)
    (site.base / name).chmod(0o755)


def configure(site: Site, **executor: Any) -> None:
    executors: dict[str, Any] = {
        name: {"type": "command", "settings": {"command": [str(site.base / f"{name}.sh")]}}
        for name in ("author", "calm")
    }
    executors["author"] |= {"retries": 2, **executor}
    executors["calm"] |= {"retries": 0, "env": {"B": str(site.base)}}
    bindings = {"implementer": "author", "tester": "calm"}
    site.configure({"agents": {"executors": executors, "bindings": bindings}})


def needs(sandbox: str) -> None:
    if sandbox == "bwrap":
        try:
            usable("this test")
        except SandboxUnavailable as error:
            skip_or_fail(error.message)


def carriers(site: Site, job: int) -> list[int]:
    attempt = site.job(job)["attempts"][0]
    return procfs.carriers("SOW_ATTEMPT_ID", attempt["id"])


@pytest.mark.one_of
@pytest.mark.parametrize("sandbox", ["none", "bwrap"])
@pytest.mark.parametrize("limit", list(HOSTILE))
def test_what_uses_too_much_is_ended_and_raising_the_limit_helps(
    site: Site, limit: str, sandbox: str
) -> None:
    needs(sandbox)
    begin(site, SCRIPT.format(work=HOSTILE[limit]), sandbox=sandbox, limits={limit: LOW[limit]})
    cause, key = CAUSES.get(limit, f"{limit}_limit"), f"agents.executors.author.limits.{limit}"
    printed = site.sow("agent", "spawn", "implementer", "010", expect=1)
    job = site.job(1)
    assert (job["state"], job["cause"]) == ("failed", cause), (job, site.worker_logs())
    assert [attempt["cause"] for attempt in job["attempts"]] == [cause], "it is not run again"
    assert job["reason"].endswith(f"({key})")
    assert f"Raise {key} (`sow config path` names the file)" in printed.out + printed.err
    log = (site.task_folder("010") / "log.md").read_text()
    assert log.count(f"({key})") == 1, log
    assert site.task("010")["status"] == "failed"
    wait_until(lambda: not carriers(site, 1), "nothing is left behind")

    configure(site, sandbox=sandbox, limits={limit: HIGH[limit]}, env={"GO": "1"})
    site.sow("agent", "spawn", "implementer", "010")
    assert site.job(2)["cause"] == "reported", (site.job(2), site.worker_logs())
    wait_until(lambda: not carriers(site, 2), "nothing is left behind")


def test_the_agents_of_others_go_on(site: Site) -> None:
    work = HOSTILE["memory"]
    begin(site, SCRIPT.format(work=work), limits={"memory": LOW["memory"], "processes": 100})
    site.sow("agent", "spawn", "tester", "020", "--reassign", "--detach")
    wait_until(lambda: site.job(1)["state"] == "running", "the other agent runs")
    site.sow("agent", "spawn", "implementer", "010", expect=1)
    assert site.job(2)["cause"] == "memory_limit"
    assert site.job(1)["state"] == "running"
    assert carriers(site, 1)
    (site.base / "go").touch()
    wait_until(lambda: site.job(1)["state"] == "failed", "it ends by itself")
    assert site.job(1)["cause"] == "no_status"


@pytest.mark.one_of("limits without a worker or a supervisor")
def test_a_limit_holds_while_no_worker_lives(site: Site) -> None:
    work = f"touch $B/up; until [ -e $B/go ]; do sleep 0.05; done; {HOSTILE['memory']}"
    limits = {"memory": LOW["memory"]}
    begin(site, SCRIPT.format(work=work), limits=limits, env={"B": str(site.base)})
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    wait_until((site.base / "up").exists, "the agent is up")
    (worker,) = site.workers()
    site.kill(worker["pid"])
    wait_until(lambda: not procfs.variables(worker["pid"]), "the worker is dead")
    (site.base / "go").touch()
    wait_until(lambda: not carriers(site, 1), "the agent is ended")
    site.sow("worker", "--drain")
    assert site.job(1)["cause"] == "memory_limit", (site.job(1), site.worker_logs())


@pytest.mark.one_of("limits without a worker or a supervisor")
def test_without_its_supervisor_an_agent_goes_on_and_no_limit_is_watched(site: Site) -> None:
    """Outside of a sandbox. Those that the kernel keeps stay: this is none of them."""
    fill = f"{HOSTILE['disk']}; touch $B/full; until [ -e $B/end ]; do sleep 0.05; done"
    wait = "touch $B/up; until [ -e $B/go ]; do sleep 0.05; done"
    limits, env = {"disk": LOW["disk"]}, {"B": str(site.base), "GO": "1"}
    begin(site, SCRIPT.format(work=f"{wait}; {fill}"), limits=limits, env=env)
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    wait_until((site.base / "up").exists, "the agent is up")
    supervisor = await_supervisor(site, 1)
    site.kill(supervisor)
    wait_until(lambda: not procfs.variables(supervisor), "the supervisor is dead")
    (site.base / "go").touch()
    wait_until((site.base / "full").exists, "the agent has used too much")
    (site.base / "end").touch()
    site.sow("agent", "wait", "010")
    job = site.job(1)
    assert [attempt["cause"] for attempt in job["attempts"]] == ["reported"], site.worker_logs()
    wait_until(lambda: not carriers(site, 1), "nothing is left behind")


def test_the_setup_of_its_clone_counts_as_well(site: Site) -> None:
    begin(site, "#!/bin/sh\ntouch $B/ran\n", limits={"processes": 20})
    setup = "for i in $(seq 40); do (sleep 600 &); done; while :; do sleep 0.1; done"
    clones = {"use": "always", "setup": setup}
    (site.root / ".sow/config.yaml").write_text(yaml.safe_dump({"clones": clones}))
    site.sow("trust", "--yes")
    site.sow("agent", "spawn", "implementer", "010", expect=1)
    assert site.job(1)["cause"] == "process_limit", (site.job(1), site.worker_logs())
    wait_until(lambda: not carriers(site, 1), "nothing is left behind")


def test_output_counts_for_the_disk(site: Site) -> None:
    script = "#!/bin/sh\nwhile :; do yes | head -c 1000000; sleep 0.02; done\n"
    begin(site, script, limits={"disk": "30MB"})
    site.sow("agent", "spawn", "implementer", "010", expect=1)
    assert site.job(1)["cause"] == "disk_limit", (site.job(1), site.worker_logs())
