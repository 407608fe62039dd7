"""A hint calls a batch by its name, as long as that names it alone."""

import pytest
from calls.batch_desk import begin
from calls.desk import PROJECT, Desk
from in_process import run_in_process

from sow.calls.batch_call import NameIsTaken, Wanted, make_or_attach, selection_of
from sow.jobs import batches
from sow.schema.batch import BatchPolicy, label_of


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
    with pytest.raises(NameIsTaken) as caught:
        make(desk, "night", "020")
    assert "`sow batch add night TASK`" in caught.value.hint
    make(desk, "night", "010")  # the same call finds its own
    assert [found.name for found in batches.going_on(desk.database, PROJECT)] == ["night"]
