"""`sow task import`, `export`, `remove`, and what `sow task list` says of waiting."""

import io
import json
import shutil
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from reports.job_cases import make_attempt, make_job

from sow.ids import ProjectId, TaskId
from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.paths import Workspace
from sow.schema.job import JobState
from sow.state.projects import read_project

FILE = """
- {key: login, name: Sign in, agent: implementer}
- {key: search, name: Search, agent: tester, depends_on: [login], priority: 3}
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "tasks.yaml").write_text(FILE)
    return "tasks.yaml"


def test_an_import_says_what_it_made(begun: Callable[..., Any], file: str, state: Any) -> None:
    done = begun("task", "import", file)
    assert done == (0, "Task 030 (login): added\nTask 040 (search): added\n2 added\n", "")
    assert begun("task", "import", file).out == "2 unchanged\n"
    begun("task", "abandon", "030")
    Path(file).write_text(FILE.replace("Sign in", "Log in").replace("priority: 3", "priority: 4"))
    done = begun("task", "import", file)
    assert done.out == (
        "Task 030 (login): not changed, because it was started; the file differs: name\nTask 040"
        " (search): changed: priority\n1 changed, 1 left\n"
    )
    shown = begun("task", "import", file, "--json").lines
    assert [(each["result"], each["fields"]) for each in shown] == [
        ("kept", ["name"]),
        ("unchanged", []),
    ]
    assert "key          search" in begun("task", "show", "040").out


def test_a_priority_is_that_of_the_tasks_that_name_none(
    begun: Callable[..., Any], file: str
) -> None:
    begun("task", "import", file, "--priority", "9")
    listed = begun("task", "list", "--json").lines
    assert [each["priority"] for each in listed] == [None, None, 9, 3]


def test_an_import_reads_standard_input(
    begun: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = io.TextIOWrapper(io.BytesIO(b"- {key: a, nam: b}"))
    monkeypatch.setattr(sys, "stdin", bad)
    done = begun("task", "import", "-")
    assert done.code == 2
    assert done.err.startswith("Error: standard input, line 1, [0].nam: unknown key 'nam'")
    assert "Nothing was changed." in done.err
    good = io.TextIOWrapper(io.BytesIO(FILE.encode()))
    monkeypatch.setattr(sys, "stdin", good)
    assert begun("task", "import", "-").code == 0


def test_an_export_is_taken_again_in_both_forms(begun: Callable[..., Any], file: str) -> None:
    begun("task", "import", file)
    for option in ((), ("--json",)):
        printed = begun("task", "export", *option)
        assert "login" in printed.out
        Path("again").write_text(printed.out)
        assert begun("task", "import", "again").out == "4 unchanged\n"


def test_an_export_of_nothing_says_so(sow: Callable[..., Any]) -> None:
    sow("init")
    sow("project", "new", "X")
    done = sow("task", "export")
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("No tasks.")


def test_a_check_is_looked_up_in_the_settings(begun: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / ".sow/config.yaml").write_text("checks: {unit: make test}\n")
    (tmp_path / "x").write_text("- {key: a, name: A, agent: tester, checks: [lint]}")
    done = begun("task", "import", "x")
    assert done.code == 2
    assert "no such check: lint" in done.err
    assert "are: unit." in done.err
    (tmp_path / "x").write_text("- {key: a, name: A, agent: tester, checks: [unit]}")
    assert begun("task", "import", "x").code == 0


def test_the_list_says_what_waits_for_what(begun: Callable[..., Any]) -> None:
    assert begun("task", "list", "--waiting").out.splitlines()[1].split()[-3:] == [
        "(pending)", "Review", "it",
    ]  # fmt: skip
    assert [each["task"] for each in begun("task", "list", "--ready", "--json").lines] == ["010"]
    assert begun("task", "list", "--blocked").err.startswith("No task is blocked.")
    begun("task", "abandon", "010")
    (blocked,) = begun("task", "list", "--blocked", "--json").lines
    assert (blocked["task"], blocked["standing"]) == ("020", "blocked")
    assert blocked["waits_for"] == {"010": "abandoned"}
    assert begun("task", "list", "--ready", "--blocked").code == 2


def test_a_task_is_removed_unless_others_wait_for_it(begun: Callable[..., Any]) -> None:
    done = begun("task", "remove", "010")
    assert done.code == 4
    assert 'sow task set 020 depends_on ""' in done.err
    assert begun("task", "remove", "020", "010").out == (
        "Task 020 removed: Review it\nTask 010 removed: Add JWT auth\n"
    )
    assert begun("task", "show", "010").code == 4


@pytest.mark.parametrize(
    ("fields", "has_run"),
    [
        ({"state": JobState.CANCELLED}, True),
        ({"state": JobState.CANCELLED, "owes_task": True}, False),
        ({"state": JobState.FAILED}, False),
        ({"state": JobState.QUEUED}, False),
    ],
    ids=["ran", "owes its task", "failed", "waits"],
)
def test_a_task_that_had_a_job_stays(
    begun: Callable[..., Any], tmp_path: Path, fields: dict[str, Any], *, has_run: bool
) -> None:
    workspace = Workspace(tmp_path)
    project = ProjectId(read_project(workspace).id)
    with closing(open_queue(workspace)) as database:
        job = make_job(project_id=project, task_id=TaskId("020"), **fields)
        job = jobs.insert_job(database, job)
        if has_run:
            jobs.insert_attempt(database, make_attempt(job_id=job.id))
    done = begun("task", "remove", "020")
    assert done.code == 4
    assert f"it has had a job (1, {fields['state']})" in done.err
    assert begun("task", "show", "020").code == 0


def test_a_task_whose_job_was_cancelled_before_it_ran_is_removed(
    begun: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "user.yaml").write_text("worker: {autostart: false}\n")
    monkeypatch.setenv("SOW_CONFIG", str(tmp_path / "user.yaml"))
    where = ("--phase", "discovery", "--new-phase")
    add = ("task", "add", "More", "--agent", "implementer", *where)
    assert begun(*add).code == 0
    for _ in range(2):
        assert begun("agent", "spawn", "030", "--detach").code == 0
        assert begun("agent", "cancel", "030").code == 0
    assert begun("task", "remove", "030").code == 0
    assert begun(*add).code == 0
    done = begun("agent", "wait", "030")
    assert "task 030 has no job yet" in done.err, "the jobs of the task of before are not its own"


@pytest.fixture
def in_batch(
    begun: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """The commands, with a batch that goes on, of task 030 alone; no worker drives it."""
    (tmp_path / "user.yaml").write_text("worker: {autostart: false}\n")
    monkeypatch.setenv("SOW_CONFIG", str(tmp_path / "user.yaml"))
    where = ("--phase", "discovery", "--new-phase")
    assert begun("task", "add", "More", "--agent", "implementer", *where).code == 0
    assert begun("batch", "run", "030", "--detach").code == 0
    return begun


def test_a_task_of_a_batch_that_goes_on_stays(in_batch: Callable[..., Any]) -> None:
    """Else the batch would begin the next task that gets the same id."""
    done = in_batch("task", "remove", "030")
    assert (done.code, "it is in batch 1\n" in done.err) == (4, True)
    assert "`sow batch remove 1 030`" in done.err
    assert in_batch("batch", "remove", "1", "030").code == 0
    assert in_batch("task", "remove", "030").code == 0


def test_a_batch_goes_on_without_a_task_whose_folder_is_gone(
    in_batch: Callable[..., Any], tmp_path: Path
) -> None:
    (folder,) = tmp_path.glob(".sow/project/phases/*/tasks/030")
    shutil.rmtree(folder)
    assert "there is no task 030: sow batch remove 1 030" in in_batch("batch", "show", "1").out
    assert in_batch("batch", "remove", "1", "030").code == 0


@pytest.mark.parametrize(
    ("value", "code"), [("7", 0), ("-1000", 0), ("", 0), ("x", 4), ("1001", 4)]
)
def test_a_priority_is_set(begun: Callable[..., Any], value: str, code: int) -> None:
    assert begun("task", "set", "--id", "010", "priority", "--", value).code == code


def test_an_agent_that_does_not_plan_imports_nothing(
    begun: Callable[..., Any], as_agent: Callable[..., None], file: str
) -> None:
    as_agent()
    assert begun("task", "import", file).code == 4
    assert begun("task", "remove", "020").code == 4
    assert begun("task", "export").code == 0
    as_agent(role="planner")
    assert begun("task", "import", file).code == 0


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('- key: "1 a"\n  name: A\n  agent: tester\n', "expected a letter, then letters, digits"),
        ('{"key": "1 a", "name": "A", "agent": "tester"}\n', "expected a letter, then letters"),
        ("- key: a\n  nmae: A\n  agent: tester\n", "it may have `id`, `phase`, `description`"),
    ],
)
def test_an_import_says_what_a_key_may_be(begun, tmp_path, text, part):
    (tmp_path / "tasks.yaml").write_text(text)
    done = begun("task", "import", "tasks.yaml")
    assert (done.code, part in done.err) == (2, True), done.err


def test_a_plain_list_tells_waiting_from_blocked(begun):
    begun("task", "add", "After it", "--agent", "tester", "--depends-on", "020")
    rows = begun("task", "list").out
    assert "blocked" not in rows
    begun("task", "abandon", "010")
    rows = {line.split()[0]: line for line in begun("task", "list").out.splitlines()}
    assert "blocked: 010 (abandoned)" in rows["020"]
    assert "blocked: 020 (pending)" in rows["030"]


def test_required_labels_are_imported_set_and_exported(
    begun: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "labels.yaml"
    file.write_text("- {key: a, name: A, agent: tester, requires: [gpu, macos, gpu]}\n")
    assert begun("task", "import", str(file)).code == 0
    listed = map(json.loads, begun("task", "list", "--json").out.splitlines())
    task = next(each for each in listed if each["key"] == "a")
    assert task["requires"] == ["gpu", "macos"]
    assert "requires: [gpu, macos]" in begun("task", "export").out
    assert begun("task", "set", task["task"], "requires", "linux").code == 0
    assert "  requires     linux\n" in begun("task", "show", task["task"]).out
    refused = begun("task", "set", task["task"], "requires", "Big GPU")
    assert (refused.code, "requires" in refused.err) == (4, True)
