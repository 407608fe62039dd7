"""`sow changes`: what people see, what programs go on from, what is refused."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from reports.job_cases import make_job

from sow.clock import local_time, utc_now
from sow.ids import ProjectId
from sow.jobs import changes, jobs
from sow.jobs.database import open_queue
from sow.paths import Workspace
from sow.schema.change import ChangeKind
from sow.schema.job import Cause, JobState
from sow.schema.output.changes import ChangeView
from sow.state.projects import read_project

Sow = Callable[..., Any]


@pytest.fixture
def tried(begun: Sow, tmp_path: Path) -> Sow:
    """Return a function that runs `sow` in a project with a job that was tried once more."""
    workspace = Workspace(tmp_path)
    project = ProjectId(read_project(workspace).id)
    with closing(open_queue(workspace)) as database:
        job = jobs.insert_job(
            database, make_job(project_id=project, task_id="010", created_at=utc_now())
        )
        jobs.change_job(
            database,
            job.id,
            state=JobState.BACKOFF,
            cause=Cause.CRASHED,
            reason="it crashed\nat once",
            retry_at=1_800_000_000.0,
        )
    return begun


def test_people_see_a_table(tried: Sow) -> None:
    tried("task", "set", "010", "status", "in_progress")
    shown = tried("changes")
    header, *rows = shown.out.splitlines()
    assert header.split() == ["TIME", "TASK", "JOB", "WHAT"]
    assert [row.split(maxsplit=4)[2:] for row in rows] == [
        ["010", "1", "placed: spawn implementer on claude-code"],
        ["010", "1", f"backoff until {local_time(1_800_000_000)}: it crashed"],
        ["010", "1", "status in_progress"],
        ["020", "-", "status pending"],
    ]
    assert shown.err == ""


def test_programs_go_on_after_a_cursor(tried: Sow) -> None:
    tried("changes")
    lines = tried("changes", "--json").lines
    assert [line["kind"] for line in lines] == ["placed", "backoff", "status", "status"]
    cursor = lines[-1]["cursor"]
    assert tried("changes", "--json", "--since", cursor).lines == []
    tried("task", "abandon", "020")
    (line,) = tried("changes", "--json", "--since", cursor).lines
    assert (line["task"], line["data"]["before"]) == ("020", "pending")
    assert [each["seq"] for each in tried("changes", "--json", "-n", "2").lines] == [4, 5]


def test_a_row_that_somebody_else_wrote_is_passed_over_and_said(tried: Sow, tmp_path: Path) -> None:
    with closing(open_queue(Workspace(tmp_path))) as database:
        database.run("insert into change (project, task, kind, data) values ('', '', 'k', '5')")
    tried("task", "abandon", "020")
    for words in (("changes",), ("changes", "--json")):
        shown = tried(*words)
        assert "abandoned" in shown.out
        (note,) = shown.err.splitlines()
        assert note.startswith("Note: a change cannot be shown: a record in the queue file is")


def test_each_line_is_as_its_schema_says(tried: Sow, tmp_path: Path) -> None:
    lines = tried("changes", "--json").out.splitlines()
    fields = set(ChangeView.__struct_fields__)
    for line in lines:
        assert set(msgspec.json.decode(line)) == fields
        msgspec.json.decode(line, type=ChangeView)
    assert (
        set(tried("schema", "changes", "--json").json["$defs"]["ChangeView"]["properties"])
        == fields
    )


def test_the_page_names_every_kind() -> None:
    page = (Path(__file__).parents[2] / "docs/howto/changes.md").read_text(encoding="utf-8")
    assert [kind.value for kind in ChangeKind if f"`{kind.value}`" not in page] == []


def test_filters(tried: Sow) -> None:
    tried("changes")
    assert {line["task"] for line in tried("changes", "--json", "--task", "020").lines} == {"020"}
    assert {line["job"] for line in tried("changes", "--json", "--job", "1").lines} == {1}
    none = tried("changes", "--job", "7")
    assert (none.code, none.out) == (0, "")
    assert none.err == "No changes of job 7 are on record. `sow changes` shows all.\n"


def test_what_was_pruned_and_another_file_are_said(tried: Sow, tmp_path: Path) -> None:
    first = tried("changes", "--json").lines[0]["cursor"]
    with closing(open_queue(Workspace(tmp_path))) as database:
        database.run("update change set at = 0 where seq < 4")
        assert changes.forget_before(database, 1.0) == 3
    gap, row = tried("changes", "--json", "--since", first).lines
    assert (gap["kind"], gap["task"], row["seq"]) == ("pruned", None, 4)
    shown = tried("changes", "--since", first)
    assert shown.err == "Note: 2 changes after the cursor are missing: they were pruned\n"
    assert len(shown.out.splitlines()) == 2
    other = tried("changes", "--since", "0123456789ab-1")
    assert other.err.startswith("Note: the cursor belongs to another queue file, so")
    assert tried("changes", "--json", "--since", gap["cursor"]).lines == [row]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--since", "x"), 2, "not a cursor: 'x'"),
        (("--since", "0123456789ab-1", "-n", "1"), 2, "--limit counts from the end"),
        (("--job", "010"), 4, "looks like a task's id"),
        (("--job", "x"), 4, "not a job id"),
        (("--task", "x"), 4, "not a task id"),
    ],
)
def test_what_is_refused(tried: Sow, words: tuple[str, ...], code: int, message: str) -> None:
    refused = tried("changes", *words)
    assert (refused.code, refused.out) == (code, "")
    assert message in refused.err


def test_without_a_queue_it_makes_none(begun: Sow, tmp_path: Path) -> None:
    shown = begun("changes")
    assert (shown.code, shown.out) == (0, "")
    assert shown.err.startswith("No changes. They are recorded from the first job on")
    assert begun("changes", "--json").out == ""
    assert not Workspace(tmp_path).queue_db.exists()


def test_a_limit_of_none_says_nothing_of_the_record(tried: Sow) -> None:
    done = tried("changes", "--limit", "0")
    assert (done.code, done.out) == (0, "")
    assert done.err == "No changes are shown, because --limit is 0.\n"
