"""Where one item of a batch stands, by its task's status and the job that lives or ended last.

Owns that half of an item's way on which its author works: run, questions, failures,
what a person has forgiven. The other half is `finished_work`. Pure: the same facts
always lead to the same standing, so that a worker which was killed is followed by one
that goes on.
"""

from collections.abc import Mapping, Sequence

from sow.batches.deeds import Deed, Standing
from sow.batches.facts import Dependency, ItemFacts, LiveJob
from sow.batches.finished_work import completed, is_on_its_way, needs_review
from sow.batches.wishes import (
    answer,
    asks,
    commit_first,
    resume,
    run_again,
    spawn,
    wants,
    with_more_budget,
)
from sow.lifecycle.remedy import WAY_TO_PLAN
from sow.schema.batch import BatchPolicy, ItemState
from sow.schema.causes import Cause
from sow.schema.job import JobState
from sow.schema.kinds import KINDS, JobKind
from sow.schema.task import TaskStatus


def standing_of(
    item: ItemFacts, policy: BatchPolicy, before: Mapping[str, Standing] | None = None
) -> Standing:
    """Return where one item stands; `before` are the items that it waits for."""
    if item.status is None:
        return asks(item, item.fault, f"sow task show {item.task}")
    if item.live is not None:
        return _with_job(item, item.live, policy)
    if item.refusal:
        return with_more_budget(item, item.refusal, item.refused_by)
    if item.waits_for_plan:
        return asks(item, "the project's plan is not approved and begun", WAY_TO_PLAN)
    match item.status:
        case TaskStatus.PENDING:
            return _pending(item, before or {})
        case TaskStatus.IN_PROGRESS:
            reason = "it is in progress, and nobody is at work on it"
            return _taken_up_again(item) or asks(item, reason, resume(item))
        case TaskStatus.PAUSED:
            return _interrupted(item) or asks(item, "its agent asks a question", answer(item))
        case TaskStatus.FAILED:
            return _taken_up_again(item) or _failed(item)
        case TaskStatus.ABANDONED:
            return Standing(task=item.task, state=ItemState.FAILED, reason="it was abandoned")
        case TaskStatus.NEEDS_REVIEW:
            return needs_review(item, policy)
        case TaskStatus.COMPLETED:
            return completed(item, policy)


def _with_job(item: ItemFacts, live: LiveJob, policy: BatchPolicy) -> Standing:
    """Return where an item stands whose job has not ended."""
    if live.is_held:
        reason = "its command lines wait for your word"
        return Standing(
            task=item.task,
            state=ItemState.NEEDS_PERSON,
            reason=reason,
            command="sow trust",
        )
    if live.waits_for_tasks:
        reason = "waits for the tasks that it depends on"
        state, awaits = ItemState.WAITING, _comes_on(_unmet(item))
        return Standing(task=item.task, state=state, reason=reason, awaits=awaits)
    kind = KINDS[live.verb]
    in_turn = not kind.is_agents and is_on_its_way(item, policy)
    return Standing(
        task=item.task,
        state=_state_of(kind, live, in_turn),
        reason=f"put off: {live.put_off}" if live.put_off else "",
        has_job=True,
        in_turn=in_turn,
    )


def _state_of(kind: JobKind, live: LiveJob, in_turn: bool) -> ItemState:
    if kind.makes_work:
        if live.deed not in (None, Deed.SPAWN, Deed.GO_ON):
            return ItemState.CORRECTING
        return ItemState.RUNNING if live.has_begun else ItemState.WAITING
    if kind.is_agents:
        return ItemState.IN_REVIEW
    return ItemState.MERGING if in_turn else ItemState.CHECKING


def _pending(item: ItemFacts, before: Mapping[str, Standing]) -> Standing:
    """Return where an item stands that nobody is at work on yet."""
    last = item.last
    is_cancelled = last is not None and last.state is JobState.CANCELLED and last.cancel_asked
    if last is not None and is_cancelled and last.id > item.forgiven:
        return asks(item, f"job {last.id} was cancelled", spawn(item))
    for other in item.outside:
        reason = _hopeless(other)
        if reason:
            return Standing(task=item.task, state=ItemState.BLOCKED, reason=reason)
    for task, found in before.items():
        if found.state in (ItemState.FAILED, ItemState.BLOCKED):
            reason = f"task {task}, which it depends on, is {found.state.value}"
            return Standing(task=item.task, state=ItemState.BLOCKED, reason=reason)
    waits = [task for task, found in before.items() if found.state is not ItemState.DONE]
    outside = _unmet(item)
    if waits or outside:
        return _waiting(item, [*waits, *(other.task for other in outside)], outside)
    lacking = next((other for other in item.outside if other.left_in_tree), None)
    if lacking is not None:
        return commit_first(item, lacking.task, lacking.left_in_tree)
    return wants(item, ItemState.WAITING, Deed.SPAWN)


def _waiting(item: ItemFacts, waits: Sequence[str], outside: Sequence[Dependency]) -> Standing:
    """Return where an item stands that waits for others; who is to see to those, if somebody is."""
    reason, command = f"waits for {', '.join(waits)}", ""
    idle = next((other for other in outside if not other.goes_on), None)
    if idle is not None:
        reason += f"; nobody is at work on task {idle.task} ({idle.status or 'gone'})"
        command = f"sow task show {idle.task}"
    return Standing(
        task=item.task,
        state=ItemState.WAITING,
        reason=reason,
        command=command,
        awaits=_comes_on(outside),
    )


def _unmet(item: ItemFacts) -> list[Dependency]:
    return [other for other in item.outside if other.status is not TaskStatus.COMPLETED]


def _comes_on(outside: Sequence[Dependency]) -> bool:
    """Whether somebody is at work on all that is waited for outside of the batch."""
    return bool(outside) and all(other.goes_on for other in outside)


def _hopeless(other: Dependency) -> str:
    """Return why nobody need wait for a task that is no item; empty where one may."""
    if other.status is TaskStatus.COMPLETED or other.is_under_way:
        return ""
    if other.status is TaskStatus.PENDING:
        return f"it depends on task {other.task}, which is in no batch"
    if other.status in (TaskStatus.FAILED, TaskStatus.ABANDONED, None):
        return f"task {other.task}, which it depends on, is {other.status or 'gone'}"
    return ""


def _taken_up_again(item: ItemFacts) -> Standing | None:
    """Return that an item goes on whose last end a person has forgiven, or paid for."""
    if not _is_forgiven(item) and not (item.last is not None and item.last.may_go_on):
        return None
    deed = Deed.GO_ON if item.session_started else Deed.SPAWN
    return wants(item, ItemState.RUNNING, deed)


def _is_forgiven(item: ItemFacts) -> bool:
    return item.forgiven >= 0 and (item.last is None or item.last.id <= item.forgiven)


def _interrupted(item: ItemFacts) -> Standing | None:
    """Return what becomes of an item whose agent was cancelled; None where it asks a question.

    What was cancelled before it belonged to the batch is wanted again: so it was named.
    """
    if not item.was_interrupted:
        return None
    if item.last is None:
        deed = Deed.GO_ON if item.session_started else Deed.SPAWN
        return wants(item, ItemState.RUNNING, deed)
    reason = f"job {item.last.id} was cancelled"
    return _taken_up_again(item) or asks(item, reason, resume(item))


def _failed(item: ItemFacts) -> Standing:
    """Return where an item stands whose task has failed; a budget can be raised by a person."""
    last = item.last
    if last is not None and last.cause == Cause.BUDGET_REACHED:
        return with_more_budget(item, last.reason, last.reached)
    return Standing(
        task=item.task,
        state=ItemState.FAILED,
        reason=last.reason if last is not None and last.reason else "its agent has given up",
        command=run_again(item),
    )
