"""A batch's budget: what it has stopped goes on with another figure, whoever gives it, and once."""

from collections.abc import Collection

import pytest
from calls.batch_desk import begin, items, look, placed, turn
from calls.desk import Desk
from msgspec.structs import replace
from reports.job_cases import NOW

from sow.batches.gathering import Seen
from sow.budgets import accounts
from sow.budgets.accounts import Account
from sow.budgets.words import account_words, option_of, raise_words, reached_budget
from sow.calls import batch_changes, batch_making
from sow.calls.batch_changes import selection_of
from sow.calls.batch_look import Work
from sow.calls.batch_making import Wanted
from sow.calls.batch_wait import look_at_batch, tell_of_files
from sow.ids import JobId, TaskId
from sow.jobs import batch_news, batches, jobs, spending
from sow.schema.amounts import Amounts, Measure, ReachedLimit, ScopeKind
from sow.schema.batch import ItemState
from sow.schema.batch_policy import BatchPolicy
from sow.schema.causes import Cause
from sow.schema.job import Budgets, JobState, Verb
from sow.schema.task import TaskStatus
from sow.schema.usage import RunUsage

OLD, NEW = Amounts(time=60.0), Amounts(time=3600.0)
REACHED = (
    "the budget of batch 1 is reached: 1m of 1m\nRaise it: `sow batch resume 1 --budget time=2m`."
)

OF_BATCH = ReachedLimit(kind=ScopeKind.BATCH, name="1", enough=Amounts(time=120.0))


def refuse(desk: Desk, job_id: int = 1, status: TaskStatus = TaskStatus.FAILED) -> None:
    """End a job as its worker does that has found the old budget reached."""
    desk.end(job_id, status, JobState.FAILED)
    ends = {
        "cause": Cause.BUDGET_REACHED,
        "reason": REACHED,
        "budgets": Budgets(batch=OLD),
        "reached": OF_BATCH,
    }
    jobs.change_job(desk.database, JobId(job_id), **ends)


def pay(work: Work) -> None:
    """Make the call of the batch again, with another figure."""
    policy = BatchPolicy(budget=NEW)
    wanted = Wanted(selection_of((), None), policy, asked={"budget": NEW})
    made = batch_making.make_or_attach(work.caller, work.database, wanted)
    assert made is not None
    assert made.attached


@pytest.fixture
def work(desk: Desk) -> Work:
    desk.task("010")
    made = begin(desk, budget=OLD)
    turn(made)
    return made


def test_the_same_call_with_another_figure_puts_back_to_work_what_was_stopped(
    desk: Desk, work: Work
) -> None:
    refuse(desk)
    turn(work)
    assert items(work) == {"010": ItemState.NEEDS_PERSON}
    assert batch_news.pending(desk.database) == []
    pay(work)
    assert len(batch_news.pending(desk.database)) == 1
    turn(work)
    assert placed(work) == [("010", "spawn", 1), ("010", "spawn", 2)]
    refuse(desk, 2)
    jobs.change_job(desk.database, JobId(2), budgets=Budgets(batch=NEW))
    turn(work)
    assert items(work) == {"010": ItemState.NEEDS_PERSON}, "the new one is reached, too"


def test_a_figure_that_is_given_while_the_old_one_stops_a_job_is_not_lost(
    desk: Desk, work: Work
) -> None:
    """Its worker has looked at the old figure, and has not written the end yet."""
    batch_changes.ask_features(desk.database, work.batch, {"budget": NEW})
    batch_changes.resume(desk.caller, desk.database, work.batch)
    refuse(desk)
    turn(work)
    assert placed(work) == [("010", "spawn", 1), ("010", "spawn", 2)]


def test_a_review_that_a_budget_has_stopped_names_the_command_that_raises_it(
    desk: Desk,
) -> None:
    desk.task("010", TaskStatus.NEEDS_REVIEW)
    work = begin(desk, review=True, budget=OLD)
    asked = {"batch": work.batch.id, "batch_step": 1, "batch_deed": "review"}
    job = desk.insert(verb=Verb.REVIEW, agent="reviewer", **asked)
    refuse(desk, job.id, TaskStatus.NEEDS_REVIEW)
    (found,) = look(work).standings
    assert found.state is ItemState.NEEDS_PERSON
    assert found.command == "sow batch resume 1 --budget time=2m"
    batch_changes.ask_features(desk.database, work.batch, {"budget": NEW})
    (found,) = look(work).standings
    assert (found.state, found.action) == (ItemState.IN_REVIEW, "review")


def test_what_was_refused_for_want_of_a_budget_is_tried_with_another_figure(
    desk: Desk, work: Work
) -> None:
    desk.end(1, TaskStatus.PENDING, JobState.CANCELLED)
    batches.change_item(
        desk.database, work.batch.id, TaskId("010"), refusal=REACHED, reached=OF_BATCH
    )
    (found,) = look(work).standings
    assert found.command == "sow batch resume 1 --budget time=2m"
    pay(work)
    (found,) = look(work).standings
    assert found.action == "spawn"


@pytest.mark.parametrize(
    ("configured", "command"),
    [
        ({"project": Amounts(time=60.0)}, '"${EDITOR:-vi}" .sow/config.yaml'),
        ({"executor": Amounts(time=60.0)}, "sow config edit"),
    ],
)
@pytest.mark.parametrize("is_job", [True, False])
def test_a_budget_that_is_raised_in_its_file_frees_what_it_has_stopped_when_somebody_waits(
    desk: Desk, configured: dict[str, Amounts], command: str, is_job: bool
) -> None:
    budget_in_file(desk, configured, "1m")
    desk.task("010")
    work = begin(desk)
    turn(work)
    bound = replace(desk.job(1), budgets=Budgets(**configured))
    attempt = desk.attempt(bound, started_at=NOW)
    spending.note(desk.database, bound, attempt, RunUsage(), None, ended_at=NOW + 90)
    (account,) = accounts.accounts_of(desk.database, bound, now=NOW)
    words = f"{account_words(account)}\n{raise_words(account)}"
    assert "then `sow batch wait 1`" in words
    if is_job:
        desk.end(1, TaskStatus.FAILED, JobState.FAILED)
        ends = {
            "cause": Cause.BUDGET_REACHED,
            "reason": words,
            "reached": reached_budget(account),
        }
        jobs.change_job(desk.database, JobId(1), **ends)
    else:
        desk.end(1, TaskStatus.PENDING, JobState.CANCELLED)
        refused = {"refusal": words, "reached": reached_budget(account)}
        batches.change_item(desk.database, work.batch.id, TaskId("010"), **refused)
    turn(work)
    assert (items(work), wait(work)) == ({"010": ItemState.NEEDS_PERSON}, True)
    (found,) = look(work).standings
    assert (found.reason, found.command) == (words, command)
    assert batch_news.pending(desk.database) == [], "the file is as it was"
    budget_in_file(desk, configured, "2m")
    assert not wait(work)
    assert [found.id for found in batch_news.pending(desk.database)] == [work.batch.id]
    turn(anew(work))
    assert placed(work)[1:] == [("010", "spawn", 2)]


def budget_in_file(desk: Desk, kinds: Collection[str], time: str) -> None:
    """Write a budget of time into the user's or the repository's file."""
    desk.configure(
        {"agents": {"executors": {"claude-code": {"budget": {"time": time}}}}}
        if "executor" in kinds
        else {}
    )
    words = f"budget: {{time: {time}}}\n" if "project" in kinds else ""
    desk.workspace.repository_config.write_text(words)


def anew(work: Work) -> Work:
    """Return the work with the configuration as it stands now, as a turn begins with it."""
    return replace(work, config=work.caller.load_configuration())


def wait(work: Work) -> bool:
    """Begin to wait for a batch, as the command does; return whether it rests."""
    now = anew(work)
    seen = Seen(work.caller.workspace)
    found = look_at_batch(work.caller, work.database, now.config, work.batch.id, seen)
    tell_of_files(work.caller, work.database, found)
    return found.rests


def test_the_figure_that_is_named_is_enough_and_leaves_the_other_measures(desk: Desk) -> None:
    budget = Budgets(batch=Amounts(usd=0.01, time=3600.0), task=Amounts(usd=0.01, tokens=2e6))
    job = desk.insert(batch=1, budgets=budget)
    named = {}
    for scope in accounts.scopes_of(job):
        account = Account(scope, Measure.USD, 0.01, used=0.05, charged=0.08, running=0, waiting=0)
        named[scope.kind] = raise_words(account)
    assert named[ScopeKind.BATCH] == "Raise it: `sow batch resume 1 --budget usd=0.16,time=1h`."
    words = "Call again with a new total, such as --budget usd=0.16,tokens=2M."
    assert named[ScopeKind.TASK] == words
    scope = next(scope for scope in accounts.scopes_of(job) if scope.kind is ScopeKind.TASK)
    account = Account(scope, Measure.USD, 0.01, used=0.05, charged=0.08, running=0, waiting=0)
    assert option_of(reached_budget(account)) == "--budget usd=0.16,tokens=2M"
