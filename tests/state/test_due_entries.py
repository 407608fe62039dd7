"""A change and its entry in the log: who is killed between them leaves a note, and no gap."""

import os
import signal
import sys
from collections.abc import Callable
from functools import partial

import pytest

from sow.schema.task import TaskStatus
from sow.state.artifacts import Side, add_artifact, listed
from sow.state.authors import Author
from sow.state.due_entries import NOTE, settle
from sow.state.lifecycle import finish_phase
from sow.state.log_writing import LOG_FILE, LogEntry
from sow.state.project_feedback import add_feedback, feedback_of, settle_feedback
from sow.state.projects import read_project
from sow.state.task_log import append_entry, last_entries, read_entries
from sow.state.tasks import add_task, change_task, find_task, read_task
from sow.state.transitions import enter

NOON = 1_769_860_800.0
CALLS = frozenset({"open", "write", "fsync", "rename", "replace", "unlink", "close", "truncate"})
"""The functions of the system by which files change."""
ENDED = 7
AGENT = Author("implementer", job=3, attempt=2)


def killed_before_call(number: int, act: Callable[[], object]) -> bool:
    """Carry something out in a process that is killed before its `number`th call of the system.

    Tell whether it came to that.
    """
    process = os.fork()
    if process == 0:
        left = number

        def count(_frame, event, called):
            nonlocal left
            if event == "c_call" and called.__name__ in CALLS:
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.setprofile(count)
            act()
            sys.setprofile(None)
            os._exit(ENDED)
        finally:
            os._exit(1)
    ended = os.waitpid(process, 0)[1]
    if os.WIFSIGNALED(ended):
        assert os.WTERMSIG(ended) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(ended) == ENDED
    return False


def set_other_status(workspace, *, now: float = NOON) -> None:
    def change(task):
        is_running = task.status is TaskStatus.IN_PROGRESS
        return enter(task, TaskStatus.PAUSED if is_running else TaskStatus.IN_PROGRESS, now=now)

    change_task(workspace, "010", change, now=now, by=AGENT)


NEXT = {
    "a look at the task": lambda workspace, _: read_task(workspace, "010"),
    "a look at its log": lambda _, folder: read_entries(folder / LOG_FILE),
    "a look at the end of its log": lambda _, folder: last_entries(folder / LOG_FILE, 1),
    "another change": lambda workspace, _: change_task(
        workspace, "010", lambda task: {"metadata.count": task.metadata.get("count", 0) + 1}, now=1
    ),
    "another entry": lambda _, folder: append_entry(
        folder, LogEntry("2026-01-31T12:00:00Z", "person", "Seen")
    ),
}
"""What may come next, by what it is."""


def statuses_logged(folder) -> list[LogEntry]:
    return [entry for entry in read_entries(folder / LOG_FILE) if entry.event == "status"]


@pytest.mark.one_of("changes that are killed at each step")
@pytest.mark.slow
@pytest.mark.parametrize("following", NEXT)
def test_a_change_of_status_is_logged_once_wherever_its_command_is_killed(workspace, following):
    add_task(workspace, name="A", agent="implementer", now=NOON)
    folder = find_task(workspace, "010").folder
    number, changes, late = 1, 0, 0
    while True:
        before = (folder / "state.yaml").read_bytes()
        was_killed = killed_before_call(number, lambda: set_other_status(workspace))
        has_changed = (folder / "state.yaml").read_bytes() != before
        text = (folder / LOG_FILE).read_text()
        changes += has_changed
        late += text.count("event: status\n") < changes

        NEXT[following](workspace, folder)
        assert not (folder / NOTE).exists()
        assert (folder / LOG_FILE).read_text().count("event: status\n") == changes, number
        read_task(workspace, "010")  # the next command begins with copies that are up to date
        if not was_killed:
            break
        number += 1
    last = statuses_logged(folder)[-1]
    assert (last.agent, last.job, last.attempt) == ("implementer", 3, 2)
    assert last.action.endswith(f"to {read_task(workspace, '010').status.value}")
    assert changes >= 2
    assert late >= 2


@pytest.mark.one_of("changes that are killed at each step")
@pytest.mark.slow
def test_a_report_that_is_killed_anywhere_is_carried_out_once(workspace):
    """It comes again with the same id, and a person may have set the field meanwhile."""
    add_task(workspace, name="A", agent="implementer", now=NOON)

    def set_to(value: str, number: int, by: Author) -> None:
        change = {"metadata.where": value}
        change_task(workspace, "010", lambda _: change, now=NOON + 10 * number, by=by)

    number, was_killed, outcomes = 0, True, set[bool]()
    while was_killed:
        number += 1
        by = Author(**{**vars(AGENT), "entry_id": f"{number:012x}"})
        value = f"the agent's {number}"
        was_killed = killed_before_call(number, partial(set_to, value, number, by))
        was_done = read_task(workspace, "010").metadata.get("where") == value
        set_to("a person's", number, Author("person"))
        set_to(value, number, by)
        expected = "a person's" if was_done else value
        assert read_task(workspace, "010").metadata["where"] == expected, number
        outcomes.add(was_done)
    assert outcomes == {True, False}


def put_feedback(workspace) -> None:
    add_feedback(workspace, b"Mend it.", by=AGENT, now=NOON)


def settle_it(workspace) -> None:
    there = feedback_of(read_project(workspace))
    settle_feedback(workspace, [note.id for note in there], by=AGENT, now=NOON)


def turn_phase(workspace) -> None:
    is_finished = bool(read_project(workspace).finished_phases)
    finish_phase(workspace, "implementation", is_finished=not is_finished, by=AGENT, now=NOON)


PROJECTS = {
    "feedback": (put_feedback, "event: feedback\n"),
    "phase": (turn_phase, "event: state\n"),
}


@pytest.mark.one_of("changes that are killed at each step")
@pytest.mark.slow
@pytest.mark.parametrize("what", PROJECTS)
def test_a_change_of_the_project_is_logged_once_wherever_its_command_is_killed(workspace, what):
    act, mark = PROJECTS[what]
    log = workspace.project / LOG_FILE
    number, changes, late = 1, 0, 0
    while True:
        before = workspace.project_state.read_bytes()
        was_killed = killed_before_call(number, lambda: act(workspace))
        changes += workspace.project_state.read_bytes() != before
        late += log.read_text().count(mark) < changes
        read_project(workspace)
        assert log.read_text().count(mark) == changes, number
        if not was_killed:
            break
        number += 1
    assert changes >= 2
    assert late >= 2
    assert not (workspace.project / NOTE).exists()


def test_what_changes_nothing_is_no_entry(workspace):
    (workspace.root / "a.md").write_text("A\n")
    for _ in range(2):
        add_artifact(workspace, Side.OUTPUT, "a.md", "design", by=AGENT, now=NOON)
    assert len(listed(read_project(workspace), Side.OUTPUT)) == 1
    actions = [entry.action for entry in read_entries(workspace.project / LOG_FILE)]
    assert actions == ["Output added: a.md (design)"]


def test_several_entries_of_one_change(workspace):
    for _ in range(2):
        put_feedback(workspace)
    settle_it(workspace)
    actions = [entry.action for entry in read_entries(workspace.project / LOG_FILE)]
    assert actions[2:] == ["Feedback 001 settled", "Feedback 002 settled"]


@pytest.mark.parametrize("note", [b"", b'["', b"[1, 2]", b"\xff", b'["a", "b", [["c"]]]'])
def test_a_note_that_was_torn_or_is_none_goes(workspace, note):
    add_task(workspace, name="A", agent="implementer", now=NOON)
    folder = find_task(workspace, "010").folder
    (folder / NOTE).write_bytes(note)
    read_task(workspace, "010")
    assert not (folder / NOTE).exists()
    assert read_entries(folder / LOG_FILE) == []


def test_a_note_that_is_a_pipe_or_a_link_holds_up_nobody(workspace, tmp_path):
    add_task(workspace, name="A", agent="implementer", now=NOON)
    folder = find_task(workspace, "010").folder
    os.mkfifo(folder / NOTE)
    read_task(workspace, "010")
    assert not (folder / NOTE).exists()
    outside = tmp_path / "outside"
    outside.write_text("kept")
    (folder / NOTE).symlink_to(outside)
    set_other_status(workspace)
    assert outside.read_text() == "kept"
    assert [entry.action for entry in statuses_logged(folder)] == ["Status: pending to in_progress"]


def test_a_log_that_takes_no_entry_keeps_nobody_from_the_change(workspace):
    add_task(workspace, name="A", agent="implementer", now=NOON)
    folder = find_task(workspace, "010").folder
    (folder / LOG_FILE).unlink()
    (folder / LOG_FILE).mkdir()
    set_other_status(workspace)
    assert read_task(workspace, "010").status is TaskStatus.IN_PROGRESS
    (folder / LOG_FILE).rmdir()
    settle(folder)
    assert [entry.action for entry in statuses_logged(folder)] == ["Status: pending to in_progress"]


def test_nobody_waits_for_somebody_who_is_at_it(workspace, script):
    add_task(workspace, name="A", agent="implementer", now=NOON)
    folder = find_task(workspace, "010").folder
    process = script(
        "from sow.files import locked_folder\n"
        "from sow.state.due_entries import NOTE\n"
        "from sow.state.places import find_task\n"
        "folder = find_task(workspace, '010').folder\n"
        "with locked_folder(folder):\n"
        "    (folder / NOTE).write_bytes(b'')\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.read()\n",
    )
    assert process.stdout.readline() == "held\n"
    assert read_task(workspace, "010").status is TaskStatus.PENDING
    assert (folder / NOTE).exists()
    process.communicate()
    read_task(workspace, "010")
    assert not (folder / NOTE).exists()
