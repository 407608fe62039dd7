"""`sow watch --plain` in a process: what it tells of a queue that is made while it waits."""

from contextlib import closing
from pathlib import Path

import pytest
from reports.job_cases import make_job

from sow.cli import plain_watch
from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.paths import Workspace


def test_all_of_a_queue_that_is_made_later_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = Workspace(tmp_path)
    waited: list[float] = []

    def wait(seconds: float) -> None:
        if waited:
            raise KeyboardInterrupt
        waited.append(seconds)
        workspace.run.mkdir(parents=True)
        with closing(open_queue(workspace)) as database:
            jobs.insert_job(database, make_job())

    monkeypatch.setattr(plain_watch, "wait_for_more", wait)
    with pytest.raises(KeyboardInterrupt):
        plain_watch.watch_in_lines(workspace)
    out, err = capsys.readouterr()
    assert out.endswith("  010   implementer is queued for claude-code (job 1)\n")
    assert err.startswith("Nothing was ever queued here")
