"""Records and output of old jobs go by age and by size, never those of live tasks."""

import os
import uuid
from contextlib import closing
from pathlib import Path

import pytest
from journeys.callers import all_jobs, await_end, await_runs, gate, good, open_gate, queue
from journeys.site import Site, wait_until
from journeys.staff import start_worker

from sow.paths import Workspace

DAY = 86400.0
SPAWN = ("agent", "spawn", "implementer")


@pytest.fixture
def three(site: Site) -> Site:
    """Three tasks with a job each: completed, needing review, abandoned."""
    site.project("010", "020", "030")
    site.script([good({"say": "done"})])
    site.sow(*SPAWN, "010", "020", "030")
    site.sow("task", "set", "010", "status", "completed")
    site.sow("task", "set", "030", "status", "abandoned")
    return site


def tasks_on_record(site: Site) -> list[str]:
    return sorted(job.task_id for job in all_jobs(site))


def folders(site: Site) -> set[str]:
    return {path.name for path in (site.root / ".sow/run/jobs").iterdir()}


def age(site: Site, days: float) -> None:
    """Have every job have ended so many days ago."""
    with closing(queue(site)) as database:
        for column in ("created_at", "started_at", "ended_at"):
            database.run(f"update job set {column} = {column} - ?", (days * DAY,))


def test_by_age(three: Site) -> None:
    assert three.sow("job", "prune").out == "Nothing to prune.\n"
    age(three, 31)
    state = (three.task_folder("010") / "state.yaml").read_bytes()
    foreseen = three.sow("job", "prune", "--dry-run", "--json").json
    assert len(tasks_on_record(three)) == 3
    pruned = three.sow("job", "prune", "--json").json
    assert pruned == {**foreseen, "dry_run": False}
    assert len(pruned["jobs"]) == 2
    assert pruned["bytes"] > 1000
    assert tasks_on_record(three) == ["020"]
    assert folders(three) == {str(job.id) for job in all_jobs(three)}
    assert (three.task_folder("010") / "state.yaml").read_bytes() == state
    assert three.sow("job", "prune").out == "Nothing to prune.\n"


def test_a_number_is_never_given_twice(three: Site) -> None:
    three.sow("job", "prune", "--keep-for", "0s")
    three.sow("agent", "resume", "020", "Once more.")
    assert all_jobs(three)[-1].id == 4


def test_by_size_the_oldest_first(three: Site) -> None:
    three.sow("task", "set", "020", "status", "completed")
    oldest, *_ = (job.id for job in all_jobs(three))
    with closing(queue(three)) as database:
        database.run("update job set ended_at = ended_at - 60 where id = ?", (oldest,))
    for job in all_jobs(three):
        paths = Workspace(three.root).attempt(job.id, 1)
        paths.output.write_bytes(b"x" * 1_000_000)
    printed = three.sow("job", "prune", "--keep-size", "2.5MB").out
    assert printed.startswith(f"job {oldest} pruned, 1.0 MB")
    assert oldest not in [job.id for job in all_jobs(three)]
    assert len(all_jobs(three)) == 2
    three.sow("job", "prune", "--keep-size", "0B")
    assert all_jobs(three) == []


def test_jobs_that_have_not_ended_stay(site: Site) -> None:
    site.project("010")
    site.script([good(gate("go"))])
    site.sow(*SPAWN, "010", "--detach")
    await_runs(site)
    site.sow("job", "prune", "--keep-for", "0s", "--keep-size", "0B")
    open_gate(site, "go")
    assert await_end(site, "010").outcome_status == "needs_review"
    assert folders(site) == {"1"}


def test_an_outcome_that_is_owed_stays(three: Site) -> None:
    with closing(queue(three)) as database:
        job = next(job for job in all_jobs(three) if job.task_id == "010")
        database.run("insert into waiter values ('c1', ?, null, 0)", (job.id,))
    three.sow("job", "prune", "--keep-for", "0s")
    assert tasks_on_record(three) == ["010", "020"]


def test_a_project_that_is_elsewhere_is_judged_by_its_last_use(three: Site) -> None:
    with closing(queue(three)) as database:
        database.run("update job set project_id = ?", (str(uuid.uuid4()),))
        database.run("update job set ended_at = 0 where task_id <> '020'")
    assert three.sow("job", "prune").out == "Nothing to prune.\n"
    age(three, 31)
    three.sow("job", "prune")
    assert all_jobs(three) == []


def test_a_task_that_cannot_be_read_is_a_live_one(three: Site) -> None:
    (three.task_folder("010") / "state.yaml").write_text("task: [")
    three.sow("job", "prune", "--keep-for", "0s")
    assert tasks_on_record(three) == ["010", "020"]


def test_what_belongs_to_nobody_goes_with_age(three: Site) -> None:
    stray = three.root / ".sow/run/jobs/77"
    stray.mkdir()
    (stray / "output.jsonl").write_text("of a queue file that was removed\n")
    (log,) = (three.root / ".sow/run/workers").glob("*.log")
    three.sow("worker", "stop")
    wait_until(lambda: three.workers() == [], "the worker has left")
    assert three.sow("job", "prune").out == "Nothing to prune.\n"
    make_old(stray, log)
    pruned = three.sow("job", "prune", "--json").json
    assert sorted(pruned["files"]) == sorted([str(stray), str(log)])
    assert not stray.exists()
    assert not log.exists()


def make_old(*paths: Path) -> None:
    for path in paths:
        os.utime(path, (0, 0))


def test_the_log_of_a_worker_that_lives_stays(site: Site) -> None:
    site.project("010")
    site.script([good()])
    site.sow(*SPAWN, "010")
    (log,) = (site.root / ".sow/run/workers").glob("*.log")
    make_old(log)
    assert site.sow("job", "prune").out == "Nothing to prune.\n"
    assert log.exists()


def test_a_worker_prunes_when_it_has_nothing_to_do(three: Site) -> None:
    three.configure({"worker": {"autostart": False, "keep_for": "1d"}})
    three.sow("worker", "stop")
    wait_until(lambda: three.workers() == [], "the worker has left")
    age(three, 2)
    program = three.base / "pruning.py"
    program.write_text(
        "import sys\n"
        "from worker import housekeeping\n"
        "housekeeping.FIRST_PRUNE_SECONDS = 0.0\n"
        "from sow.cli.root import run\n"
        "run(['worker', *sys.argv[1:]])\n"
    )
    worker = start_worker(three, program=program)
    worker.wait_for("pruned 2 old jobs")
    assert tasks_on_record(three) == ["020"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--keep-for", "soon"), "not a duration: 'soon'"),
        (("--keep-size", "2Gib"), "not a size: '2Gib'"),
    ],
)
def test_bad_limits(site: Site, words: tuple[str, ...], message: str) -> None:
    site.project()
    assert message in site.sow("job", "prune", *words, expect=2).err


def test_where_nothing_was_ever_queued(site: Site) -> None:
    site.project()
    assert site.sow("job", "prune").out == "Nothing to prune.\n"
