"""A batch's turn, step by step, in this process: what is done, and that nothing is done twice."""

from typing import Any

import pytest
from calls.batch_desk import batch, begin, items, look, placed, turn
from calls.desk import PROJECT, WORKER, Desk, a_dead_process
from msgspec import UNSET
from msgspec.structs import replace
from recorded_changes import read_after

from sow.batches.gathering import Seen, gather
from sow.batches.item import MOST_IN_A_ROW
from sow.calls import batch_actions, batch_changes, batch_making, batch_turn
from sow.calls.batch_actions import Step
from sow.calls.batch_changes import BatchHasEnded, selection_of
from sow.calls.batch_look import LimitsNow
from sow.calls.batch_making import NothingToCheck, Wanted
from sow.calls.batch_touch import touch_batch
from sow.calls.job_end import finish, withdraw
from sow.errors import StateError
from sow.git.git_errors import GitKilled
from sow.git.run import git_answer
from sow.ids import JobId, TaskId
from sow.jobs import batch_news, batches, changes, jobs, leases
from sow.jobs.batches import UnknownBatch
from sow.schema.amounts import Amounts
from sow.schema.batch import Action, BatchState, ItemState
from sow.schema.batch_policy import BatchPolicy
from sow.schema.causes import Cause
from sow.schema.job import JobState, Verb
from sow.schema.task import ReviewVerdict, TaskStatus
from sow.state.state_errors import UnknownTask
from sow.state.verdicts import Judgement, accept, correct


def test_what_is_ready_is_spawned_and_the_rest_waits(desk: Desk) -> None:
    desk.task("010")
    desk.task("020", depends_on=["010"])
    desk.task("030")
    work = begin(desk)
    turn(work)
    assert placed(work) == [("010", "spawn", 1), ("030", "spawn", 1)]
    assert items(work) == dict.fromkeys(("010", "020", "030"), ItemState.WAITING)
    assert batch_news.pending(desk.database) == [], "there is nothing more to do"
    turn(work)
    assert len(placed(work)) == 2
    desk.end(1, TaskStatus.COMPLETED)
    assert [found.id for found in batch_news.pending(desk.database, PROJECT)] == [work.batch.id]
    turn(work)
    assert placed(work)[-1] == ("020", "spawn", 1)


def test_it_is_over_when_all_have_ended(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk)
    turn(work)
    desk.end(1, TaskStatus.COMPLETED)
    turn(work)
    assert (batch(work).state, items(work)) == (BatchState.OVER, {"010": ItemState.DONE})
    kinds = [(c.kind, c.data.status) for c in read_after(desk.database, 0) if c.batch]
    assert ("batch", "over") in kinds
    assert ("item", "done") in kinds


def test_the_same_deed_is_placed_once(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk)
    step = Step(TaskId("010"), Action.SPAWN, 1)
    batch_actions.do(work, step)
    desk.end(1, TaskStatus.PENDING, JobState.CANCELLED)
    batch_actions.do(work, step)
    assert placed(work) == [("010", "spawn", 1)]
    batch_actions.do(work, replace_number(step, 2))
    assert len(placed(work)) == 2


def replace_number(step: Step, number: int) -> Step:
    return step._replace(number=number)


def test_a_worker_that_dies_while_it_places_is_followed_by_one_that_begins_anew(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.task("010")
    desk.with_session("010", started=False)  # else its job is queued at once
    work = begin(desk)

    class Killed(BaseException):
        """SIGKILL leaves no time for anything."""

    def dies(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr("sow.calls.kinds.work._mark_task", dies)
        patched.setattr("sow.calls.kinds.work._undo", lambda *_: None)
        with pytest.raises(Killed):
            turn(work)
    jobs.change_job(desk.database, JobId(1), caller=a_dead_process())
    assert desk.job(1).state is JobState.PREPARING
    turn(work)
    assert len(placed(work)) == 1, "nobody knows yet that it is dead"
    finish(desk.workspace, desk.database, desk.job(1), now=1.0)
    turn(work)
    assert placed(work) == [("010", "spawn", 1), ("010", "spawn", 2)]
    assert desk.job(2).state is JobState.QUEUED


def test_what_is_refused_asks_a_person_and_a_resume_tries_again(desk: Desk) -> None:
    desk.task("010")
    (desk.base / "bin/claude").unlink()
    work = begin(desk)
    turn(work)
    assert items(work) == {"010": ItemState.NEEDS_PERSON}
    (found,) = look(work).standings
    assert "claude" in found.reason
    desk.program("claude")
    batch_changes.resume(desk.caller, desk.database, batch(work))
    turn(work)
    assert placed(work) == [("010", "spawn", 1)]


@pytest.mark.slow
def test_a_missing_program_pauses_the_batch_after_three_tasks_and_a_resume_goes_on(
    desk: Desk,
) -> None:
    tasks = ("010", "020", "030", "040", "050")
    for task in tasks:
        desk.task(task)
    (desk.base / "bin/claude").unlink()
    work = begin(desk)
    turn(work)
    paused = batch(work)
    assert paused.state is BatchState.PAUSED
    assert (
        paused.reason
        == "3 tasks were refused for the same reason: executor binary not found: claude"
    )
    asking = [task for task, state in items(work).items() if state is ItemState.NEEDS_PERSON]
    assert len(asking) == 3, "nobody is called for the others"
    desk.program("claude")
    batch_changes.resume(desk.caller, desk.database, batch(work))
    turn(work)
    assert sorted(task for task, *_ in placed(work)) == sorted(tasks)


def test_a_call_by_hand_belongs_to_the_batch_and_clears_what_was_refused(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk)
    batches.change_item(desk.database, work.batch.id, TaskId("010"), refusal="Not now.")
    job = desk.insert(task_id="010")
    assert desk.job(job.id).batch == work.batch.id
    (item,) = batches.items_of(desk.database, work.batch.id)
    assert item.refusal == ""


def test_nothing_begins_in_a_batch_that_is_paused(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk)
    batch_changes.pause(desk.database, work.batch)
    turn(work)
    assert placed(work) == []
    batch_changes.resume(desk.caller, desk.database, batch(work))
    turn(work)
    assert len(placed(work)) == 1


def test_a_deed_is_not_placed_in_a_batch_that_was_paused_meanwhile(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk)
    batches.change_batch(desk.database, work.batch.id, state=BatchState.PAUSED)
    batch_actions.do(work, Step(TaskId("010"), Action.SPAWN, 1))
    assert placed(work) == []
    assert desk.read().status is TaskStatus.PENDING


def test_a_failure_is_news_until_the_batch_has_had_its_turn(desk: Desk) -> None:
    desk.task("010")
    desk.task("020")
    work = begin(desk)
    turn(work)
    desk.end(1)
    assert not batch_news.has_new_failure(desk.database)
    desk.end(2, TaskStatus.FAILED, state=JobState.FAILED)
    assert batch_news.has_new_failure(desk.database)
    turn(work)
    assert not batch_news.has_new_failure(desk.database)


def test_a_person_s_verdict_is_a_change_that_the_batch_heeds(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk)
    turn(work)
    desk.end(1)
    turn(work)
    assert batch_news.pending(desk.database) == []
    touch_batch(desk.caller, desk.read())
    assert len(batch_news.pending(desk.database)) == 1
    other = desk.task("020")
    touch_batch(desk.caller, other)
    assert [c.task for c in read_after(desk.database, 0) if c.kind == "verdict"] == ["010"]


def test_one_item_at_a_time_has_the_turn_to_merge(desk: Desk) -> None:
    desk.task("010")
    desk.task("020")
    first, second = begin(desk, "010"), begin(desk, "020")
    assert batches.take_turn(desk.database, first.batch, TaskId("010"))
    assert batches.take_turn(desk.database, first.batch, TaskId("010")), "it has it already"
    assert not batches.take_turn(desk.database, second.batch, TaskId("020"))
    batch_news.acknowledge(desk.database, second.batch.id, 10**6)
    turn(first)
    assert batches.turn_of(desk.database, PROJECT) is None, "it is not on its way"
    assert batch(second).seen == 0, "the other looks again"
    assert batches.take_turn(desk.database, second.batch, TaskId("020"))
    batches.change_batch(desk.database, second.batch.id, state=BatchState.OVER, ended_at=1.0)
    assert batches.turn_of(desk.database, PROJECT) is None


def test_the_same_call_finds_its_batch_and_takes_new_tasks_along(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk)
    desk.task("020")
    again = batch_making.make_or_attach(
        desk.caller, desk.database, Wanted(selection_of((), None), BatchPolicy(check=True))
    )
    assert again is not None
    assert (again.batch.id, again.attached, len(again.notes)) == (work.batch.id, True, 1)
    assert list(items(work)) == ["010", "020"]
    with pytest.raises(StateError, match="is in batch"):
        begin(desk, "010")


def test_where_nothing_is_left_the_last_batch_is_told_of(desk: Desk) -> None:
    desk.task("010", TaskStatus.COMPLETED)
    wanted = Wanted(selection_of((), None), BatchPolicy())
    assert batch_making.make_or_attach(desk.caller, desk.database, wanted) is None
    desk.task("020")
    work = begin(desk)
    desk.change("020", status=TaskStatus.ABANDONED)
    turn(work)
    found = batch_making.make_or_attach(desk.caller, desk.database, wanted)
    assert found is not None
    assert (found.batch.id, found.batch.state) == (work.batch.id, BatchState.OVER)


def test_what_cannot_be_meant_is_refused(desk: Desk) -> None:
    desk.task("010")
    with pytest.raises(UnknownTask):
        begin(desk, "990")
    with pytest.raises(NothingToCheck):
        begin(desk, accept="check")
    with pytest.raises(UnknownBatch):
        batch_changes.find(desk.caller, desk.database, "night")
    with pytest.raises(UnknownBatch):
        batch_changes.find(desk.caller, None, None)
    work = begin(desk)
    with pytest.raises(StateError, match="is not in batch"):
        batch_changes.remove(desk.caller, desk.database, work.batch, [TaskId("020")])
    ended = {"state": BatchState.CANCELLED, "ended_at": 1.0}
    batches.change_batch(desk.database, work.batch.id, **ended)
    with pytest.raises(BatchHasEnded):
        batch_changes.add(desk.caller, desk.database, batch(work), [TaskId("010")])


def test_a_task_that_cannot_be_read_keeps_nobody_from_the_others(desk: Desk) -> None:
    desk.task("010")
    desk.task("020")
    work = begin(desk)
    (desk.workspace.tasks("implementation") / "010/state.yaml").write_text("task: [")  # type: ignore[arg-type]
    turn(work)
    assert items(work) == {"010": ItemState.NEEDS_PERSON, "020": ItemState.WAITING}
    assert placed(work) == [("020", "spawn", 1)]


def test_an_old_batch_is_forgotten_with_its_items(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk)
    assert batches.forget_before(desk.database, 10**12) == 0, "it goes on"
    batches.change_batch(desk.database, work.batch.id, state=BatchState.OVER, ended_at=5.0)
    newest = changes.newest(desk.database)
    assert batches.forget_before(desk.database, 6.0) == 1
    assert batches.items_of(desk.database, work.batch.id) == []
    assert changes.newest(desk.database) == newest


@pytest.mark.slow
def test_a_worker_s_idle_look_at_many_batches_is_one_query(desk: Desk) -> None:
    for number in range(20):
        task = f"{number + 1:03d}"
        desk.task(task, TaskStatus.PAUSED)
        turn(begin(desk, task))
    assert batch_news.pending(desk.database, PROJECT) == []
    assert replace(begin(desk, "001")).batch.id == 1


def test_what_its_own_caller_s_death_undid_and_a_check_of_the_base_count_for_nothing(
    desk: Desk,
) -> None:
    desk.task("010", TaskStatus.NEEDS_REVIEW)
    work = begin(desk, check=False, review=True)
    asked = {"batch": work.batch.id, "task_id": "010"}
    ended = {"state": JobState.CANCELLED, "ended_at": 2.0}
    undone = desk.insert(verb=Verb.RESUME, batch_step=1, batch_deed="correct", **asked)
    jobs.change_job(desk.database, undone.id, **ended)
    red = {"state": JobState.FAILED, "cause": Cause.CHECK_FAILED, "ended_at": 3.0}
    on_base = desk.insert(verb=Verb.CHECK, batch_step=2, batch_deed="check_base", **asked)
    jobs.change_job(desk.database, on_base.id, **red)
    items_found, _ = gather(
        desk.workspace, desk.database, work.batch, Seen(desk.workspace), LimitsNow(work)
    )
    (found,) = items_found
    assert (found.last, found.returns, found.steps) == (None, 0, 2)
    given_back = desk.insert(verb=Verb.RESUME, batch_step=3, batch_deed="correct", **asked)
    jobs.change_job(desk.database, given_back.id, state=JobState.DONE, started_at=1.0, ended_at=4.0)
    items_found, _ = gather(
        desk.workspace, desk.database, work.batch, Seen(desk.workspace), LimitsNow(work)
    )
    assert (items_found[0].returns, items_found[0].steps) == (1, 3)
    cut_off = desk.insert(verb=Verb.RESUME, batch_step=4, batch_deed="correct", **asked)
    jobs.change_job(desk.database, cut_off.id, **ended, started_at=1.0)
    items_found, _ = gather(
        desk.workspace, desk.database, work.batch, Seen(desk.workspace), LimitsNow(work)
    )
    assert items_found[0].returns == 2, "its agent was at work when it was ended"


def test_what_is_done_again_is_counted_until_something_else_is_done(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk, "010")

    def counted() -> tuple[str | None, int]:
        (facts,), _ = gather(
            desk.workspace, desk.database, work.batch, Seen(desk.workspace), LimitsNow(work)
        )
        return facts.done_last, facts.in_a_row

    def ended(verb: Verb, step: int) -> None:
        its = {"batch": work.batch.id, "batch_step": step, "batch_deed": verb.value}
        job = desk.insert(verb=verb, task_id="010", **its)
        jobs.change_job(desk.database, job.id, state=JobState.DONE, started_at=1.0, ended_at=2.0)

    for step in (1, 2, 3):
        ended(Verb.UPDATE, step)
    assert counted() == ("update", 3)
    ended(Verb.CHECK, 4)
    assert counted() == ("check", 1)
    ended(Verb.UPDATE, 5)
    assert counted() == ("update", 1)


def test_a_task_is_not_spawned_for_ever_whose_jobs_end_as_if_nothing_had_happened(
    desk: Desk,
) -> None:
    """As a hostile host of a shared queue can end them, telling of no event."""
    desk.task("010")
    work = begin(desk, "010")

    def end_what_is_placed() -> None:
        for _ in range(2 * MOST_IN_A_ROW):
            turn(work)
            live = jobs.live_job(desk.database, work.batch.project_id, TaskId("010"))
            if live is None:
                return
            desk.end(live.id, TaskStatus.PENDING)

    end_what_is_placed()
    assert len(placed(work)) == MOST_IN_A_ROW
    assert items(work) == {"010": ItemState.NEEDS_PERSON}
    batch_changes.resume(desk.caller, desk.database, work.batch)
    end_what_is_placed()
    assert len(placed(work)) == 2 * MOST_IN_A_ROW


def test_a_look_that_something_passing_prevents_is_made_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.task("010")
    work = begin(desk)
    failures = [GitKilled(desk.base, ["log"], 9)] * 2

    def gathered(*given: Any) -> Any:
        if failures:
            raise failures.pop()
        return gather(*given)

    monkeypatch.setattr("sow.calls.batch_look.gather", gathered)
    assert look(work).actions
    failures.extend([GitKilled(desk.base, ["log"], 9)] * 9)
    with pytest.raises(GitKilled):
        look(work)


def test_a_git_that_a_signal_ends_has_given_no_answer(desk: Desk) -> None:
    desk.program("git", "kill -9 $$")
    environ = {"PATH": desk.caller.path_variable}
    with pytest.raises(GitKilled) as caught:
        git_answer(desk.base, "status", environ=environ)
    assert caught.value.passes


def test_a_batch_at_rest_heeds_what_is_added_and_what_is_taken_out(desk: Desk) -> None:
    desk.task("010", TaskStatus.PAUSED)
    desk.task("020")
    work = begin(desk, "010")
    turn(work)
    assert batch_news.pending(desk.database) == []
    batch_changes.add(desk.caller, desk.database, work.batch, [TaskId("020")])
    assert len(batch_news.pending(desk.database)) == 1
    turn(work)
    assert placed(work) == [("020", "spawn", 1)]
    desk.end(1, TaskStatus.COMPLETED)
    turn(work)
    assert batch_news.pending(desk.database) == []
    batch_changes.remove(desk.caller, desk.database, work.batch, [TaskId("010")])
    assert len(batch_news.pending(desk.database)) == 1
    turn(work)
    assert batch(work).state is BatchState.OVER


def test_a_batch_whose_last_task_was_taken_out_takes_one_and_is_not_over(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk, "010")
    batch_changes.remove(desk.caller, desk.database, work.batch, [TaskId("010")])
    turn(work)
    assert batch(work).state is BatchState.RUNNING
    assert batch_news.pending(desk.database) == []
    batch_changes.add(desk.caller, desk.database, work.batch, [TaskId("010")])
    turn(work)
    assert placed(work) == [("010", "spawn", 1)]


def test_the_same_call_has_each_task_that_it_names_done_though_one_was_taken_out(
    desk: Desk,
) -> None:
    desk.task("010")
    desk.task("020")
    work = begin(desk, "010", "020")
    batch_changes.remove(desk.caller, desk.database, work.batch, [TaskId("010")])
    assert begin(desk, "010", "020").batch.id == work.batch.id
    assert list(items(work)) == ["010", "020"]


@pytest.mark.parametrize("state", [BatchState.CANCELLED, BatchState.OVER, BatchState.PAUSED])
def test_a_batch_looks_again_when_another_one_leaves_the_turn(
    desk: Desk, state: BatchState
) -> None:
    for task in ("010", "020"):
        desk.task(task, TaskStatus.PAUSED)
    first, second = begin(desk, "010"), begin(desk, "020")
    turn(second)
    assert batches.take_turn(desk.database, first.batch, TaskId("010"))
    assert second.batch.id not in [found.id for found in batch_news.pending(desk.database)]
    ended_at = 1.0 if state.has_ended else None
    batches.change_batch(desk.database, first.batch.id, state=state, ended_at=ended_at)
    assert second.batch.id in [found.id for found in batch_news.pending(desk.database)]


def test_a_worker_s_late_word_on_a_cancelled_batch_changes_nothing(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk)
    batches.change_batch(desk.database, work.batch.id, state=BatchState.CANCELLED, ended_at=5.0)
    batch_turn.pause(work, "its checks are red")
    batch_turn.end(work, BatchState.OVER)
    assert (batch(work).state, batch(work).ended_at) == (BatchState.CANCELLED, 5.0)
    assert look(work).actions == ()


def test_what_a_person_s_look_at_a_batch_has_missed_is_refused(desk: Desk) -> None:
    desk.task("010")
    desk.task("020")
    work = begin(desk, "010")
    batch_turn.end(work, BatchState.OVER)
    with pytest.raises(BatchHasEnded):
        batch_changes.pause(desk.database, work.batch)
    with pytest.raises(BatchHasEnded):
        batch_changes.resume(desk.caller, desk.database, work.batch)
    with pytest.raises(BatchHasEnded):
        batch_changes.add(desk.caller, desk.database, work.batch, [TaskId("020")])
    assert batches.open_tasks(desk.database, PROJECT) == {}


def test_a_raised_budget_binds_the_jobs_that_live(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk, budget=Amounts(time=60.0))
    turn(work)
    new = Amounts(time=3600.0)
    batch_changes.ask_features(desk.database, work.batch, {"budget": new})
    bound = desk.job(1).budgets
    assert bound is not None
    assert (bound.batch, batch(work).policy.budget) == (new, new)
    desk.end(1, TaskStatus.COMPLETED, JobState.DONE)
    batch_changes.ask_features(desk.database, work.batch, {"budget": Amounts(time=7200.0)})
    ended = desk.job(1).budgets
    assert ended is not None
    assert ended.batch == new, "the figure that it ran under stays on record"


def test_work_that_somebody_has_sent_back_meanwhile_is_neither_completed_nor_accepted(
    desk: Desk,
) -> None:
    desk.task("010", TaskStatus.NEEDS_REVIEW)
    work = begin(desk)
    accept(desk.workspace, "010", Judgement("person"), complete=False, now=1.0)
    correct(desk.workspace, "010", Judgement("person"), b"No.", now=2.0)
    batch_actions.do(work, Step(TaskId("010"), Action.COMPLETE, 1))
    batch_actions.do(work, Step(TaskId("010"), Action.ACCEPT, 1))
    task = desk.read()
    assert task.status is TaskStatus.NEEDS_REVIEW
    assert task.review is not UNSET
    assert task.review.verdict is ReviewVerdict.CORRECTIONS


def test_a_look_at_a_batch_that_rests_reads_no_long_record_again(desk: Desk) -> None:
    for task in ("010", "020"):
        desk.task(task, TaskStatus.PAUSED)
    resting, going = begin(desk, "010"), begin(desk, "020")
    for work in (resting, going, resting):
        turn(work)
    touch_batch(desk.caller, desk.read("020"))
    turn(resting)
    batch_news.acknowledge(desk.database, resting.batch.id, changes.newest(desk.database).seq)
    seen = batch(resting).seen
    upto = seen + batch_news.MOST_BEHIND
    batch_news.pass_over(desk.database, PROJECT, upto)
    assert batch(resting).seen == seen, "it is not far behind"
    batch_news.pass_over(desk.database, PROJECT, upto + 1)
    assert batch(resting).seen == upto + 1
    assert batch(going).seen < seen, "it has something to heed still"


def test_returns_are_counted_anew_once_a_person_has_had_the_author_work(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk, "010")

    def returns() -> int:
        seen = Seen(desk.workspace)
        (found, *_), _facts = gather(
            desk.workspace, desk.database, work.batch, seen, LimitsNow(work)
        )
        return found.returns

    def ended(**fields: Any) -> None:
        job = desk.insert(verb=Verb.RESUME, task_id="010", **fields)
        jobs.change_job(desk.database, job.id, state=JobState.DONE, started_at=1.0, ended_at=2.0)

    for step in (1, 2):
        ended(batch=work.batch.id, batch_step=step, batch_deed=Action.MEND)
    assert returns() == 2
    ended()
    assert returns() == 0
    ended(batch=work.batch.id, batch_step=3, batch_deed=Action.CORRECT)
    assert returns() == 1


def test_a_verdict_of_the_second_in_which_the_work_ended_is_about_that_work(desk: Desk) -> None:
    """Without a clone the times alone tell, and a state holds whole seconds."""
    desk.task("010")
    work = begin(desk, "010")
    turn(work)
    desk.end(1, TaskStatus.NEEDS_REVIEW)

    def stands(ended_at: float) -> bool:
        jobs.change_job(desk.database, JobId(1), ended_at=ended_at)
        seen = Seen(desk.workspace)
        (found, *_), _facts = gather(
            desk.workspace, desk.database, work.batch, seen, LimitsNow(work)
        )
        return found.verdict_stands

    accept(desk.workspace, "010", Judgement(by="person"), complete=False, now=1000.7)
    assert stands(1000.6)
    assert not stands(1001.2)


def test_the_first_failure_withdraws_what_is_queued_and_has_not_begun(desk: Desk) -> None:
    for task in ("010", "020", "030"):
        desk.task(task)
    work = begin(desk, fail_fast=True)
    turn(work)
    leases.claim(desk.database, WORKER, total=9, own=9, now=1e12)
    desk.end(1, TaskStatus.FAILED, JobState.FAILED)
    leases.claim(desk.database, WORKER, total=9, own=9, now=1e12)
    turn(work)
    assert [desk.job(number).state for number in (2, 3)] == [JobState.RUNNING, JobState.CANCELLED]
    assert (desk.read("030").status, items(work)["030"]) == (TaskStatus.PENDING, ItemState.BLOCKED)
    assert leases.claim(desk.database, WORKER, total=9, own=9, now=1e12) is None
    batch_changes.resume(desk.caller, desk.database, work.batch)
    turn(work)
    assert placed(work)[3:] == [("010", "spawn", 2), ("030", "spawn", 2)]


def test_nobody_withdraws_what_has_begun_meanwhile(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk, fail_fast=True)
    turn(work)
    job = desk.job(1)
    leases.claim(desk.database, WORKER, total=9, own=9, now=1e12)
    batch_actions.do(work, Step(TaskId("010"), Action.WITHDRAW, 2))
    assert desk.job(1).state is JobState.RUNNING
    withdraw(desk.workspace, desk.database, job, reason="It failed.", now=1.0)
    assert desk.job(1).state is JobState.RUNNING
