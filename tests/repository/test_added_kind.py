"""A kind of job is added to a copy of the tree: its own files, its word, its row, its cases."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from repository.sources import ROOT

pytestmark = [
    pytest.mark.slow,  # it runs pytest on a copy of the tree
    pytest.mark.one_of("additions to a copy of the tree", "a kind"),
]

LAST_WORD = 'is merged into the project\'s branch; no agent has a part in it."""\n'
LAST_ROW = """            well_ended="merged",
            span="step",
        ),
"""
ROW = """        JobKind(
            verb=Verb.COUNT,
            package="count",
            did="began to count",
            session=None,
            span="step",
        ),
"""
OWN_FILES = {
    "sow/calls/kinds/count.py": """
from sow.calls.kinds.step import StepKind
from sow.errors import StateError


class CountKind(StepKind):
    def admit(self, _caller, _database, _config, request):
        if not request.task_id:
            raise StateError("nothing is counted but a task")


KIND = CountKind()
""",
    "worker/kinds/count/__init__.py": "",
    "worker/kinds/count/orders.py": """
import msgspec


class CountOrders(msgspec.Struct):
    folder: str
    counted: str
""",
    "worker/kinds/count/kind.py": """
from worker.kinds.count.orders import CountOrders
from worker.kinds.step import StepKind


class CountKind(StepKind):
    def orders(self, _context, _job, place, paths):
        return CountOrders(folder=str(paths.folder), counted=str(place.folder))


KIND = CountKind()
""",
    "worker/kinds/count/program.py": """
from pathlib import Path

import msgspec

from sow.schema.causes import Cause
from sow.schema.step_result import StepResult
from worker.kinds.count.orders import CountOrders


def run(data):
    orders = msgspec.json.decode(data, type=CountOrders)
    names = sorted(path.name for path in Path(orders.counted).iterdir())
    return orders.folder, StepResult(cause=Cause.PASSED, reason=f"counted {', '.join(names)}")
""",
}
CASES = {
    "tests/calls/test_count_call.py": """
import pytest

from sow.calls.kinds import place
from sow.calls.request import Request
from sow.errors import StateError
from sow.ids import TaskId
from sow.schema.job import JobState, Verb


def test_a_call_places_it_and_the_same_call_finds_it(desk):
    desk.task("010")
    asked = Request(verb=Verb.COUNT, task_id=TaskId("010"))
    placed = place(desk.caller, desk.database, desk.config, asked)
    assert (placed.job.verb, placed.job.state) == (Verb.COUNT, JobState.QUEUED)
    again = place(desk.caller, desk.database, desk.config, asked)
    assert (again.job.id, again.attached) == (placed.job.id, True)


def test_what_it_does_not_admit_is_not_placed(desk):
    asked = Request(verb=Verb.COUNT, task_id=TaskId(""))
    with pytest.raises(StateError, match="nothing is counted"):
        place(desk.caller, desk.database, desk.config, asked)
""",
    "tests/worker/test_count_job.py": """
from step_cases import CheckSite

from sow.jobs import jobs
from sow.schema.causes import Cause
from sow.schema.job import Verb
from worker.kinds.count.program import run
from worker.kinds import worker_kind
from worker.steps.server import programs


def test_the_fork_server_for_steps_imports_its_program():
    assert "worker.kinds.count.program" in programs()


def test_a_worker_prepares_its_program_which_does_what_its_orders_say(site):
    made = CheckSite(site)
    try:
        job = made.place()
        jobs.change_job(site.database, job.id, verb=Verb.COUNT, terms=None)
        job = site.get(job)
        paths = site.workspace.attempt(job.id, 1)
        prepared = worker_kind(job).prepare(site.context, job, None, (), paths)
        folder, result = run(prepared.stdin.encode())
    finally:
        made.close()
    assert (prepared.verb, prepared.argv[-2:]) == (Verb.COUNT, ["worker.steps", "count"])
    assert folder == str(paths.folder)
    assert (result.cause, result.reason) == (Cause.PASSED, "counted .sow")
""",
}


def test_a_kind_is_its_files_a_word_a_row_and_its_cases(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    leave_out = shutil.ignore_patterns("__pycache__", "journeys", "real")
    for folder in ("sow", "worker", "tests"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=leave_out)
    shutil.copy(ROOT / "pyproject.toml", copy)
    put_in(copy / "sow/schema/job.py", LAST_WORD, '    COUNT = "count"\n')
    put_in(copy / "sow/schema/kinds.py", LAST_ROW, ROW)
    for name, text in {**OWN_FILES, **CASES}.items():
        (copy / name).parent.mkdir(exist_ok=True)
        (copy / name).write_text(text)
    own = ["tests/schema/test_kinds.py"]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *CASES, *own],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-2000:]
    assert "failed" not in ended.stdout


def put_in(path: Path, after: str, added: str) -> None:
    """Put lines into a file, behind the only place where it says `after`."""
    text = path.read_text()
    assert text.count(after) == 1, path
    path.write_text(text.replace(after, after + added))
