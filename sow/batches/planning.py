"""What a batch does next: where each item stands, and which deeds are to be done now.

Owns what the items mean to each other: dependencies, limits, the turn to merge, the
end. Where one item stands by itself is `item_standing`. Pure: facts and a policy come
in, standings and deeds go out.
"""

from collections.abc import Iterator, Sequence

import msgspec

from sow.batches.deeds import OF_AGENTS, Deed, Plan, Standing
from sow.batches.facts import BatchFacts, ItemFacts
from sow.batches.finished_work import asks_about_check
from sow.batches.item_standing import standing_of
from sow.batches.merge_order import first_to_merge
from sow.schema.batch import AT_WORK, ENDED, BatchPolicy, ItemState
from sow.schema.kinds import KINDS

LEFT = "its batch has ended before it was done"
STOPPED = "another task has failed, and the batch stops at the first (--fail-fast)"


def next_deeds(items: Sequence[ItemFacts], policy: BatchPolicy, batch: BatchFacts) -> Plan:
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
    wanted = [found for found in standings if found.deed is not None]
    deeds = [found for found in wanted if not found.in_turn or found.task == turn]
    deeds = list(_within(deeds, _at_work(items), policy.max_parallel))
    # A batch whose last task was taken out has come to no end: another may be added.
    is_over = bool(standings) and all(found.state in ENDED for found in standings) and not wanted
    return Plan(
        standings=tuple(standings),
        deeds=tuple(deeds),
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
    return msgspec.structs.replace(found, deed=None, has_job=has_job, awaits=False)


def _looked_into(
    found: Standing, item: ItemFacts, policy: BatchPolicy, batch: BatchFacts
) -> Standing:
    """Return that a red check is looked into first, where many are red in a row.

    Before its author mends it, and before a person is asked who would be sent to look at the
    work: where the same check is red without that, all tasks to come would end alike.
    """
    is_suspect = batch.suspect == found.task and item.has_clone
    if not is_suspect or not (found.deed is Deed.MEND or asks_about_check(found, item, policy)):
        return found
    return msgspec.structs.replace(
        found,
        deed=Deed.CHECK_BASE,
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


def _stopped(found: Standing, item: ItemFacts) -> Standing:
    """Return what becomes of an item that has not begun where another has failed."""
    is_queued = _is_queued(item)
    if is_queued or found.deed is Deed.SPAWN or _only_waits(found):
        deed, step = (Deed.WITHDRAW, item.steps + 1) if is_queued else (None, 0)
        state = ItemState.BLOCKED
        return Standing(task=found.task, state=state, reason=STOPPED, deed=deed, step=step)
    return found


def _is_queued(item: ItemFacts) -> bool:
    """Whether the batch has queued an item's first job, and that has never begun."""
    job = item.live
    waits = job is not None and job.waits_for_batch and not job.has_begun
    return waits and job is not None and job.deed == Deed.SPAWN


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
