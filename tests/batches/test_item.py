"""What a batch does next, by a table: every state of an item, and every fact that matters."""

from typing import Any

import pytest
from batches.item_values import ALL, accepted, checked, ended, finished, item, live

from sow.batches.item import standing_of
from sow.batches.item_facts import ItemFacts
from sow.batches.item_history import History
from sow.jobs.batches import JobInBatch
from sow.schema.batch import Action, ItemState
from sow.schema.batch_policy import Accept, BatchPolicy
from sow.schema.causes import Cause
from sow.schema.job import JobState, Verb
from sow.schema.task import ReviewVerdict, TaskStatus

S, D = ItemState, Action
PLAIN = BatchPolicy()
CHECKS = BatchPolicy(check=True, accept=Accept.CHECK)
MERGES = BatchPolicy(merge=True)
CORRECTIONS = {"verdict": ReviewVerdict.CORRECTIONS, "verdict_stands": True}
CONFLICT = ended(Verb.UPDATE, JobState.FAILED, Cause.MERGE_CONFLICT)
RED_MERGE = ended(Verb.MERGE, JobState.FAILED, Cause.CHECK_FAILED)
NO_VERDICT = ended(Verb.REVIEW, JobState.FAILED, Cause.NO_VERDICT)
CANCELLED = ended(Verb.CHECK, JobState.CANCELLED, Cause.CANCELLED, cancel_asked=True)
COMPLETED = TaskStatus.COMPLETED


def again(action: Action, count: int) -> dict[str, Any]:
    """Return that the batch has done the same so often in a row."""
    return {"done_last": action.value, "in_a_row": count}


@pytest.mark.parametrize(
    ("facts", "policy", "state", "action"),
    [
        # before anybody has begun
        (item(), PLAIN, S.WAITING, D.SPAWN),
        (item(last=ended(Verb.SPAWN, JobState.CANCELLED)), PLAIN, S.WAITING, D.SPAWN),
        (
            item(last=ended(Verb.SPAWN, JobState.CANCELLED, cancel_asked=True)),
            PLAIN,
            S.NEEDS_PERSON,
            None,
        ),
        (
            item(last=ended(Verb.SPAWN, JobState.CANCELLED, cancel_asked=True), forgiven=5),
            PLAIN,
            S.WAITING,
            D.SPAWN,
        ),
        # the cancel came too late, and the task was reopened since
        (item(last=ended(Verb.SPAWN, cancel_asked=True)), PLAIN, S.WAITING, D.SPAWN),
        (item(**again(D.SPAWN, 9)), PLAIN, S.WAITING, D.SPAWN),
        (item(**again(D.SPAWN, 10)), PLAIN, S.NEEDS_PERSON, None),
        (item(**again(D.GO_ON, 10)), PLAIN, S.NEEDS_PERSON, None),
        (item(**again(D.CHECK, 10)), PLAIN, S.WAITING, D.SPAWN),
        (item(refusal="No such program."), PLAIN, S.NEEDS_PERSON, None),
        (item(None, fault="It cannot be read."), PLAIN, S.NEEDS_PERSON, None),
        # it has reported, and changed nothing: it is asked once, before anybody is paid
        (finished(changed_nothing=True), ALL, S.CORRECTING, D.ASK_FOR_CHANGE),
        (finished(changed_nothing=True, asked_for_change=1), ALL, S.CHECKING, D.CHECK),
        (finished(changed_nothing=True), PLAIN, S.NEEDS_PERSON, None),
        (accepted(changed_nothing=True), ALL, S.MERGING, D.MERGE),
        # somebody is at it
        (item(TaskStatus.IN_PROGRESS, live=live(Verb.SPAWN, "spawn")), ALL, S.RUNNING, None),
        (
            item(TaskStatus.IN_PROGRESS, live=live(Verb.SPAWN, "spawn", has_begun=False)),
            ALL,
            S.WAITING,
            None,
        ),
        (item(TaskStatus.IN_PROGRESS, live=live(Verb.RESUME)), ALL, S.RUNNING, None),
        (item(TaskStatus.IN_PROGRESS, live=live(Verb.OPEN)), ALL, S.RUNNING, None),
        (item(TaskStatus.IN_PROGRESS, live=live(Verb.RESUME, "mend")), ALL, S.CORRECTING, None),
        (finished(live=live(Verb.CHECK, "check")), ALL, S.CHECKING, None),
        (finished(live=live(Verb.REVIEW, "review")), ALL, S.IN_REVIEW, None),
        (accepted(live=live(Verb.UPDATE, "update")), ALL, S.MERGING, None),
        (accepted(live=live(Verb.CHECK, "check")), ALL, S.MERGING, None),
        (accepted(live=live(Verb.MERGE, "merge")), ALL, S.MERGING, None),
        (finished(live=live(Verb.CHECK, is_held=True)), ALL, S.NEEDS_PERSON, None),
        (item(live=live(Verb.SPAWN, waits_for_tasks=True)), ALL, S.WAITING, None),
        # what it has come to
        (item(TaskStatus.IN_PROGRESS), PLAIN, S.NEEDS_PERSON, None),
        (item(TaskStatus.IN_PROGRESS, forgiven=0), PLAIN, S.RUNNING, D.SPAWN),
        (item(TaskStatus.PAUSED), PLAIN, S.NEEDS_PERSON, None),
        (item(TaskStatus.PAUSED, was_interrupted=True), PLAIN, S.RUNNING, D.SPAWN),
        (
            item(TaskStatus.PAUSED, was_interrupted=True, session_started=True),
            *(PLAIN, S.RUNNING, D.GO_ON),
        ),
        (item(TaskStatus.ABANDONED), PLAIN, S.FAILED, None),
        (item(TaskStatus.FAILED), PLAIN, S.FAILED, None),
        (item(TaskStatus.FAILED, last=ended(Verb.SPAWN), forgiven=4), PLAIN, S.FAILED, None),
        (item(TaskStatus.FAILED, last=ended(Verb.SPAWN), forgiven=5), PLAIN, S.RUNNING, D.SPAWN),
        (
            item(TaskStatus.FAILED, session_started=True, forgiven=0),
            PLAIN,
            S.RUNNING,
            D.GO_ON,
        ),
        (item(TaskStatus.FAILED, may_go_on=True, **again(D.SPAWN, 9)), PLAIN, S.RUNNING, D.SPAWN),
        (
            item(TaskStatus.FAILED, may_go_on=True, **again(D.SPAWN, 10)),
            PLAIN,
            S.NEEDS_PERSON,
            None,
        ),
        (item(COMPLETED), ALL, S.DONE, None),
        (item(COMPLETED, has_clone=True), BatchPolicy(check=True, review=True), S.DONE, None),
        (item(COMPLETED, has_clone=True, is_merged=True), ALL, S.DONE, None),
        (item(COMPLETED, has_clone=True, merge_is_gone=True), ALL, S.NEEDS_PERSON, None),
        # judged
        (finished(), PLAIN, S.NEEDS_PERSON, None),
        (finished(missing="It is in its clone."), ALL, S.NEEDS_PERSON, None),
        (finished(missing="Gone.", is_untaken=True), ALL, S.CHECKING, D.TAKE_UP),
        (finished(), CHECKS, S.CHECKING, D.CHECK),
        (finished(check_passed=True), CHECKS, S.CHECKING, D.CHECK),
        (checked(), CHECKS, S.CHECKING, D.ACCEPT),
        (checked(passed=False), CHECKS, S.CORRECTING, D.MEND),
        (checked(passed=False, returns=2), ALL, S.CORRECTING, D.MEND),
        (checked(passed=False, returns=3), ALL, S.NEEDS_PERSON, None),
        (checked(), BatchPolicy(check=True), S.NEEDS_PERSON, None),
        (checked(), ALL, S.IN_REVIEW, D.REVIEW),
        (checked(**CORRECTIONS, feedback_is_open=True), ALL, S.CORRECTING, D.CORRECT),
        (finished(**CORRECTIONS, feedback_is_open=True), PLAIN, S.CORRECTING, D.CORRECT),
        (checked(**CORRECTIONS, feedback_is_open=True, returns=3), ALL, S.NEEDS_PERSON, None),
        (
            checked(**CORRECTIONS, feedback_is_open=True, **again(D.CORRECT, 10)),
            *(ALL, S.NEEDS_PERSON, None),
        ),
        (checked(**CORRECTIONS), ALL, S.IN_REVIEW, D.REVIEW),
        (checked(last=NO_VERDICT), ALL, S.NEEDS_PERSON, None),
        (checked(last=NO_VERDICT, forgiven=5), ALL, S.IN_REVIEW, D.REVIEW),
        (checked(**again(D.REVIEW, 4)), ALL, S.IN_REVIEW, D.REVIEW),
        (checked(**again(D.REVIEW, 5)), ALL, S.NEEDS_PERSON, None),
        (finished(**again(D.CHECK, 9)), ALL, S.CHECKING, D.CHECK),
        (finished(**again(D.CHECK, 10)), ALL, S.NEEDS_PERSON, None),
        (checked(last=NO_VERDICT, vain_reviews=2), ALL, S.NEEDS_PERSON, None),
        (checked(last=NO_VERDICT, vain_reviews=2, forgiven=5), ALL, S.IN_REVIEW, D.REVIEW),
        (finished(last=CANCELLED), ALL, S.NEEDS_PERSON, None),
        (accepted(verdict_stands=False), ALL, S.IN_REVIEW, D.REVIEW),
        # accepted
        (accepted(), BatchPolicy(review=True), S.MERGING, D.COMPLETE),
        (accepted(has_clone=False), ALL, S.MERGING, D.COMPLETE),
        (accepted(is_merged=True), ALL, S.MERGING, D.COMPLETE),
        (accepted(merge_is_gone=True), ALL, S.NEEDS_PERSON, None),
        (accepted(), ALL, S.MERGING, D.MERGE),
        (accepted(is_behind=True), ALL, S.MERGING, D.UPDATE),
        (accepted(is_behind=True, **again(D.UPDATE, 9)), ALL, S.MERGING, D.UPDATE),
        (accepted(is_behind=True, **again(D.UPDATE, 10)), ALL, S.NEEDS_PERSON, None),
        (accepted(is_behind=True, **again(D.CHECK, 10)), ALL, S.MERGING, D.UPDATE),
        (accepted(**again(D.UPDATE, 10)), ALL, S.MERGING, D.MERGE),
        (accepted(check_stands=False), ALL, S.MERGING, D.CHECK),
        (accepted(check_passed=False), ALL, S.CORRECTING, D.MEND),
        (accepted(last=CONFLICT), ALL, S.CORRECTING, D.SOLVE),
        (accepted(last=CONFLICT, conflicts_handed=1), ALL, S.NEEDS_PERSON, None),
        (accepted(last=RED_MERGE), ALL, S.CORRECTING, D.MEND),
        (accepted(last=RED_MERGE, returns=3), ALL, S.NEEDS_PERSON, None),
        (
            accepted(last=ended(Verb.MERGE, JobState.FAILED, Cause.MERGE_REFUSED)),
            ALL,
            S.NEEDS_PERSON,
            None,
        ),
        (
            accepted(last=ended(Verb.MERGE, JobState.FAILED, Cause.MERGE_CONFLICT)),
            ALL,
            S.NEEDS_PERSON,
            None,
        ),
        (
            accepted(last=ended(Verb.MERGE, JobState.FAILED, Cause.MERGE_CONFLICT), is_behind=True),
            ALL,
            S.MERGING,
            D.UPDATE,
        ),
        # what somebody has taken from it
        (accepted(verdict_stands=False, taken_back=("1234567",)), ALL, S.NEEDS_PERSON, None),
        (accepted(taken_back=("1234567",), last=CONFLICT), ALL, S.NEEDS_PERSON, None),
        (accepted(clone_is_gone=True), ALL, S.MERGING, D.MERGE),
        (accepted(clone_is_gone=True, is_behind=True), ALL, S.NEEDS_PERSON, None),
        (finished(clone_is_gone=True), ALL, S.NEEDS_PERSON, None),
        (checked(clone_is_gone=True), ALL, S.IN_REVIEW, D.REVIEW),
        (
            item(COMPLETED, has_clone=True, clone_is_gone=True, is_behind=True),
            *(MERGES, S.NEEDS_PERSON, None),
        ),
        # completed by hand, and still to be merged
        (item(COMPLETED, has_clone=True), MERGES, S.MERGING, D.MERGE),
        (item(COMPLETED, has_clone=True, is_behind=True), MERGES, S.MERGING, D.UPDATE),
        (item(COMPLETED, has_clone=True), ALL, S.MERGING, D.CHECK),
        (item(COMPLETED, has_clone=True, last=CONFLICT), MERGES, S.NEEDS_PERSON, None),
        (item(COMPLETED, has_clone=True, last=RED_MERGE), MERGES, S.NEEDS_PERSON, None),
        (
            item(COMPLETED, has_clone=True, check_stands=True, check_passed=False),
            ALL,
            S.NEEDS_PERSON,
            None,
        ),
    ],
)
def test_what_follows_for_one_item(
    facts: ItemFacts, policy: BatchPolicy, state: ItemState, action: Action | None
) -> None:
    found = standing_of(facts, policy)
    assert (found.state, found.action) == (state, action)
    if action is not None:
        assert found.step == facts.steps + 1
    if state is S.NEEDS_PERSON:
        assert found.reason


@pytest.mark.parametrize(
    ("last", "state", "action"),
    [
        (RED_MERGE, S.CORRECTING, D.MEND),
        (ended(Verb.MERGE, JobState.FAILED, Cause.MERGE_CONFLICT), S.NEEDS_PERSON, None),
    ],
)
def test_a_merge_that_a_person_has_forgiven_is_tried_again(
    last: JobInBatch, state: ItemState, action: Action | None
) -> None:
    found = standing_of(accepted(last=last), ALL)
    assert (found.state, found.action) == (state, action)
    again = standing_of(accepted(last=last, forgiven=last.id), ALL)
    assert (again.state, again.action) == (S.MERGING, D.MERGE)


@pytest.mark.parametrize(
    ("resumes", "command"),
    [
        (True, "sow agent resume 010 --conflict"),
        (False, 'sow agent spawn 010 --fresh --prompt "Solve the conflicts '),
    ],
)
def test_a_second_conflict_names_its_files_and_what_its_agent_can_do(
    resumes: bool, command: str
) -> None:
    reason = "its work conflicts with main in file, other\nNothing was changed."
    last = ended(Verb.UPDATE, JobState.FAILED, Cause.MERGE_CONFLICT, reason=reason)
    found = standing_of(accepted(last=last, conflicts_handed=1, resumes=resumes), ALL)
    assert found.reason == (
        "its work conflicts with main in file, other; its agent tried once to solve it"
    )
    assert found.command.startswith(command)


def test_a_second_review_that_comes_to_nothing_asks_a_person_to_judge() -> None:
    once = standing_of(checked(last=NO_VERDICT, vain_reviews=1), ALL)
    assert (once.state, once.command) == (S.NEEDS_PERSON, "")
    twice = standing_of(checked(last=NO_VERDICT, vain_reviews=2), ALL)
    assert twice.command == 'sow review accept 010 --summary "…"'
    assert twice.reason.startswith("2 reviews have come to nothing, so judge it yourself: ")


REFUSED = "not taken from builder, attempt 1: a verdict, which is a reviewer's"


def test_reviews_whose_verdicts_are_refused_at_home_are_not_asked_for_without_end() -> None:
    """A hostile host says how they have ended: done, or cancelled before they began."""
    author = ended(Verb.SPAWN, number=1, step=1, action="spawn")
    reviews = [
        ended(
            Verb.REVIEW,
            JobState.CANCELLED if number % 2 else JobState.DONE,
            number=number,
            step=number,
            action="review",
            warnings=(REFUSED,),
        )
        for number in range(2, 7)
    ]
    done_last, in_a_row = History([author, *reviews]).in_a_row(-1)
    assert (done_last, in_a_row) == ("review", 5)
    assert History([author, *reviews]).in_a_row(6)[1] == 0, "a person has had them go on"
    corrected = ended(Verb.RESUME, number=7, step=7, action="correct")
    assert History([author, *reviews, corrected]).in_a_row(-1) == ("correct", 1)
    assert History().in_a_row(-1) == (None, 0)
    facts = {"last": reviews[-1], "done_last": done_last, "in_a_row": in_a_row}
    found = standing_of(checked(**facts), ALL)
    assert found.reason == (
        f"5 reviews in a row have come to nothing: {REFUSED}; judge it yourself"
    )
    assert found.command == 'sow review accept 010 --summary "…"'


@pytest.mark.parametrize(
    "ended_as",
    [
        {"state": JobState.DONE, "started_at": 1.0},
        {"state": JobState.CANCELLED},
        {"state": JobState.FAILED, "started_at": 1.0, "cause": Cause.BUDGET_REACHED},
    ],
)
def test_an_author_s_host_that_tells_nothing_is_not_given_the_task_for_ever(
    ended_as: dict[str, Any],
) -> None:
    """By its word the task is as it was before, whatever it says of how the job has ended."""
    actions = [Action.SPAWN if number % 3 else Action.GO_ON for number in range(1, 11)]
    tried = [
        ended(Verb.SPAWN, number=number, step=number, action=action.value, **ended_as)
        for number, action in enumerate(actions, 1)
    ]
    done_last, in_a_row = History(tried).in_a_row(-1)
    assert in_a_row == 10
    found = standing_of(item(done_last=done_last, in_a_row=in_a_row), ALL)
    assert found.reason == "10 jobs of its author in a row have come to nothing"
    assert found.command == "sow agent spawn 010"
    assert History(tried).in_a_row(10)[1] == 0, "a person has had them go on"
