"""What a batch does next. Pure: facts and a policy come in, standings and deeds go out.

Owns the loop of one task (run, check, review, correct, merge), and what the items
of a batch mean to each other: dependencies, limits, the turn to merge. Who carries
a deed out is `sow.calls.batch_deeds`; the same facts always lead to the same deeds,
so that a worker which was killed is followed by one that goes on.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from sow.batches.brakes import ON_BASE
from sow.batches.facts import BatchFacts, Dependency, EndedJob, ItemFacts, LiveJob
from sow.batches.merge_order import first_to_merge
from sow.schema.batch import AT_REST, ENDED, Accept, BatchPolicy, ItemState
from sow.schema.causes import Cause
from sow.schema.job import JobState
from sow.schema.kinds import KINDS, JobKind
from sow.schema.task import ReviewVerdict, TaskStatus


class Deed(StrEnum):
    """What is to be done with a task. Those that are jobs stand in `job.batch_deed`."""

    SPAWN = "spawn"
    GO_ON = "go_on"
    """Its session is continued after a failure that a person has forgiven."""
    CHECK = "check"
    REVIEW = "review"
    CORRECT = "correct"
    """A review's corrections go back to the author."""
    MEND = "mend"
    """A red check goes back to the author."""
    SOLVE = "solve"
    """A conflict goes back to the author."""
    UPDATE = "update"
    """The project's branch is brought into the task's."""
    MERGE = "merge"
    CHECK_BASE = ON_BASE
    """A check that is red for several tasks is run on the commit that one of them began at."""
    ACCEPT = "accept"
    """The verdict of a green check is put on record."""
    COMPLETE = "complete"


MOST_UPDATES = 10
"""So many updates in a row come to nothing: somebody moves the project's branch all the time, or
something is wrong with the clone. A person is asked rather than going on for ever."""
RETURNS = frozenset({Deed.CORRECT, Deed.MEND})
"""The deeds that are counted against `max_iterations`."""
OF_AGENTS = RETURNS | {Deed.SPAWN, Deed.GO_ON, Deed.REVIEW, Deed.SOLVE}
"""The deeds by which an agent is put to work."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Where an item stands, and what moves it on."""

    task: str
    state: ItemState
    deed: Deed | None = None
    reason: str = ""
    command: str = ""
    """What a person can do about it, as a command."""
    has_job: bool = False
    awaits: bool = False
    """Whether it waits for tasks that are no items, and somebody is at work on all of them."""
    step: int = 0
    """The number under which a deed of it is placed."""
    in_turn: bool = False
    """Whether it is on the way into the project's branch, where one goes at a time."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What follows for a whole batch."""

    standings: tuple[Standing, ...]
    deeds: tuple[Standing, ...] = ()
    """Those whose deed is to be done now."""
    turn: str | None = None
    """The item that has the turn to merge, or takes it now."""
    pause: str = ""
    """Why the batch pauses now."""
    is_over: bool = False
    waits_for_turn: bool = False
    """Whether an item waits for the turn to merge that another batch has."""

    @property
    def rests(self) -> bool:
        """Whether nothing goes on by itself."""
        return (
            not self.waits_for_turn
            and not self.deeds
            and not any(found.has_job or found.awaits for found in self.standings)
        )


def next_deeds(items: Sequence[ItemFacts], policy: BatchPolicy, batch: BatchFacts) -> Plan:
    """Return where each item stands and what is to be done now."""
    standings = _with_dependencies(items, policy)
    if policy.fail_fast and any(found.state is ItemState.FAILED for found in standings):
        standings = [_stopped(found) for found in standings]
    turn = _turn(standings, items, batch)
    if batch.is_paused or batch.brake:
        held = tuple(map(_held, standings, items))
        return Plan(standings=held, turn=turn, pause=batch.brake)
    by_task = {item.task: item for item in items}
    standings = [_looked_into(found, by_task[found.task], batch) for found in standings]
    wanted = [found for found in standings if found.deed is not None]
    deeds = [found for found in wanted if not found.in_turn or found.task == turn]
    deeds = list(_within(deeds, _at_work(items), policy.max_parallel))
    # A batch whose last task was taken out has come to no end: another may be added.
    is_over = bool(standings) and all(found.state in ENDED for found in standings) and not wanted
    rests = not any(found.has_job for found in standings)
    return Plan(
        standings=tuple(standings),
        deeds=tuple(deeds),
        turn=turn,
        is_over=is_over and rests,
        waits_for_turn=batch.turn_is_elsewhere and any(found.in_turn for found in wanted),
    )


def _held(found: Standing, item: ItemFacts) -> Standing:
    """Return how an item stands whose batch is paused: what has not begun does not begin."""
    waits = item.live is not None and item.live.waits_for_batch
    has_job = found.has_job and not waits
    return msgspec.structs.replace(found, deed=None, has_job=has_job, awaits=False)


def _looked_into(found: Standing, item: ItemFacts, batch: BatchFacts) -> Standing:
    """Return that a red check is looked into before it is mended, where many are red in a row."""
    if found.deed is not Deed.MEND or batch.suspect != found.task or not item.has_clone:
        return found
    return msgspec.structs.replace(found, deed=Deed.CHECK_BASE, state=ItemState.CHECKING)


def _turn(
    standings: Sequence[Standing], items: Sequence[ItemFacts], batch: BatchFacts
) -> str | None:
    """Return whose turn it is to merge: who has it keeps it until it is merged or goes back.

    In a batch that is paused nobody keeps it but who has a job: other batches wait for it.
    """
    stands_still = batch.is_paused or bool(batch.brake)
    on_the_way = [
        found.task for found in standings if found.in_turn and (found.has_job or not stands_still)
    ]
    if batch.turn in on_the_way:
        return batch.turn
    if batch.turn_is_elsewhere or stands_still:
        return None
    return first_to_merge(on_the_way, items)


def _within(deeds: Sequence[Standing], at_work: int, most: int | None) -> Iterator[Standing]:
    """Yield the deeds that the limit of agents allows, those of begun tasks before new ones."""
    for found in sorted(deeds, key=lambda found: found.deed is Deed.SPAWN):
        if found.deed in OF_AGENTS:
            if most is not None and at_work >= most:
                continue
            at_work += 1
        yield found


def _at_work(items: Sequence[ItemFacts]) -> int:
    """Return how many agents count against the limit: none that waits for another task's."""
    jobs = [item.live for item in items if item.live and not item.live.waits_for_tasks]
    return sum(1 for job in jobs if KINDS[job.verb].is_agents)


def _stopped(found: Standing) -> Standing:
    """Return what becomes of an item that has not begun where another has failed."""
    if found.deed is Deed.SPAWN or (found.state is ItemState.WAITING and not found.has_job):
        reason = "another task has failed, and the batch stops at the first (--fail-fast)"
        return Standing(task=found.task, state=ItemState.BLOCKED, reason=reason)
    return found


def _with_dependencies(items: Sequence[ItemFacts], policy: BatchPolicy) -> list[Standing]:
    """Return where each item stands; one that waits for another is told after that one.

    By a way of its own, not by recursion: a chain of tasks may be longer than Python goes deep.
    """
    by_task = {item.task: item for item in items}
    found: dict[str, Standing] = {}
    for item in items:
        way = {item.task: item}
        while way:
            task, last = next(reversed(way.items()))
            ahead = (other for other in last.in_batch if other not in found and other not in way)
            if task not in found and (other := next(ahead, None)) is not None:
                way[other] = by_task[other]
                continue
            if task not in found:  # what is on the way still is part of a circle, written by hand
                before = {
                    other: found.get(other, Standing(task=other, state=ItemState.BLOCKED))
                    for other in last.in_batch
                }
                found[task] = standing_of(last, policy, before)
            del way[task]
    return [found[item.task] for item in items]


def standing_of(
    item: ItemFacts, policy: BatchPolicy, before: Mapping[str, Standing] | None = None
) -> Standing:
    """Return where one item stands; `before` are the items that it waits for."""
    if item.status is None:
        return _asks(item, item.fault, f"sow task show {item.task}")
    if item.live is not None:
        return _with_job(item, item.live, policy)
    if item.refusal:
        return _asks(item, item.refusal, _raising(item.refusal))
    match item.status:
        case TaskStatus.PENDING:
            return _pending(item, before or {})
        case TaskStatus.IN_PROGRESS:
            reason = "it is in progress, and nobody is at work on it"
            return _taken_up_again(item) or _asks(item, reason, _resume(item))
        case TaskStatus.PAUSED:
            return _interrupted(item) or _asks(item, "its agent asks a question", _answer(item))
        case TaskStatus.FAILED:
            return _taken_up_again(item) or _failed(item)
        case TaskStatus.ABANDONED:
            return Standing(task=item.task, state=ItemState.FAILED, reason="it was abandoned")
        case TaskStatus.NEEDS_REVIEW:
            return _ended_badly(item) or _conflict(item) or _to_be_judged(item, policy)
        case TaskStatus.COMPLETED:
            return _completed(item, policy)


def _asks(item: ItemFacts, reason: str, command: str) -> Standing:
    return Standing(task=item.task, state=ItemState.NEEDS_PERSON, reason=reason, command=command)


def _wants(item: ItemFacts, state: ItemState, deed: Deed, *, in_turn: bool = False) -> Standing:
    return Standing(task=item.task, state=state, deed=deed, step=item.steps + 1, in_turn=in_turn)


def _answer(item: ItemFacts) -> str:
    return f'sow agent answer {item.task} "…"'


def _resume(item: ItemFacts) -> str:
    return f'sow agent resume {item.task} "…"'


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
    in_turn = not kind.is_agents and _is_on_its_way(item, policy)
    return Standing(
        task=item.task, state=_state_of(kind, live, in_turn), has_job=True, in_turn=in_turn
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
    if item.last is not None and item.last.cancel_asked and item.last.id > item.forgiven:
        return _asks(item, f"job {item.last.id} was cancelled", f"sow agent spawn {item.task}")
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
    return _wants(item, ItemState.WAITING, Deed.SPAWN)


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
    return _wants(item, ItemState.RUNNING, deed)


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
        return _wants(item, ItemState.RUNNING, deed)
    reason = f"job {item.last.id} was cancelled"
    return _taken_up_again(item) or _asks(item, reason, _resume(item))


def _failed(item: ItemFacts) -> Standing:
    """Return where an item stands whose task has failed; a budget can be raised by a person."""
    last = item.last
    if last is not None and last.cause == Cause.BUDGET_REACHED:
        return _reached(item, last.reason)
    return Standing(
        task=item.task,
        state=ItemState.FAILED,
        reason=last.reason if last is not None and last.reason else "its agent has given up",
        command=_call_of(item),
    )


def _raising(reason: str) -> str:
    """Return the command that raises a budget, where a reason names one (`reports.budgets`)."""
    named = re.search(r"`(sow [^`]*--budget [^`]+|sow config edit)`", reason)
    if named is not None:
        return named[1]
    return EDIT_REPOSITORYS if " in .sow/config.yaml, then " in reason else ""


def _reached(item: ItemFacts, reason: str) -> Standing:
    """Return what an item wants whose budget is used up; that of a task is raised by a call."""
    option = re.search(r"such as (--budget \S+)\.", reason)
    call = f"{_call_of(item)} {option[1]}" if option is not None else _raising(reason)
    return _asks(item, reason, call)


def _call_of(item: ItemFacts) -> str:
    return _resume(item) if item.session_started else f"sow agent spawn {item.task}"


EDIT_REPOSITORYS = '"${EDITOR:-vi}" .sow/config.yaml'
FOLLOWED = frozenset({Cause.CHECK_FAILED, Cause.MERGE_CONFLICT})
"""Why a job without an agent can fail so that the loop knows what follows."""


def _ended_badly(item: ItemFacts) -> Standing | None:
    """Return what an item wants whose last job came to nothing that the loop could act on."""
    last = item.last
    if last is None or last.id <= item.forgiven or KINDS[last.verb].makes_work or last.may_go_on:
        return None
    if last.cancel_asked and last.state is JobState.CANCELLED:
        return _asks(item, f"job {last.id} ({last.verb.value}) was cancelled", "")
    if last.state is JobState.FAILED and last.cause not in FOLLOWED:
        words = last.reason or last.cause or "it failed"
        return _asks(item, f"the {last.verb.value} came to nothing: {words}", _raising(words))
    return None


def _conflict(item: ItemFacts) -> Standing | None:
    """Return what becomes of a conflict that an update has left in the clone."""
    last = item.last
    if not _is_conflict(last) or not _is_update(last):
        return None
    if item.conflicts_handed:
        reason = "its work conflicts with the project's branch, and its agent has tried once"
        return _asks(item, reason, f"sow agent resume {item.task} --conflict")
    return _wants(item, ItemState.CORRECTING, Deed.SOLVE)


def _is_conflict(last: EndedJob | None) -> bool:
    failed = last is not None and last.state is JobState.FAILED
    return failed and last is not None and last.cause == Cause.MERGE_CONFLICT


def _is_update(last: EndedJob | None) -> bool:
    return last is not None and KINDS[last.verb].step == "update"


def _to_be_judged(item: ItemFacts, policy: BatchPolicy) -> Standing:
    """Return what follows for work that its author has left for review."""
    if item.missing:
        return _asks(item, item.missing, _resume(item))
    if item.verdict is ReviewVerdict.CORRECTIONS and item.feedback_is_open:
        return _given_back(item, policy, Deed.CORRECT)
    accepted = item.verdict is ReviewVerdict.ACCEPTED and item.verdict_stands
    if policy.check and not item.check_stands:
        in_turn = accepted and _is_on_its_way(item, policy)
        state = ItemState.MERGING if in_turn else ItemState.CHECKING
        return _wants(item, state, Deed.CHECK, in_turn=in_turn)
    if policy.check and not item.check_passed:
        return _given_back(item, policy, Deed.MEND)
    if accepted:
        return _accepted(item, policy)
    if policy.review:
        return _wants(item, ItemState.IN_REVIEW, Deed.REVIEW)
    if policy.accept is Accept.CHECK and policy.check:
        return _wants(item, ItemState.CHECKING, Deed.ACCEPT)
    reason = "its work waits for your verdict"
    return _asks(item, reason, f'sow review accept {item.task} --summary "…"')


def _given_back(item: ItemFacts, policy: BatchPolicy, deed: Deed) -> Standing:
    """Return that the author is to correct its work, unless it has been given back too often."""
    if item.returns < policy.max_iterations:
        return _wants(item, ItemState.CORRECTING, deed)
    red = deed is Deed.MEND
    what = "a check is still red" if red else "its reviewer still asks for corrections"
    times = f"{item.returns} return{'' if item.returns == 1 else 's'} to its author"
    command = _resume(item) if red else f"sow review show {item.task}"
    return _asks(item, f"{what} after {times}", command)


def _accepted(item: ItemFacts, policy: BatchPolicy) -> Standing:
    """Return what follows for work that is accepted, and checked where that is asked for."""
    if not policy.merge or not item.has_clone or item.is_merged:
        return _wants(item, ItemState.MERGING, Deed.COMPLETE)
    if _merge_is_red(item):
        return _given_back(item, policy, Deed.MEND)
    return _to_be_merged(item)


def _merge_is_red(item: ItemFacts) -> bool:
    """Whether the check of the merge's result was red, and nobody has gone on from there."""
    last = item.last
    return (
        last is not None
        and KINDS[last.verb].step == "merge"
        and last.cause == Cause.CHECK_FAILED
        and last.id > item.forgiven
    )


def _to_be_merged(item: ItemFacts) -> Standing:
    if item.is_behind and item.updates >= MOST_UPDATES:
        reason = f"{item.updates} updates in a row have not brought it up to date"
        return _asks(item, reason, f"sow clone update {item.task}")
    if item.is_behind:
        return _wants(item, ItemState.MERGING, Deed.UPDATE, in_turn=True)
    last = item.last
    if last is not None and _is_conflict(last) and last.id > item.forgiven:
        return _asks(item, f"it cannot be merged: {last.reason}", f"sow merge {item.task}")
    return _wants(item, ItemState.MERGING, Deed.MERGE, in_turn=True)


def _completed(item: ItemFacts, policy: BatchPolicy) -> Standing:
    """Return what is left to do for a completed task: to merge it, where that is asked for."""
    if not policy.merge or not item.has_clone or item.is_merged:
        return Standing(task=item.task, state=ItemState.DONE)
    badly = _ended_badly(item)
    if badly is not None:
        return badly
    if _is_conflict(item.last) and _is_update(item.last):
        reason = "it is completed, and its work conflicts with the project's branch"
        return _asks(item, reason, f"sow task reopen {item.task}")
    if policy.check and not item.check_stands:
        return _wants(item, ItemState.MERGING, Deed.CHECK, in_turn=True)
    if (policy.check and not item.check_passed) or _merge_is_red(item):
        return _asks(item, "it is completed, and a check is red", f"sow task reopen {item.task}")
    return _to_be_merged(item)


def _is_on_its_way(item: ItemFacts, policy: BatchPolicy) -> bool:
    """Whether an item's work is accepted and not yet in the project's branch."""
    if not policy.merge or not item.has_clone or item.is_merged:
        return False
    accepted = item.verdict is ReviewVerdict.ACCEPTED and item.verdict_stands
    return accepted or item.status is TaskStatus.COMPLETED


def rests(found: Standing) -> bool:
    """Whether an item goes on by nobody's doing but a person's."""
    return found.state in AT_REST and found.deed is None
