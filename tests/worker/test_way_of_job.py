"""How a reader follows a job through the code, from `sow agent spawn` to its end."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from review_cases import YOLO, ReviewSite, define
from ways import followed

from sow.cli.root import run
from sow.ids import JobId
from sow.jobs import jobs
from sow.schema.job import JobState
from sow.schema.task import TaskStatus
from sow.yamlfile import REMOVE
from worker import monitor
from worker.kinds import worker_kinds
from worker.watchdog import look_at_running

LAYERS = ("sow.calls.", "worker.")
"""Where it is decided what happens to a job; what lies below is read, not followed."""
MOST_MODULES = 25
MOST_TURNS = 0
REPORT = {"sow": ["task", "set", "{task}", "status", "needs_review"]}


@pytest.fixture
def rooted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ReviewSite]:
    """A repository with a task that nobody has begun, seen from a shell in it."""
    site = ReviewSite(tmp_path, has_clone=False)
    site.change(status=TaskStatus.PENDING, session_id=REMOVE, session=REMOVE)
    path = site.context.configuration.path
    define(path, YOLO)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"worker": {"autostart": False}}))
    for name, value in {**site.environ, "SOW_CONFIG": str(path)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(site.workspace.root)
    worker_kinds()  # as a worker does when it starts
    yield site
    site.close()


def test_a_job_is_followed_in_order_from_its_call_to_its_end(
    rooted: ReviewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn back is a call of a module above, for something that was not read when it was open.

    The agent ends only when it was looked at, so that the look is part of the way.
    """
    seen = rooted.folder / "seen"
    rooted.script([{"shell": f"until [ -e {seen} ]; do sleep 0.05; done"}, REPORT])

    def look(*arguments: Any, **more: Any) -> None:
        look_at_running(*arguments, **more)
        seen.touch()

    monkeypatch.setattr(monitor, "look_at_running", look)
    with followed(*LAYERS) as way:
        assert run(["agent", "spawn", "implementer", "010", "--detach"]) == os.EX_OK
        job = rooted.run(jobs.get_job(rooted.database, JobId(1)))
    assert (job.state, job.outcome_status) == (JobState.DONE, TaskStatus.NEEDS_REVIEW)
    assert len(way.modules) <= MOST_MODULES, "\n".join(way.modules)
    assert len(way.turns) <= MOST_TURNS, way.turns
