"""What an attempt starts stands in this user's file alone, whatever the job's record says."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from watch_cases import WatchSite

from sow.config.config_errors import InvalidConfiguration
from sow.jobs import jobs
from sow.schema.config import ExecutorType
from sow.schema.executor import ExecutorConfig
from worker.own_executor import note_executor, with_own_executor

FORGED = ExecutorConfig(
    name="claude-code",
    type=ExecutorType.CLAUDE,
    yolo_mode=True,
    custom_args=("--settings", "/repo/evil.json"),
    max_parallel=7,
)


def configure(path: Path, **sections: Any) -> None:
    path.write_text(json.dumps({"agents": {"executors": sections}}))


def test_a_record_decides_no_argument_and_no_permission(site: WatchSite) -> None:
    job = site.job(executor=FORGED)
    meant = with_own_executor(site.context, job)
    assert meant.agents_executor == ExecutorConfig(name="claude-code", type=ExecutorType.CLAUDE)
    with site.database.transaction():
        note_executor(site.context, job, meant)
    assert jobs.get_job(site.database, job.id).executor == meant.executor


@pytest.mark.parametrize(
    ("recorded", "words"),
    [
        (replace(FORGED, name="gone"), "executor 'gone' is not defined here any more"),
        (replace(FORGED, type=ExecutorType.COMMAND, command=("./evil",)), "it is claude now"),
        (replace(FORGED, env_names=("KEY",)), "KEY is not set here any more"),
    ],
)
def test_what_the_file_does_not_have_is_not_started(
    site: WatchSite, recorded: ExecutorConfig, words: str
) -> None:
    with pytest.raises(InvalidConfiguration, match=words):
        with_own_executor(site.context, site.job(executor=recorded))


def test_a_file_that_the_call_named_counts_unless_it_lies_in_the_repository(
    site: WatchSite, poisoned_home: Path
) -> None:
    named = poisoned_home / "named.yaml"
    configure(named, **{"claude-code": {"settings": {"model": "haiku"}}})
    job = replace(site.job(executor=FORGED), config_file=str(named))
    assert with_own_executor(site.context, job).agents_executor.model == "haiku"
    inside = site.workspace.root / "evil.yaml"
    inside.write_bytes(named.read_bytes())
    for path in (inside, poisoned_home / "link.yaml"):
        if path != inside:
            path.symlink_to(inside)
        with pytest.raises(InvalidConfiguration, match="lies in the repository"):
            with_own_executor(site.context, replace(job, config_file=str(path)))
