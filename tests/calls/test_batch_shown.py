"""A batch as its commands show it: all of them say the same, and name what wants a person once."""

from typing import Any

import msgspec
import pytest
from calls.batch_desk import begin, turn
from calls.desk import Desk
from in_process import run_in_process
from reports.job_cases import NOW

from sow.batches import gathering, views
from sow.batches.gathering import Seen
from sow.calls.batch_look import Work
from sow.calls.batch_wait import look_at_batch
from sow.ids import JobId, TaskId, WorkerId
from sow.jobs import batches, jobs, leases
from sow.schema.amounts import Amounts, ReachedLimit, ScopeKind
from sow.schema.causes import Cause
from sow.schema.job import HeldFor, JobState
from sow.schema.task import Task, TaskStatus
from sow.state.places import TaskPlace
from sow.state.verdicts import Judgement, correct

SAME = ("state", "rests", "exit_code", "counts", "continue_with")


def sow(desk: Desk, *words: str, expect: int | None = 0) -> str:
    ended = run_in_process(*words, env=desk.caller.environ, cwd=desk.workspace.root)
    assert expect in (None, ended.code), ended
    return ended.out


def batch_of(desk: Desk, *words: str, expect: int | None = 0) -> dict[str, Any]:
    found = msgspec.json.decode(sow(desk, *words, "--json", expect=expect))
    return {key: found[key] for key in SAME}


def note_reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which each task is added whose state a look at a batch reads."""
    read: list[str] = []

    true_read = gathering.read_task_at

    def noting(place: TaskPlace) -> Task:
        read.append(place.task_id)
        return true_read(place)

    for module in (gathering, views):
        monkeypatch.setattr(module, "read_task_at", noting, raising=False)
    return read


@pytest.fixture
def work(desk: Desk) -> Work:
    """A batch of which one item asks, one has failed, and one waits for the one that asks."""
    desk.task("010")
    desk.task("020")
    desk.task("030", depends_on=["010"])
    made = begin(desk)
    turn(made)
    desk.end(1, TaskStatus.PAUSED)
    desk.end(2, TaskStatus.FAILED, JobState.FAILED)
    failed = {"cause": Cause.CRASHED, "reason": "exit code 3"}
    jobs.change_job(desk.database, JobId(2), **failed)
    turn(made)
    return made


@pytest.mark.slow
def test_a_list_and_a_change_say_what_the_batch_itself_says(desk: Desk, work: Work) -> None:
    shown = batch_of(desk, "batch", "show")
    assert shown["counts"] == {"needs_person": 1, "failed": 1, "waiting": 1}
    assert (shown["rests"], shown["exit_code"], shown["continue_with"]) == (True, 1, None)
    assert batch_of(desk, "batch", "list") == shown
    paused = batch_of(desk, "batch", "pause")
    assert (paused, paused["state"]) == (batch_of(desk, "batch", "show"), "paused")
    goes_on = batch_of(desk, "batch", "resume")
    assert goes_on["continue_with"] == "sow batch wait 1", "what has failed is tried again"
    assert goes_on == batch_of(desk, "batch", "show")


@pytest.mark.slow
def test_a_list_tells_what_is_on_record_and_says_where_that_is_behind(
    desk: Desk, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it takes no longer with more batches: no task is read for it."""
    sow(desk, "batch", "resume")
    assert batch_of(desk, "batch", "show")["counts"] == {
        "needs_person": 1,
        "running": 1,
        "waiting": 1,
    }
    shown = msgspec.json.decode(sow(desk, "batch", "list", "--json"))
    assert shown["counts"] == {"needs_person": 1, "failed": 1, "waiting": 1}
    assert (shown["is_behind"], shown["rests"], shown["exit_code"]) == (True, False, 75)
    assert "1 waiting; a worker is to look" in sow(desk, "batch", "list")
    turn(work)
    read = note_reads(monkeypatch)
    shown = msgspec.json.decode(sow(desk, "batch", "list", "--json"))
    assert shown["counts"] == {"needs_person": 1, "waiting": 2}, "its job is queued"
    assert (shown["is_behind"], shown["rests"]) == (False, False)
    assert read == []


def test_what_an_editor_has_written_is_told_by_a_look_and_not_by_a_list(
    desk: Desk, work: Work
) -> None:
    known = batch_of(desk, "batch", "list")
    desk.change("010", status=TaskStatus.ABANDONED)
    assert batch_of(desk, "batch", "list") == known
    assert batch_of(desk, "batch", "show") != known


def test_what_comes_next_and_what_waits_name_an_item_that_has_failed(
    desk: Desk, work: Work
) -> None:
    steps = [msgspec.json.decode(line) for line in sow(desk, "next", "--json").splitlines()]
    whys = [step["why"] for step in steps if "in batch" in step["why"]]
    assert whys == [
        "task 010 in batch 1: its agent asks a question",
        "task 020 in batch 1: has failed: exit code 3",
    ]
    assert "sow agent spawn 020" in [step["command"].split(" --wait")[0] for step in steps]
    waits = msgspec.json.decode(sow(desk, "status", "--json"))["waits"]
    assert [(wait["on"], wait["what"]) for wait in waits if wait["on"] == "you"] == [
        ("you", "010"),
        ("you", "020"),
    ]


def test_where_the_budget_of_a_batch_is_used_up_what_raises_it_comes_next(
    desk: Desk,
) -> None:
    """Whatever begins a run of a task of it is refused until then."""
    for task in ("010", "020"):
        desk.task(task)
    desk.with_session("010")
    work = begin(desk, budget=Amounts(usd=2.0))
    turn(work)
    reached = ReachedLimit(kind=ScopeKind.BATCH, name="1", enough=Amounts(usd=4.0))
    for job in (1, 2):
        desk.end(job, TaskStatus.FAILED, JobState.FAILED)
        ends = {"cause": Cause.BUDGET_REACHED, "reason": "It is reached.", "reached": reached}
        jobs.change_job(desk.database, JobId(job), **ends)
    turn(work)
    commands = [line.split("  #")[0] for line in sow(desk, "next").splitlines()]
    assert commands == ["sow batch resume 1 --budget usd=4"]


def test_a_batch_that_is_paused_has_a_space_before_its_reason(desk: Desk, work: Work) -> None:
    sow(desk, "batch", "pause")
    assert "  you        batch 1 paused: a person has paused it" in sow(desk, "status")


def test_command_lines_that_wait_for_a_word_are_named_once(desk: Desk) -> None:
    for task in ("010", "020"):
        desk.task(task)
    work = begin(desk)
    turn(work)
    for job in (1, 2):
        held = {"state": JobState.HELD, "held_for": HeldFor.TRUST, "reason": "not accepted yet"}
        jobs.change_job(desk.database, JobId(job), **held)
    turn(work)
    commands = [line.split("  #")[0] for line in sow(desk, "next").splitlines()]
    assert [line for line in commands if line.endswith("sow trust")] == [
        "# a person has to, in a terminal: sow trust"
    ]
    waits = msgspec.json.decode(sow(desk, "status", "--json"))["waits"]
    assert [(wait["on"], wait["what"]) for wait in waits] == [("trust", "010"), ("trust", "020")]


def test_a_command_that_several_items_want_is_named_once(desk: Desk) -> None:
    for task in ("010", "020", "030"):
        desk.task(task)
    work = begin(desk)
    turn(work)
    for job in (1, 2, 3):
        desk.end(job, TaskStatus.PENDING, JobState.CANCELLED)
    for task, words in (("010", "nothing left"), ("020", "nothing left"), ("030", "no such thing")):
        batches.change_item(desk.database, work.batch.id, TaskId(task), refusal=words)
    steps = [msgspec.json.decode(line) for line in sow(desk, "next", "--json").splitlines()]
    found = [step["why"] for step in steps if step["command"] == "sow batch resume 1"]
    assert found == ["task 010 in batch 1: nothing left; also for 020, 030"]


def test_the_time_of_an_item_is_that_of_its_attempts_and_not_of_what_it_waited_for(
    desk: Desk,
) -> None:
    desk.task("010")
    work = begin(desk)
    turn(work)
    job = desk.job(1)
    leases.claim(desk.database, WorkerId("w1"), total=9, own=9, now=1000.0)
    desk.attempt(job, created_at=5000.0, started_at=5000.0, ended_at=5007.0)
    jobs.change_job(desk.database, job.id, state=JobState.DONE, ended_at=9000.0)
    (row,) = batches.totals_of(desk.database, work.batch.id, now=0.0)
    assert (row["jobs"], row["attempts"], row["seconds"]) == (1, 1, 7.0)
    # One that runs counts until now.
    desk.database.run("update attempt set ended_at = null")
    (row,) = batches.totals_of(desk.database, work.batch.id, now=5042.0)
    assert row["seconds"] == 42.0
    desk.database.run("update attempt set ended_at = 5007.0")
    # As of a check, which tries nothing again.
    desk.database.run("update job set executor_name = '' where id = ?", (job.id,))
    (row,) = batches.totals_of(desk.database, work.batch.id, now=0.0)
    assert (row["attempts"], row["seconds"]) == (0, 7.0)


def test_each_state_is_read_once_for_a_look_and_its_table(
    desk: Desk, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = note_reads(monkeypatch)
    seen = Seen(desk.workspace)
    found = look_at_batch(desk.caller, desk.database, desk.config, work.batch.id, seen)
    detail = views.detail_of(
        desk.workspace,
        desk.database,
        found.batch,
        found.plan,
        found.seen,
        rests=found.rests,
        now=desk.caller.now(),
    )
    assert len(detail.items) == 3
    assert sorted(read) == ["010", "020", "030"]


def test_a_table_has_a_line_for_each_row_whatever_a_name_holds(desk: Desk) -> None:
    desk.task("010")
    desk.change("010", name="One\n020  completed  implementer")
    lines = sow(desk, "task", "list").splitlines()
    assert len(lines) == 2
    assert lines[1].endswith("One 020  completed  implementer")
    assert TaskId("010") in lines[1]


def test_an_item_that_gave_up_shows_what_its_reviewer_still_asks_for(desk: Desk) -> None:
    desk.task("010", TaskStatus.NEEDS_REVIEW)
    made = begin(desk, review=True, max_iterations=0)
    turn(made)
    findings = "".join(f"Point {number}: {'x' * 300}\n" for number in range(1, 9))
    judgement = Judgement(by="reviewer", job=1)
    correct(desk.workspace, "010", judgement, findings.encode(), now=NOW)
    desk.end(1)
    turn(made)
    (item,) = msgspec.json.decode(sow(desk, "batch", "show", "--json"))["items"]
    lines = item["newest_feedback"].splitlines()
    assert (lines[0][:8], lines[-1], len(lines)) == ("Point 1:", "… and 2 more lines", 7)
    assert max(map(len, lines)) < 210, "each line is shortened, too"
    shown = sow(desk, "batch", "show").splitlines()
    at = shown.index(f"    {lines[0]}")
    assert "its reviewer still asks for corrections" in shown[at - 1]


def test_a_batch_that_nobody_drives_says_so_and_names_who_starts_a_worker(desk: Desk) -> None:
    desk.task("010")
    begin(desk)
    words = "No worker is alive to drive it. To start one: sow worker --background"
    assert words in sow(desk, "batch", "show").splitlines()
    assert not msgspec.json.decode(sow(desk, "batch", "show", "--json"))["has_worker"]
    assert sow(desk, "next").startswith("sow worker --background  #")
    desk.configure({"worker": {"autostart": True}})
    assert "no worker is alive, and this call starts one" in sow(desk, "next").splitlines()[0]
    desk.staff()
    assert words not in sow(desk, "batch", "show")
    assert "no worker is alive" not in sow(desk, "next")
