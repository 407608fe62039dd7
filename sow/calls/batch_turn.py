"""One turn of a batch: look, carry out what follows, look again, until nothing follows.

Owns the order: facts, plan, actions, what is told of the items, the end. Whoever is
killed in the middle is followed by somebody who begins with the first look; what was
done by then is among the facts. Owns, too, whether what was refused would be refused again now:
that the same admission is asked as for the call itself.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from sow.batches.brakes import brake_of_refusals
from sow.batches.gathering import Seen, gather
from sow.batches.item import standing_of
from sow.batches.item_facts import Standing
from sow.batches.planning import Plan, ended_as
from sow.calls.batch_actions import AT_ONCE, Step, do, request_of
from sow.calls.batch_look import LimitsNow, Work, look
from sow.calls.caller import WaitsForItself
from sow.calls.features import LimitIsReached
from sow.calls.idempotency import TaskHasJob
from sow.calls.kinds import AgentIsEnding, call_kind
from sow.errors import QueueError, SowError
from sow.faults import passing_fault
from sow.ids import TaskId
from sow.jobs import batch_news, batch_summaries, batches, changes, doorbell
from sow.jobs.faults import QueueChanged
from sow.schema.batch import AT_WORK, Action, BatchState, ItemState

MOST_TRIES = 5
MOST_LOOKS = 50
"""How often one turn looks: each action done is a fact more, so there is an end."""


class EndlessTurn(Exception):
    """An action was done at each look of a turn, and is wanted as before: it has led to nothing."""

    def __init__(self, task: str, action: Action) -> None:
        super().__init__(
            f"`{action}` of task {task} was done {MOST_LOOKS} times and changed nothing"
        )


def take_turn(work: Work, seen: Seen) -> None:
    """Do all that a batch has to do now. Raises SowError where the machine lacks something.

    Raises EndlessTurn rather than do the same for ever: whoever calls takes turns for others too.
    """
    in_vain: set[tuple[str, Action, int]] | None = None
    for _ in range(MOST_LOOKS):
        upto = changes.newest(work.database).seq
        plan = look(work, seen)
        is_sure = _put_on_record(work, plan, upto)
        has_changed = _carry_out(work, plan.actions, seen)
        if is_sure and not has_changed:
            batch_news.acknowledge(work.database, work.batch.id, upto)
            doorbell.ring_batch(work.caller.workspace, work.batch.id)
            return
        done = _named(plan.actions) if has_changed else set()
        in_vain = done if in_vain is None else in_vain & done
    if in_vain:
        task, action, _ = min(in_vain)
        raise EndlessTurn(task, action)


def _named(actions: Sequence[Standing]) -> set[tuple[str, Action, int]]:
    return {(found.task, found.action, found.step) for found in actions if found.action is not None}


def _put_on_record(work: Work, plan: Plan, upto: int) -> bool:
    """Put on record what a look has found, unless something has happened since it began.

    Then half of it may be older than the rest: a task is marked, and its job is missing. A
    person would be called for nothing, or a batch be ended that has just been given a task.
    """
    with work.database.transaction():
        if changes.newest(work.database).seq != upto:
            return False
        _keep_turn(work, plan)
        tell(work, plan.standings)
        batch_summaries.note_rest(work.database, work.batch.id, rests=plan.rests)
        if plan.pause:
            pause(work, plan.pause)
        elif plan.is_over:
            end(work, BatchState.OVER)
        return True


def _keep_turn(work: Work, plan: Plan) -> None:
    """Give the turn to merge back that an item has which is not on its way any more.

    Asked by whoever drives alone: another's look may be older than the turn.
    """
    turn = batches.turn_of(work.database, work.batch.project_id)
    if turn is not None and turn[0] == work.batch.id and turn[1] != plan.turn:
        batches.give_turn_back(work.database, work.batch, turn[1])


def settle(work: Work, seen: Seen, *, among: Collection[ItemState] = AT_WORK) -> bool:
    """Put on record how the items of a batch have ended that has ended itself; say whether it is.

    Of the items whose record says one of `among`, and whose jobs have ended: what has become of
    the others' tasks since may be another batch's. Nothing is told that may be older than what
    has happened meanwhile.
    """
    upto = changes.newest(work.database).seq
    standings = look(work, seen).standings
    with work.database.transaction():
        if changes.newest(work.database).seq != upto:
            return False
        found = batches.jobs_of(work.database, work.batch.id)
        live = {job.task_id for job in found if not job.state.is_final or job.owes_task}
        items = batches.items_of(work.database, work.batch.id)
        meant = {item.task_id for item in items if item.state in among} - live
        tell(work, [ended_as(each) for each in standings if each.task in meant])
    return True


def tell(work: Work, standings: Sequence[Standing]) -> None:
    """Put on record where the items stand, as far as that is news."""
    known = {item.task_id: item for item in batches.items_of(work.database, work.batch.id)}
    news = [
        found
        for found in standings
        if (item := known.get(TaskId(found.task))) is not None
        and (item.state, item.reason) != (found.state, found.reason)
    ]
    if not news:
        return
    with work.database.transaction():
        for found in news:
            words = {"state": found.state, "reason": found.reason}
            batches.change_item(work.database, work.batch.id, TaskId(found.task), **words)


def pause(work: Work, reason: str) -> None:
    """Begin nothing more of a batch until a person resumes it."""
    _change_running(work, state=BatchState.PAUSED, reason=reason)


def end(work: Work, state: BatchState) -> None:
    """End a batch."""
    _change_running(work, state=state, ended_at=work.caller.now())


def _change_running(work: Work, **changes: Any) -> None:
    """Change a batch, unless a person has paused or cancelled it since the look at it."""
    with work.database.transaction():
        if batches.get_batch(work.database, work.batch.id).state is BatchState.RUNNING:
            batches.change_batch(work.database, work.batch.id, **changes)


def _carry_out(work: Work, actions: Sequence[Standing], seen: Seen) -> bool:
    """Carry out some actions; tell whether anything may have changed by that.

    What is refused is on record as the item's: a person has to see to it. What keeps us from a
    action and passes (a lock that somebody holds, say) is raised when the others are done.
    """
    has_changed = False
    refused: list[tuple[Standing, SowError]] = []
    prevented: SowError | None = None
    for found in actions:
        try:
            has_changed |= _carried_out(work, found)
        except SowError as error:
            passes = passing_fault(error) is not None
            if isinstance(error, QueueChanged) or (passes and isinstance(error, QueueError)):
                raise  # it would be the same for all others
            if passes:
                prevented = prevented or error
            else:
                refused.append((found, error))
                if brake_of_refusals([str(error) for _, error in refused]):
                    break  # the batch is paused by the next look
    if refused:
        _put_refusals_on_record(work, refused, seen)
    if prevented is not None:
        raise prevented
    return has_changed or bool(refused)


def _carried_out(work: Work, found: Standing) -> bool:
    """Carry out one action; tell whether anything may have changed by it. Raises SowError."""
    assert found.action is not None  # noqa: S101 - a plan's actions have one
    task_id = TaskId(found.task)
    if found.in_turn and not batches.take_turn(work.database, work.batch, task_id):
        return False
    try:
        do(work, Step(task_id, Action(found.action), found.step))
    except (TaskHasJob, AgentIsEnding, WaitsForItself):
        return False  # somebody else has called meanwhile: that is a change of its own
    return True


def _put_refusals_on_record(
    work: Work, refused: Sequence[tuple[Standing, SowError]], seen: Seen
) -> None:
    """Say of each item whose action was refused why, unless a new look wants that no more.

    Then something has happened to its task since the old one. One look serves all of them.
    """
    wanted = {(now.task, now.action, now.step) for now in look(work, seen).standings}
    for found, error in refused:
        if (found.task, found.action, found.step) in wanted:
            refusal = f"{error.message}\n{error.hint}".strip()
            reached = error.reached if isinstance(error, LimitIsReached) else None
            fields = {"refusal": refusal, "reached": reached}
            batches.change_item(work.database, work.batch.id, TaskId(found.task), **fields)


def refusals_now(work: Work, seen: Seen) -> Mapping[str, SowError | None]:
    """Return of each item whose next action was refused what refuses it now; None: nothing does.

    One that a limit has refused is left out: that is raised by its own command.
    """
    if not any(item.refusal for item in batches.items_of(work.database, work.batch.id)):
        return {}
    items, _ = gather(work.caller.workspace, work.database, work.batch, seen, LimitsNow(work))
    found: dict[str, SowError | None] = {}
    for item in items:
        if item.refusal and item.refused_by is None:
            wanted = standing_of(replace(item, refusal=""), work.batch.policy)
            found[item.task] = _refusal_of(work, wanted, item.refusal)
    return found


def _refusal_of(work: Work, wanted: Standing, words: str) -> SowError | None:
    """Return what refuses a task's next action; `words` are those of its last refusal.

    What is done at once cannot be asked about without doing it: its last refusal counts.
    """
    if wanted.action is None:
        return None
    if wanted.action in AT_ONCE:
        message, _, hint = words.partition("\n")
        return SowError(message, hint=hint)
    try:
        request = request_of(work, Step(TaskId(wanted.task), wanted.action, wanted.step))
        call_kind(request).admit(work.caller, work.database, work.config, request)
    except SowError as error:
        return None if error.passes else error
    return None
