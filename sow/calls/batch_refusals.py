"""Whether what a batch could not do with a task would be refused again now, and why.

Owns that the same admission is asked as for the call itself. Changes nothing that the call would
not change before it is refused.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from sow.batches.gathering import Seen, gather
from sow.batches.item import standing_of
from sow.batches.item_facts import Standing
from sow.calls.batch_actions import AT_ONCE, LimitsNow, Step, Work, request_of
from sow.calls.kinds import call_kind
from sow.errors import SowError
from sow.ids import TaskId
from sow.jobs import batches


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
