"""Verdicts in `state.yaml`, and the life of a feedback file."""

import pytest

from sow.errors import StateError
from sow.files import LeadsOut
from sow.schema.task import FeedbackStatus, ReviewVerdict, TaskStatus
from sow.state import verdicts
from sow.state.numbered_feedback import FEEDBACK_LIMIT
from sow.state.tasks import add_task, change_task, find_task, read_task
from sow.state.transitions import enter
from sow.state.verdicts import Judgement, addressed, feedback_in

NOON = 1_769_860_800.0
COMMIT = "0123456789abcdef0123456789abcdef01234567"
JUDGE = Judgement(by="reviewer", summary="Good.", commit=COMMIT, steers=(".mcp.json",), job=7)


@pytest.fixture
def place(workspace):
    """The place of a task that waits for a review."""
    add_task(workspace, name="A task", agent="implementer", now=NOON)
    for status in (TaskStatus.IN_PROGRESS, TaskStatus.NEEDS_REVIEW):
        change_task(workspace, "010", lambda task, to=status: enter(task, to, now=NOON), now=NOON)
    return find_task(workspace, "010")


def statuses(workspace):
    return [entry["status"] for entry in read_task(workspace, "010").feedback]


def correct(workspace, words=b"Name it better.\n"):
    return verdicts.correct(workspace, "010", JUDGE, words, now=NOON)


def test_an_accepted_task_keeps_its_status_until_it_is_completed(workspace, place):
    task = verdicts.accept(workspace, "010", JUDGE, complete=False, now=NOON)
    assert task.status is TaskStatus.NEEDS_REVIEW
    assert task.review.verdict is ReviewVerdict.ACCEPTED
    assert (task.review.commit, task.review.job, task.review.by) == (COMMIT, 7, "reviewer")
    assert task.review.steers == [".mcp.json"]
    assert read_task(workspace, "010") == task
    assert "\nversion: 2\n" in place.state.read_text()

    task = verdicts.accept(workspace, "010", Judgement(by="person"), complete=True, now=NOON)
    assert task.status is TaskStatus.COMPLETED
    assert task.review.by == "person"
    assert task.review.summary == ""


def test_corrections_are_the_next_file_and_live_through_three_stations(workspace, place):
    task, first = correct(workspace)
    assert first == place.feedback / "001.md"
    assert first.read_bytes() == b"Name it better.\n"
    assert task.review.verdict is ReviewVerdict.CORRECTIONS
    assert task.feedback == [{"file": "001.md", "status": "open"}]
    found = feedback_in(workspace, task, FeedbackStatus.OPEN)
    assert found == [("001.md", "Name it better.")]

    task = change_task(workspace, "010", addressed, now=NOON)
    assert statuses(workspace) == ["addressed"]
    assert change_task(workspace, "010", addressed, now=NOON) == task

    correct(workspace, b"It is still wrong.\n")
    assert statuses(workspace) == ["settled", "open"]
    verdicts.accept(workspace, "010", JUDGE, complete=False, now=NOON)
    assert statuses(workspace) == ["settled", "settled"]


def test_what_others_wrote_among_the_feedback_stays(workspace, place):
    change_task(workspace, "010", lambda _: {"feedback": ["by hand", {"a": 1}]}, now=NOON)
    (place.feedback / "007.md").write_text("By hand.\n")
    (place.feedback / "notes.txt").write_text("Mine.\n")
    task, written = correct(workspace)
    assert written.name == "008.md"
    assert task.feedback[:2] == ["by hand", {"a": 1}]
    assert change_task(workspace, "010", addressed, now=NOON).feedback[:2] == task.feedback[:2]


def test_a_file_that_a_killed_command_left_is_taken_up(workspace, place):
    (place.feedback / "001.md").write_text("Name it better.\n")
    assert correct(workspace)[1].name == "001.md"
    assert correct(workspace)[1].name == "002.md", "that one is on record: it is said again"


def test_feedback_that_nobody_would_be_shown_again_is_refused(workspace, place):
    with pytest.raises(StateError, match="bytes, more than the limit"):
        correct(workspace, b"x" * (FEEDBACK_LIMIT + 1))
    assert statuses(workspace) == []
    assert list(place.feedback.iterdir()) == []
    correct(workspace, b"x" * FEEDBACK_LIMIT)
    ((_, words),) = feedback_in(workspace, read_task(workspace, "010"), FeedbackStatus.OPEN)
    assert len(words) == FEEDBACK_LIMIT


def test_a_number_that_somebody_has_made_up_takes_none_from_the_next(workspace, place):
    (place.feedback / "999999999.md").write_text("By hand.\n")
    assert [correct(workspace)[1].name for _ in range(2)] == ["001.md", "002.md"]


def test_a_folder_that_leads_elsewhere_is_not_written_in(workspace, place, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    place.feedback.rmdir()
    place.feedback.symlink_to(elsewhere)
    with pytest.raises(LeadsOut) as refused:
        correct(workspace)
    assert "leads out of the repository" in refused.value.message
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("status", ["pending", "in_progress", "completed", "abandoned"])
def test_where_there_is_nothing_to_judge_nothing_is_written(workspace, place, status):
    change_task(workspace, "010", lambda _: {"status": TaskStatus(status)}, now=NOON)
    before = place.state.read_bytes()
    for judge in (
        lambda: verdicts.accept(workspace, "010", JUDGE, complete=True, now=NOON),
        lambda: correct(workspace),
    ):
        with pytest.raises(StateError, match=status) as caught:
            judge()
        assert "`sow" in caught.value.hint
    assert place.state.read_bytes() == before
    assert list(place.feedback.iterdir()) == []
