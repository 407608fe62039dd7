"""What a batch does next: where each item stands, and which actions are to be done now.

Owns what the items mean to each other: dependencies, limits, the turn to merge, the
end; and who is merged next. Each merge is brought up to date and checked in its turn, so
those behind it wait: the task that most others wait for goes first. Where one item stands
by itself is `item`. Pure: facts and a policy come in, standings and actions go out.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from sow.batches.item import needs_person_for_check, standing_of
from sow.batches.item_facts import BatchFacts, ItemFacts, Standing
from sow.schema.batch import AT_WORK, ENDED, OF_AGENTS, Action, ItemState
from sow.schema.batch_policy import BatchPolicy
from sow.schema.kinds import KINDS

LEFT = "its batch ended first"
STOPPED = "another task failed, and the batch stops at the first failure (--fail-fast)"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What follows for a whole batch."""

    standings: tuple[Standing, ...]
    actions: tuple[Standing, ...] = ()
    """Those whose action is to be done now."""
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
            and not self.actions
            and not any(found.has_job or found.awaits for found in self.standings)
        )


def next_actions(items: Sequence[ItemFacts], policy: BatchPolicy, batch: BatchFacts) -> Plan:
    """Return where each item stands and what is to be done now."""
    standings = _with_dependencies(items, policy)
    if policy.fail_fast and any(found.state is ItemState.FAILED for found in standings):
        standings = list(map(_stopped, standings, items))
    turn = _turn(standings, items, batch)
    if batch.is_paused or batch.brake:
        held = tuple(map(_held, standings, items))
        return Plan(standings=held, turn=turn, pause=batch.brake)
    by_task = {item.task: item for item in items}
    standings = [_looked_into(found, by_task[found.task], policy, batch) for found in standings]
    wanted = [found for found in standings if found.action is not None]
    actions = [found for found in wanted if not found.in_turn or found.task == turn]
    actions = list(_within(actions, _at_work(items), policy.max_parallel))
    # A batch whose last task was taken out has come to no end: another may be added.
    is_over = bool(standings) and all(found.state in ENDED for found in standings) and not wanted
    return Plan(
        standings=tuple(standings),
        actions=tuple(actions),
        turn=turn,
        is_over=is_over,
        waits_for_turn=batch.turn_is_elsewhere and any(found.in_turn for found in wanted),
    )


def ended_as(found: Standing) -> Standing:
    """Return how an item has ended whose batch has: with that, what was begun goes on no more."""
    if found.state not in AT_WORK:
        return found
    return Standing(task=found.task, state=ItemState.WAITING, reason=LEFT)


def _held(found: Standing, item: ItemFacts) -> Standing:
    """Return how an item stands whose batch is paused: what has not begun does not begin."""
    waits = item.live is not None and item.live.waits_for_batch
    has_job = found.has_job and not waits
    return msgspec.structs.replace(found, action=None, has_job=has_job, awaits=False)


def _looked_into(
    found: Standing, item: ItemFacts, policy: BatchPolicy, batch: BatchFacts
) -> Standing:
    """Return that a red check is looked into first, where many are red in a row.

    Before its author mends it, and before a person is asked who would be sent to look at the
    work: where the same check is red without that, all tasks to come would end alike.
    """
    is_suspect = batch.suspect == found.task and item.has_clone
    if not is_suspect or not (
        found.action is Action.MEND or needs_person_for_check(found, item, policy)
    ):
        return found
    return msgspec.structs.replace(
        found,
        action=Action.CHECK_BASE,
        state=ItemState.CHECKING,
        reason="",
        command="",
        step=item.steps + 1,
    )


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


def first_to_merge(ready: Sequence[str], items: Sequence[ItemFacts]) -> str | None:
    """Return which of the tasks that are ready is merged first; of equals, the first of them."""
    if len(ready) < 2:
        return next(iter(ready), None)
    after: defaultdict[str, list[str]] = defaultdict(list)
    for item in items:
        for other in item.in_batch:
            after[other].append(item.task)
    return max(ready, key=lambda task: _waiting_for(task, after))


def _waiting_for(task: str, after: Mapping[str, Sequence[str]]) -> int:
    """Return how many tasks wait for one, by whatever way."""
    found: set[str] = set()
    way = [task]
    while way:
        for other in after.get(way.pop(), ()):
            if other not in found:
                found.add(other)
                way.append(other)
    return len(found)


def _within(actions: Sequence[Standing], at_work: int, most: int | None) -> Iterator[Standing]:
    """Yield the actions that the limit of agents allows, those of begun tasks before new ones."""
    for found in sorted(actions, key=lambda found: found.action is Action.SPAWN):
        if found.action in OF_AGENTS:
            if most is not None and at_work >= most:
                continue
            at_work += 1
        yield found


def _at_work(items: Sequence[ItemFacts]) -> int:
    """Return how many agents count against the limit: none that waits for another task's."""
    jobs = [item.live for item in items if item.live and not item.live.waits_for_tasks]
    return sum(1 for job in jobs if KINDS[job.verb].is_agents)


def _stopped(found: Standing, item: ItemFacts) -> Standing:
    """Return what becomes of an item that has not begun where another has failed."""
    is_queued = _is_queued(item)
    if is_queued or found.action is Action.SPAWN or _only_waits(found):
        action, step = (Action.WITHDRAW, item.steps + 1) if is_queued else (None, 0)
        state = ItemState.BLOCKED
        return Standing(task=found.task, state=state, reason=STOPPED, action=action, step=step)
    return found


def _is_queued(item: ItemFacts) -> bool:
    """Whether the batch has queued an item's first job, and that has never begun."""
    job = item.live
    waits = job is not None and job.waits_for_batch and not job.has_begun
    return waits and job is not None and job.action == Action.SPAWN


def _only_waits(found: Standing) -> bool:
    return found.state is ItemState.WAITING and not found.has_job


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
