"""What an attempt starts stands in this user's file alone, whatever the job's record says."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from watch_cases import NOW, WatchSite

from sow.attempts.own_executor import with_own_executor
from sow.config.config_errors import InvalidConfiguration
from sow.ids import AttemptId
from sow.jobs import jobs
from sow.schema.amounts import Amounts
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType
from sow.schema.job import Attempt, Job, Verb
from worker import launch

FORGED = ExecutorConfig(
    name="claude-code",
    type=ExecutorType.CLAUDE,
    yolo_mode=True,
    custom_args=("--settings", "/repo/evil.json"),
    max_parallel=7,
)


def configure(path: Path, **sections: Any) -> None:
    path.write_text(json.dumps({"agents": {"executors": sections}}))


def own(site: WatchSite, job: Job) -> Job:
    return with_own_executor(job, site.context.configuration.path, site.workspace.root)


def test_a_record_decides_no_argument_and_no_permission(site: WatchSite) -> None:
    job = site.job(executor=FORGED)
    meant = own(site, job)
    assert meant.agents_executor == ExecutorConfig(name="claude-code", type=ExecutorType.CLAUDE)
    attempt = Attempt(
        job_id=job.id,
        number=1,
        id=AttemptId(f"{job.id}.1.abc"),
        verb=Verb.SPAWN,
        worker_id=site.context.worker_id,
        created_at=NOW,
    )
    launch._record_attempt(site.context, meant, site.lease(job), attempt, Amounts(), job)
    assert jobs.get_job(site.database, job.id).executor == meant.executor


@pytest.mark.parametrize(
    ("recorded", "words"),
    [
        (replace(FORGED, name="gone"), "executor 'gone' is no longer defined here"),
        (replace(FORGED, type=ExecutorType.COMMAND, command=("./evil",)), "it is claude now"),
        (replace(FORGED, env_names=("KEY",)), "KEY is not set here any more"),
    ],
)
def test_what_the_file_does_not_have_is_not_started(
    site: WatchSite, recorded: ExecutorConfig, words: str
) -> None:
    job = site.job(executor=recorded)
    with pytest.raises(InvalidConfiguration, match=words) as refusal:
        own(site, job)
    assert "`sow agent spawn 010 --fresh`" in str(refusal.value.hint)
    with pytest.raises(InvalidConfiguration) as refusal:
        own(site, replace(job, verb=Verb.REVIEW))
    assert "`sow agent review 010`" in str(refusal.value.hint)


def test_a_file_that_the_call_named_counts_unless_it_lies_in_the_repository(
    site: WatchSite, poisoned_home: Path
) -> None:
    named = poisoned_home / "named.yaml"
    configure(named, **{"claude-code": {"settings": {"model": "haiku"}}})
    job = replace(site.job(executor=FORGED), config_file=str(named))
    assert own(site, job).agents_executor.model == "haiku"
    inside = site.workspace.root / "evil.yaml"
    inside.write_bytes(named.read_bytes())
    for path in (inside, poisoned_home / "link.yaml"):
        if path != inside:
            path.symlink_to(inside)
        with pytest.raises(InvalidConfiguration, match="lies in the repository"):
            own(site, replace(job, config_file=str(path)))
