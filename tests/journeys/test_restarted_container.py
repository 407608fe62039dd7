"""A worker, its supervisors and its agents in a pid namespace of their own: what a container is.

The checkout is the same for all of them, and so is the kernel. Whoever comes after a container that
has ended sees none of its processes: the locks tell that they are gone, or that they are not.
"""

import signal
import subprocess
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import postgres
import psutil
import pytest
from capabilities import skip_or_fail
from journeys.callers import await_end, ledger, queue
from journeys.site import SOW, Site, wait_until
from journeys.staff import QUICK, WorkerRun, attempt_of, await_supervisor, kill, shell_executor

from sow.ids import JobId
from sow.jobs import attempt_evidence, leases, workers
from sow.paths import Workspace
from sow.schema.job import Cause, JobState, ProcessIdentity

pytestmark = pytest.mark.one_of("a container's end")

AGENT = """
echo "$1" >>{root}/begun
{closing}
until test -e {root}/go; do sleep 0.05; done
sed -i 's/status: in_progress/status: needs_review/' "$1/state.yaml"
"""
CLOSING = "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-"
"""Lets go of the lock that an agent inherits, as some programs do with all that they inherit."""
IN_A_CONTAINER = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
UNDER_INIT = ("sh", "-c", '"$@" & sleep 600 & wait', "init")
"""A first process that is not the worker, so that the rest lives without that."""


@pytest.fixture
def contained(site: Site) -> Site:
    if subprocess.run([*IN_A_CONTAINER, "true"], check=False).returncode != 0:
        skip_or_fail("only root can make a pid namespace")
    configure(site)
    return site


def configure(site: Site, closing: str = "", **more: Any) -> None:
    script = AGENT.format(root=site.root, closing=closing)
    site.configure(
        {
            "worker": QUICK,
            "agents": {
                "executors": {"waiting": shell_executor(site, "waiting", script)},
                "bindings": {"implementer": "waiting"},
            },
            **more,
        }
    )


def start_container(site: Site) -> WorkerRun:
    """Start a worker in a new pid namespace, and return it when it works; to kill it is to kill
    whatever runs there."""
    log = site.base / f"container-{len(site.started)}.log"
    with log.open("w") as file:
        process = subprocess.Popen(
            [*IN_A_CONTAINER, *UNDER_INIT, str(SOW), "worker"],
            cwd=site.root,
            env=site.environment(),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            text=True,
        )
    site.started.append(process)
    run = WorkerRun(process, log)
    run.wait_for(" started; runs up to")
    return run


def kill_container(container: WorkerRun) -> None:
    """Kill the first process of a container, and with it all others; see them gone."""
    below = psutil.Process(container.pid).children(recursive=True)
    container.kill()
    psutil.wait_procs(below, timeout=60)


def begun(site: Site) -> list[str]:
    """Return the tasks whose agents have begun, in that order."""
    with suppress(FileNotFoundError):
        return [Path(line).name for line in (site.root / "begun").read_text().splitlines()]
    return []


def await_begun(site: Site, *tasks: str) -> None:
    wait_until(lambda: sorted(begun(site)) == sorted(tasks), f"the agents of {tasks} have begun")


def kill_inside(container: WorkerRun, identity: ProcessIdentity) -> None:
    """Kill a process that knows itself by another pid than we know it by."""
    for process in psutil.Process(container.pid).children(recursive=True):
        status = Path(f"/proc/{process.pid}/status").read_text()
        pids = next(line for line in status.splitlines() if line.startswith("NSpid:")).split()
        if int(pids[-1]) == identity.pid:
            namespace = Path(f"/proc/{process.pid}/ns/pid").readlink()
            assert str(namespace) == f"pid:[{identity.pid_namespace}]"
            kill(process.pid)
            psutil.wait_procs([process], timeout=60)
            return
    raise AssertionError(f"no process {identity} in the container")


def kill_worker(site: Site, container: WorkerRun) -> None:
    with closing(queue(site)) as database:
        (record,) = [each for each in workers.registered(database) if each.id == container.name]
    kill_inside(container, record.process)


def kill_supervisor(site: Site, container: WorkerRun) -> None:
    supervisor = attempt_of(site, 1).supervisor
    assert supervisor is not None
    kill_inside(container, supervisor)


def go(site: Site) -> None:
    (site.root / "go").touch()


def owner(site: Site) -> str:
    with closing(queue(site)) as database:
        lease = leases.lease_of(database, JobId(1))
    assert lease is not None
    return lease.worker_id


def spawn(site: Site, *tasks: str) -> None:
    site.sow("agent", "spawn", "implementer", *tasks, "--detach")


@pytest.mark.parametrize("store", ["file", "server"])
def test_a_batch_goes_on_by_itself_once(
    contained: Site, store: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = contained
    if store == "server":
        server: postgres.Server = request.getfixturevalue("postgres_server")
        configure(site, queue={"url": server.url})
        monkeypatch.setenv("SOW_CONFIG", str(site.config_file))
    site.project("010", "020")
    site.sow("batch", "run", "--detach")
    first = start_container(site)
    await_begun(site, "010", "020")
    for job in (1, 2):
        await_supervisor(site, job)
    kill_container(first)
    assert not any(site.job(job)["unverifiable"] for job in (1, 2))
    second = start_container(site)
    await_begun(site, "010", "020", "010", "020")
    go(site)
    site.sow("batch", "wait", expect=1)  # a person is to review them
    for job in (1, 2):
        assert [cause for _, cause in ledger(site, job)] == ["worker_died", "reported"]
    assert len(begun(site)) == 4
    assert "cannot be told from here" not in second.log_text


def test_nothing_is_taken_of_a_container_that_lives(contained: Site) -> None:
    site = contained
    site.project("010", "020")
    spawn(site, "010")
    first = start_container(site)
    await_begun(site, "010")
    second = start_container(site)
    stop_worker_of(site, first)
    spawn(site, "020")
    await_begun(site, "010", "020")  # the second has taken it, and looked round before
    assert owner(site) == first.name
    continue_worker_of(site, first)
    go(site)
    assert await_end(site, "010").cause is Cause.REPORTED
    assert await_end(site, "020").cause is Cause.REPORTED
    assert begun(site) == ["010", "020"]
    assert "adopted" not in second.log_text


def signal_worker(site: Site, container: WorkerRun, signum: signal.Signals) -> None:
    for process in psutil.Process(container.pid).children(recursive=True):
        if process.cmdline()[-1:] == ["worker"]:
            process.send_signal(signum)


def stop_worker_of(site: Site, container: WorkerRun) -> None:
    """Stop a worker, which holds its lock all the same."""
    signal_worker(site, container, signal.SIGSTOP)


def continue_worker_of(site: Site, container: WorkerRun) -> None:
    signal_worker(site, container, signal.SIGCONT)


@pytest.mark.parametrize("closes", [False, True])
def test_an_agent_that_lives_without_its_supervisor_is_left_to_end(
    contained: Site, closes: bool
) -> None:
    """One that has closed the lock still has its output open."""
    site = contained
    configure(site, CLOSING if closes else "")
    site.project("010", "020")
    spawn(site, "010")
    first = start_container(site)
    await_begun(site, "010")
    kill_worker(site, first)
    await_supervisor(site, 1)
    kill_supervisor(site, first)
    paths = Workspace(site.root).attempt(JobId(1), 1)
    wait_until(lambda: attempt_evidence.is_locked(paths) is not closes, "the lock is as it stays")
    second = start_container(site)
    second.wait_for("adopted: attempt 1")
    spawn(site, "020")
    await_begun(site, "010", "020")  # meanwhile it has looked several times
    assert not paths.void.exists()
    assert site.job(1)["state"] == JobState.RUNNING
    go(site)
    assert await_end(site, "010").state is JobState.DONE
    assert site.task("010")["status"] == "needs_review"
    assert await_end(site, "020").state is JobState.DONE
    assert begun(site) == ["010", "020"]


def test_a_supervisor_that_lives_without_its_worker_says_how_its_agent_has_ended(
    contained: Site,
) -> None:
    site = contained
    site.project("010")
    spawn(site, "010")
    first = start_container(site)
    await_begun(site, "010")
    await_supervisor(site, 1)
    kill_worker(site, first)
    second = start_container(site)
    second.wait_for("adopted: attempt 1")
    assert owner(site) == second.name
    go(site)
    assert await_end(site, "010").state is JobState.DONE
    assert ledger(site) == [("spawn", "reported")]
    assert Workspace(site.root).attempt(JobId(1), 1).exit.exists()
    assert begun(site) == ["010"]
