"""A start that comes to nothing: who ends the job, and who leaves it alone."""

import json
import subprocess

from watch_cases import WatchSite

from sow.errors import SowError
from sow.ids import WorkerId
from sow.jobs import leases
from sow.schema.config import ExecutorType
from sow.schema.executor import ExecutorConfig
from sow.schema.job import Job, JobState, ProcessIdentity
from sow.schema.task import TaskStatus
from worker import launch
from worker.launch import Standby

OTHER = WorkerId("w2-bbbbbb")


def scripted(site: WatchSite) -> ExecutorConfig:
    """Have the user's file define an executor; return it."""
    settings = {"type": "command", "settings": {"command": ["/bin/true"]}}
    content = {"agents": {"executors": {"script": settings}}}
    site.context.configuration.path.write_text(json.dumps(content))
    return ExecutorConfig(name="script", type=ExecutorType.COMMAND, command=("/bin/true",))


class TakenOver(Standby):
    """Another worker takes the job over in this moment, and no supervisor can be started."""

    def __init__(self, site: WatchSite) -> None:
        super().__init__({})
        self.site = site

    def prepare(self) -> ProcessIdentity:
        context = self.site.context
        leases.take_over(context.database, context.worker_id, OTHER, now=context.now())
        raise SowError("cannot start a supervisor")


def test_a_job_that_cannot_be_started_and_is_anothers_by_now_is_left_to_that_one(
    site: WatchSite,
) -> None:
    job = site.job(executor=scripted(site))
    site.lease(job)
    assert launch.start(site.context, TakenOver(site), job.id) is None
    lease = leases.lease_of(site.database, job.id)
    assert lease is not None
    assert lease.worker_id == OTHER
    assert site.get(job).state is JobState.RUNNING


class Refused(Standby):
    """No supervisor can be started, for a reason that quotes a file's name, which is no text."""

    def __init__(self, error: Exception) -> None:
        super().__init__({})
        self.error = error

    def prepare(self) -> ProcessIdentity:
        raise self.error


def begun(site: WatchSite, error: SowError) -> Job:
    """Have a job's start fail by an error."""
    job = site.job(executor=scripted(site))
    site.lease(job)
    assert launch.start(site.context, Refused(error), job.id) is None
    return site.get(job)


def test_a_job_fails_with_its_reason_also_where_that_quotes_a_name_that_is_no_text(
    site: WatchSite,
) -> None:
    job = begun(site, SowError("git refused caf\udce9"))
    assert (job.state, job.reason) == (JobState.FAILED, "git refused caf\ufffd")
    assert site.task().status is TaskStatus.FAILED


def test_a_job_waits_with_its_reason_also_where_that_quotes_a_name_that_is_no_text(
    site: WatchSite,
) -> None:
    job = site.job(executor=scripted(site))
    site.lease(job)
    launch.try_later(site.context, job.id, SowError("no room for caf\udce9"))
    assert site.get(job).reason == "cannot be started now: no room for caf\ufffd"


def test_a_job_waits_while_an_agent_that_nobody_has_recorded_works_on_its_task(
    site: WatchSite,
) -> None:
    job = site.job(executor=scripted(site))
    site.lease(job)
    variables = {
        "SOW_TASK_ID": "010",
        "SOW_ROOT": str(site.workspace.root),
        "SOW_ATTEMPT_ID": "7.1.abc",
    }
    command = ["/bin/sh", "-c", "echo up; read end"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=variables, stdin=pipe, stdout=pipe) as stray:
        assert stray.stdout is not None
        assert stray.stdout.readline() == b"up\n"
        nothing = Refused(AssertionError("a supervisor is started"))
        assert launch.start(site.context, nothing, job.id) is None
    waiting = site.get(job)
    assert waiting.state is JobState.BACKOFF
    assert "the job waits for its end" in waiting.reason
