"""A hint calls a batch by its name, as long as that names it alone."""

import pytest
from calls.batch_desk import begin, turn
from calls.desk import PROJECT, Desk
from in_process import run_in_process
from msgspec.structs import replace
from reports.job_cases import NOW

from sow.budgets.accounts import accounts_of
from sow.budgets.words import account_words, raise_words
from sow.calls.batch_changes import selection_of
from sow.calls.batch_look import Work
from sow.calls.batch_making import Wanted, make_or_attach
from sow.errors import StateError
from sow.jobs import batches
from sow.schema.amounts import Amounts
from sow.schema.batch import label_of
from sow.schema.batch_policy import BatchPolicy
from sow.schema.job import Budgets


def make(desk: Desk, name: str, *tasks: str) -> None:
    wanted = Wanted(selection_of(tasks, None), BatchPolicy(), name)
    make_or_attach(desk.caller, desk.database, wanted)


def sow(desk: Desk, *words: str) -> str:
    ended = run_in_process(*words, env=dict(desk.caller.environ), cwd=desk.workspace.root)
    return ended.out + ended.err


def test_hints_call_a_batch_by_its_name(desk: Desk) -> None:
    desk.task("010")
    make(desk, "night", "010")
    assert "sow batch wait night" in sow(desk, "batch", "wait", "night", "--wait", "0s")
    assert "sow batch wait night" in sow(desk, "next")
    paused = sow(desk, "batch", "pause", "night")
    assert paused.endswith("sow batch resume night\n")
    assert "sow batch resume night" in sow(desk, "next")
    assert "sow batch resume night" in sow(desk, "batch", "show", "night")
    assert "sow batch wait night" in sow(desk, "batch", "resume", "night")


def test_a_batch_without_a_name_is_called_by_its_number(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk, "010")
    assert f"sow batch wait {work.batch.id}" in sow(desk, "next")


@pytest.mark.parametrize(
    ("name", "has_ended", "label"),
    [
        ("night", False, "night"),
        ("night", True, "7"),
        ("", False, "7"),
        ("two words", False, "7"),
        ("-x", False, "7"),
        ("3", False, "7"),
        ("$(id)", False, "7"),
    ],
)
def test_a_name_that_does_not_name_it_alone_is_left_out(name, has_ended, label) -> None:
    assert label_of(7, name, has_ended=has_ended) == label


def test_no_two_batches_that_go_on_have_one_name(desk: Desk) -> None:
    desk.task("010")
    desk.task("020")
    make(desk, "night", "010")
    with pytest.raises(StateError, match=" is still running and already has the name") as caught:
        make(desk, "night", "020")
    assert "`sow batch add night TASK`" in caught.value.hint
    make(desk, "night", "010")  # the same call finds its own
    assert [found.name for found in batches.going_on(desk.database, PROJECT)] == ["night"]


def test_a_budget_names_the_batch_that_it_is_of(desk: Desk) -> None:
    desk.task("010")
    wanted = Wanted(selection_of(("010",), None), BatchPolicy(budget=Amounts(usd=1.0)), "night")
    made = make_or_attach(desk.caller, desk.database, wanted)
    assert made is not None
    job = desk.insert(batch=made.batch.id, budgets=Budgets(batch=Amounts(usd=1.0)))
    (account,) = accounts_of(desk.database, job, now=NOW)
    assert account_words(account).startswith("the budget of batch night is reached")
    assert raise_words(account) == "Raise it: `sow batch resume night --budget usd=2`."
    batches.change_batch(desk.database, made.batch.id, ended_at=NOW)
    (account,) = accounts_of(desk.database, job, now=NOW)
    assert f"batch {made.batch.id} " in account_words(account)


def test_a_missing_program_has_the_same_command_in_the_table_and_in_next(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.task("010")
    work = begin(desk, "010")
    environ = {**desk.caller.environ, "PATH": "/nowhere"}
    turn(Work(replace(desk.caller, environ=environ), desk.database, desk.config, work.batch))
    shown = run_in_process("batch", "show", env=environ, cwd=desk.workspace.root).out
    assert "not found" in shown or "not on PATH" in shown, shown
    assert ": sow config edit" in shown
    assert "sow batch resume" not in shown
    assert "sow config edit" in run_in_process("next", env=environ, cwd=desk.workspace.root).out
