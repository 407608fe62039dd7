"""What a batch may be called, and which one a name finds; and that a phase has to be there."""

import json

import pytest
from calls.batch_desk import begin
from calls.desk import PROJECT, Desk
from in_process import Ended, run_in_process

from sow.calls import batch_making
from sow.calls.batch_changes import selection_of
from sow.calls.batch_making import Made, Wanted
from sow.errors import UsageError
from sow.ids import BatchId
from sow.jobs import batches
from sow.jobs.batches import UnknownBatch
from sow.schema.batch_policy import BatchPolicy
from sow.schema.task import TaskStatus
from sow.state.state_errors import UnknownPhase


def call(desk: Desk, *, name: str = "", phase: str | None = None) -> Made | None:
    wanted = Wanted(selection_of((), phase), BatchPolicy(), name)
    return batch_making.make_or_attach(desk.caller, desk.database, wanted)


def found(desk: Desk, name: str) -> BatchId:
    return batches.find_batch(desk.database, PROJECT, name).id


def test_no_batch_is_called_by_what_would_be_the_number_of_one(desk: Desk) -> None:
    desk.task("010")
    with pytest.raises(UsageError, match=": a number alone is the id of a batch") as refused:
        call(desk, name="2026")
    assert isinstance(refused.value, UsageError)
    assert "--name b2026" in refused.value.hint
    assert batches.going_on(desk.database, PROJECT) == []


def test_a_batch_that_an_older_sow_has_called_by_a_number_is_found_unless_one_has_that_number(
    desk: Desk,
) -> None:
    for task, name in (("010", "2026"), ("020", "1")):
        desk.task(task)
        begin(desk, task)
        batches.change_batch(desk.database, BatchId(int(task[1])), name=name)
    assert (found(desk, "2026"), found(desk, "1")) == (1, 1)


@pytest.mark.parametrize("name", ["", "7", "99999999999999999999999", "night"])
def test_a_name_that_no_batch_has_finds_none(desk: Desk, name: str) -> None:
    desk.task("010")
    begin(desk)
    with pytest.raises(UnknownBatch):
        found(desk, name)


def test_another_name_for_a_batch_that_goes_on_is_not_taken_silently(desk: Desk) -> None:
    desk.task("010")
    call(desk, name="night")
    again, other = call(desk), call(desk, name="day")
    assert again is not None
    assert other is not None
    assert again.notes == ()
    assert other.notes == ("batch 1 is called night; --name does not change it",)


def test_a_phase_that_the_project_does_not_have_is_no_phase_without_work(desk: Desk) -> None:
    desk.task("010", TaskStatus.COMPLETED)
    with pytest.raises(UnknownPhase) as refused:
        call(desk, phase="implementatoin")
    assert "Did you mean implementation?" in refused.value.hint
    assert "--new-phase" not in refused.value.hint
    assert call(desk, phase="implementation") is None


def test_a_call_says_one_thing_of_what_a_failure_means(desk: Desk) -> None:
    def run(*words: str) -> Ended:
        call_it = ("batch", "run", *words, "--detach", "--json")
        return run_in_process(*call_it, env=desk.caller.environ, cwd=desk.workspace.root)

    desk.workspace.repository_config.write_text("batch: {fail_fast: true}\n")
    refused = run("--keep-going", "--fail-fast")
    assert refused.code == 2
    assert "--keep-going and --fail-fast exclude each other" in refused.err
    for task, words, stops in (
        ("010", (), True),
        ("020", ("--keep-going",), False),
        ("030", ("--fail-fast",), True),
    ):
        desk.task(task)
        made = json.loads(run(task, *words).out)
        assert made["policy"].get("fail_fast", False) is stops
