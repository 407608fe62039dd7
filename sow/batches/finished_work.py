"""What follows for work that its author has left: checks, a review, corrections, the merge.

Owns that half of an item's way, from `needs_review` to merged. Pure.
"""

from sow.batches.deeds import Deed, Standing
from sow.batches.facts import EndedJob, ItemFacts
from sow.batches.wishes import asks, commit_first, resume, wants
from sow.lifecycle.task_ways import bringing_back, solving_now
from sow.reports.budgets import command_of
from sow.schema.batch import Accept, BatchPolicy, ItemState
from sow.schema.causes import Cause
from sow.schema.job import JobState
from sow.schema.kinds import KINDS
from sow.schema.task import ReviewVerdict, TaskStatus

MOST_UPDATES = 10
"""So many updates in a row come to nothing: somebody moves the project's branch all the time, or
something is wrong with the clone. A person is asked rather than going on for ever."""
FOLLOWED = frozenset({Cause.CHECK_FAILED, Cause.MERGE_CONFLICT})
"""Why a job without an agent can fail so that the loop knows what follows."""


def needs_review(item: ItemFacts, policy: BatchPolicy) -> Standing:
    """Return where an item stands whose task waits to be judged."""
    return (
        _has_what_was_taken_back(item)
        or _ended_badly(item)
        or _conflict(item)
        or _to_be_judged(item, policy)
    )


def asks_about_check(found: Standing, item: ItemFacts, policy: BatchPolicy) -> bool:
    """Whether a person is asked because a check is red that was given back too often."""
    is_judged = item.status is TaskStatus.NEEDS_REVIEW and item.live is None and not item.refusal
    return is_judged and found == _given_back(item, policy, Deed.MEND)


def completed(item: ItemFacts, policy: BatchPolicy) -> Standing:
    """Return what is left to do for a completed task: to merge it, where that is asked for."""
    if policy.merge and item.left_in_tree:
        return commit_first(item, item.task, item.left_in_tree)
    if not policy.merge or not item.has_clone or item.is_merged:
        return Standing(task=item.task, state=ItemState.DONE)
    if item.merge_is_gone:
        return _merge_again(item)
    badly = _ended_badly(item)
    if badly is not None:
        return badly
    if _is_conflict(item.last) and _is_update(item.last):
        reason = "it is completed, and its work conflicts with the project's branch"
        return asks(item, reason, f"sow task reopen {item.task}")
    if policy.check and not item.check_stands:
        return wants(item, ItemState.MERGING, Deed.CHECK, in_turn=True)
    if (policy.check and not item.check_passed) or _merge_is_red(item):
        return asks(item, "it is completed, and a check is red", f"sow task reopen {item.task}")
    return _to_be_merged(item)


def is_on_its_way(item: ItemFacts, policy: BatchPolicy) -> bool:
    """Whether an item's work is accepted and not yet in the project's branch."""
    if not policy.merge or not item.has_clone or item.is_merged:
        return False
    accepted = item.verdict is ReviewVerdict.ACCEPTED and item.verdict_stands
    return accepted or item.status is TaskStatus.COMPLETED


def _ended_badly(item: ItemFacts) -> Standing | None:
    """Return what an item wants whose last job came to nothing that the loop could act on."""
    last = item.last
    if last is None or last.id <= item.forgiven or KINDS[last.verb].makes_work or last.may_go_on:
        return None
    if last.cancel_asked and last.state is JobState.CANCELLED:
        return asks(item, f"job {last.id} ({last.verb.value}) was cancelled", "")
    if last.state is JobState.FAILED and last.cause not in FOLLOWED:
        words = last.reason or last.cause or "it failed"
        return asks(
            item, f"the {last.verb.value} came to nothing: {words}", command_of(last.reached)
        )
    return None


def _conflict(item: ItemFacts) -> Standing | None:
    """Return what becomes of a conflict that an update has left in the clone."""
    last = item.last
    if not _is_conflict(last) or not _is_update(last):
        return None
    if item.conflicts_handed:
        words = item.last.reason if item.last is not None else ""
        known = words.partition("\n")[0] or "its work conflicts with the project's branch"
        reason = f"{known}; its agent has tried once"
        return asks(item, reason, solving_now(item.task, resumes=item.resumes))
    return wants(item, ItemState.CORRECTING, Deed.SOLVE)


def _is_conflict(last: EndedJob | None) -> bool:
    failed = last is not None and last.state is JobState.FAILED
    return failed and last is not None and last.cause == Cause.MERGE_CONFLICT


def _is_update(last: EndedJob | None) -> bool:
    return last is not None and KINDS[last.verb].step == "update"


def _to_be_judged(item: ItemFacts, policy: BatchPolicy) -> Standing:
    """Return what follows for work that its author has left for review."""
    if item.is_untaken:
        return wants(item, ItemState.CHECKING, Deed.TAKE_UP)
    if item.missing:
        return asks(item, item.missing, resume(item))
    if item.verdict is ReviewVerdict.CORRECTIONS and item.feedback_is_open:
        return _given_back(item, policy, Deed.CORRECT)
    accepted = item.verdict is ReviewVerdict.ACCEPTED and item.verdict_stands
    judges = policy.check or policy.review
    if judges and item.changed_nothing and not item.asked_for_change and not accepted:
        return wants(item, ItemState.CORRECTING, Deed.ASK_FOR_CHANGE)
    if policy.check and not item.check_stands and item.clone_is_gone:
        return _without_clone(item)
    if policy.check and not item.check_stands:
        in_turn = is_on_its_way(item, policy)
        state = ItemState.MERGING if in_turn else ItemState.CHECKING
        return wants(item, state, Deed.CHECK, in_turn=in_turn)
    if policy.check and not item.check_passed:
        return _given_back(item, policy, Deed.MEND)
    if accepted:
        return _accepted(item, policy)
    if policy.review:
        return wants(item, ItemState.IN_REVIEW, Deed.REVIEW)
    if policy.accept is Accept.CHECK and policy.check:
        return wants(item, ItemState.CHECKING, Deed.ACCEPT)
    reason = "its work waits for your verdict"
    return asks(item, reason, f'sow review accept {item.task} --summary "…"')


def _without_clone(item: ItemFacts) -> Standing:
    """Return what an item wants that is to be checked or updated, and whose clone is gone."""
    words = "its clone was removed, in which it is to be checked and brought up to date"
    is_over = item.status is TaskStatus.COMPLETED  # and its session with it
    command = f"sow task reopen {item.task}" if is_over else resume(item)
    return asks(item, f"{words}; its agent has it again when it goes on", command)


def _has_what_was_taken_back(item: ItemFacts) -> Standing | None:
    """Return that a person is asked before a merge brings back what somebody has taken back."""
    if not item.taken_back:
        return None
    named = ", ".join(commit[:12] for commit in item.taken_back)
    reason = f"its branch has commits that the project's branch has no more: {named}"
    words = f"{reason}\n{bringing_back(item.task)}"
    return asks(item, words, f'sow review accept {item.task} --summary "…"')


def _given_back(item: ItemFacts, policy: BatchPolicy, deed: Deed) -> Standing:
    """Return that the author is to correct its work, unless it has been given back too often."""
    if item.returns < policy.max_iterations:
        return wants(item, ItemState.CORRECTING, deed)
    red = deed is Deed.MEND
    what = "a check is still red" if red else "its reviewer still asks for corrections"
    times = f"{item.returns} return{'' if item.returns == 1 else 's'} to its author"
    command = resume(item) if red else f"sow review show {item.task}"
    return asks(item, f"{what} after {times}", command)


def _accepted(item: ItemFacts, policy: BatchPolicy) -> Standing:
    """Return what follows for work that is accepted, and checked where that is asked for."""
    if policy.merge and item.left_in_tree:
        return commit_first(item, item.task, item.left_in_tree)
    if not policy.merge or not item.has_clone or item.is_merged:
        return wants(item, ItemState.MERGING, Deed.COMPLETE)
    if item.merge_is_gone:
        return _merge_again(item)
    if _merge_is_red(item):
        return _given_back(item, policy, Deed.MEND)
    return _to_be_merged(item)


def _merge_again(item: ItemFacts) -> Standing:
    """Return that a person is asked about work that was merged and taken back: only one knows."""
    reason = "its work was merged, and the project's branch has it no more"
    return asks(item, reason, f"sow merge {item.task}")


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
        return asks(item, reason, f"sow clone update {item.task}")
    if item.is_behind and item.clone_is_gone:
        return _without_clone(item)
    if item.is_behind:
        return wants(item, ItemState.MERGING, Deed.UPDATE, in_turn=True)
    last = item.last
    if last is not None and _is_conflict(last) and last.id > item.forgiven:
        return asks(item, f"it cannot be merged: {last.reason}", f"sow merge {item.task}")
    return wants(item, ItemState.MERGING, Deed.MERGE, in_turn=True)
