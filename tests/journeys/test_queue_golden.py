"""Queue files as earlier versions left them: they open, and every job in them is finished.

The files are never changed, only added to; `tests/jobs/golden` has them, and
the programs that made them with the code of their time.
"""

import shutil
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import pytest
from journeys.callers import all_jobs, await_end, queue
from journeys.site import Site
from journeys.staff import QUICK, attempt_of, drain, nothing_is_taken
from own_queue import outdate
from standins import read_runs

from sow.jobs.database import FORMAT
from sow.jobs.unproven_queue import put_place
from sow.paths import Workspace
from sow.schema.job import Cause, JobState

GOLDEN = Path(__file__).parents[1] / "jobs/golden"


def unpack(site: Site, name: str) -> None:
    """Lay a golden file out as this machine's own: its folder, its PATH, its sessions."""
    with tarfile.open(GOLDEN / name) as archive:
        archive.extractall(site.base, filter="data")
    made_in = (site.base / "root.txt").read_text()
    projects = site.base / "home/.claude/projects"
    (projects / session_folder(made_in)).rename(projects / session_folder(str(site.root)))
    with closing(sqlite3.connect(site.root / ".sow/run/queue.db", isolation_level=None)) as file:
        file.execute("update job set path_variable = ?", (site.env["PATH"],))
        file.execute("update job set retry_at = 0 where state = 'parked'")  # its time has come
        put_place(file, Workspace(site.root))
    outdate(site.root / ".sow/run/queue.db", Path(site.env["HOME"]))
    for name in ("waiters", "workers"):
        (site.root / ".sow/run" / name).mkdir(exist_ok=True)


def session_folder(root: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in root)


def test_there_is_one_of_every_earlier_form() -> None:
    made = {path.name for path in GOLDEN.glob("format-*.tar.gz")}
    assert {f"format-{number}.tar.gz" for number in range(1, FORMAT)} <= made


@pytest.mark.few(2)
@pytest.mark.parametrize("number", range(1, FORMAT))
def test_all_jobs_of_an_earlier_form_are_finished(site: Site, number: int) -> None:
    site.configure({"worker": QUICK})
    unpack(site, f"format-{number}.tar.gz")
    before = len(read_runs(site.root))
    assert {job.task_id: job.state.value for job in all_jobs(site)} == {
        "010": "done",
        "020": "parked",
        "030": "backoff",
        "040": "running",
        "050": "queued",
    }
    shutil.rmtree(site.root / ".sow/run/waiters")  # a bell that nobody holds is as good as none
    owed = site.sow("agent", "spawn", "implementer", "010", "--json").json
    assert (owed["status"], owed["owed"], owed["job"]) == ("needs_review", True, 1)

    worker = drain(site)
    assert "is dead; took over 1 of its jobs" in worker.log_text
    attempts = {"010": 1, "020": 2, "030": 2, "040": 2, "050": 1}
    for task, count in attempts.items():
        job = await_end(site, task)
        assert (job.state, job.cause) == (JobState.DONE, Cause.REPORTED), (task, worker.log_text)
        assert attempt_of(site, job.id).number == count
        assert site.task(task)["status"] == "needs_review"
    runs = read_runs(site.root)[before:]
    assert sorted((run.task, run.verb) for run in runs) == [
        ("020", "resume"),
        ("030", "resume"),
        ("040", "resume"),
        ("050", "spawn"),
    ]
    nothing_is_taken(site)
    assert (site.root / f".sow/run/queue.db.format-{number}").exists()
    record = site.sow("stats", "--json").json["total"]
    assert (record["job_count"], record["well"], record["task_count"]) == (5, 5, 5)
    assert record["seconds_in"]["running"] > 0
    with closing(queue(site)) as database:
        assert database.rows("pragma user_version")[0][0] == FORMAT
