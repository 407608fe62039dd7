"""One item of a batch: where it stands, what is done with it next, what a person is asked for.

Owns the way of an item, in reading order: its author works, its work is checked, reviewed and
merged, and the ways to put where it stands. Pure: the same facts always lead to the same
standing, so that a worker which was killed is followed by one that goes on.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from sow.batches.item_facts import Dependency, ItemFacts, LiveJob, Standing
from sow.batches.item_history import are_alike
from sow.jobs.batches import JobInBatch
from sow.lifecycle.lifecycle_facts import WAY_TO_PLAN
from sow.lifecycle.project_verdict import ENOUGH
from sow.lifecycle.refusal_steps import committing
from sow.lifecycle.task_ways import bringing_back, solving_now
from sow.reports.limits import command_of, option_of
from sow.schema.amounts import ReachedLimit
from sow.schema.batch import Action, ItemState
from sow.schema.batch_policy import Accept, BatchPolicy
from sow.schema.causes import RAISABLE, Cause
from sow.schema.job import JobState
from sow.schema.kinds import KINDS, JobKind
from sow.schema.task import ReviewVerdict, TaskStatus
from sow.terminal_text import printable, readable

MOST_NAMED = 5
MOST_IN_A_ROW, MOST_REVIEWS = 10, 5
"""How often one action is done in a row. So many have come to nothing: somebody moves the branches
all the time, something is wrong with the clone, or a host says what is refused at home. A person is
asked then, for it would never end."""
FOLLOWED = frozenset({Cause.CHECK_FAILED, Cause.MERGE_CONFLICT})
"""Why a job without an agent can fail so that the loop knows what follows."""


def standing_of(
    item: ItemFacts, policy: BatchPolicy, before: Mapping[str, Standing] | None = None
) -> Standing:
    """Return where one item stands; `before` are the items that it waits for."""
    if item.status is None:
        remove, show = f"sow batch remove {item.batch} {item.task}", f"sow task show {item.task}"
        return needs_person(item, item.fault, remove if item.is_gone else show)
    if item.live is not None:
        return _with_job(item, item.live, policy)
    if item.refusal:
        return above_limit(item, item.refusal, item.refused_by)
    if item.waits_for_plan:
        return needs_person(item, "the project's plan is not approved and started", WAY_TO_PLAN)
    match item.status:
        case TaskStatus.PENDING:
            return _pending(item, before or {})
        case TaskStatus.IN_PROGRESS:
            reason = "it is in progress, but no agent is working on it"
            return _taken_up_again(item) or needs_person(item, reason, resume(item))
        case TaskStatus.PAUSED:
            return _interrupted(item) or needs_person(
                item, "its agent asks a question", answer(item)
            )
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
        reason = "its command lines wait for your approval (`sow trust`)"
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
        if live.action not in (None, Action.SPAWN, Action.GO_ON):
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
        return needs_person(item, f"job {last.id} was cancelled", spawn(item))
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
    return advance(item, ItemState.WAITING, Action.SPAWN)


def _waiting(item: ItemFacts, waits: Sequence[str], outside: Sequence[Dependency]) -> Standing:
    """Return where an item stands that waits for others; who is to see to those, if somebody is."""
    reason, command = f"waits for {', '.join(waits)}", ""
    idle = next((other for other in outside if not other.goes_on), None)
    if idle is not None:
        reason += f"; no agent is working on task {idle.task} ({idle.status or 'removed'})"
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
        return f"task {other.task}, which it depends on, is {other.status or 'removed'}"
    return ""


def _taken_up_again(item: ItemFacts) -> Standing | None:
    """Return that an item goes on whose last end a person has forgiven, or paid for."""
    if not _is_forgiven(item) and not item.may_go_on:
        return None
    action = Action.GO_ON if item.session_started else Action.SPAWN
    return advance(item, ItemState.RUNNING, action)


def _is_forgiven(item: ItemFacts) -> bool:
    return item.forgiven >= 0 and (item.last is None or item.last.id <= item.forgiven)


def _interrupted(item: ItemFacts) -> Standing | None:
    """Return what becomes of an item whose agent was cancelled; None where it asks a question.

    What was cancelled before it belonged to the batch is wanted again: so it was named.
    """
    if not item.was_interrupted:
        return None
    if item.last is None:
        action = Action.GO_ON if item.session_started else Action.SPAWN
        return advance(item, ItemState.RUNNING, action)
    reason = f"job {item.last.id} was cancelled"
    return _taken_up_again(item) or needs_person(item, reason, resume(item))


def _failed(item: ItemFacts) -> Standing:
    """Return where an item stands whose task has failed; a limit can be raised by a person."""
    last = item.last
    if last is not None and last.cause in RAISABLE:
        return above_limit(item, last.reason, last.reached)
    return Standing(
        task=item.task,
        state=ItemState.FAILED,
        reason=last.reason
        if last is not None and last.reason
        else "its agent reported that it failed",
        command=run_again(item),
    )


def needs_review(item: ItemFacts, policy: BatchPolicy) -> Standing:
    """Return where an item stands whose task waits to be judged."""
    return (
        _has_what_was_taken_back(item)
        or _ended_badly(item)
        or _conflict(item)
        or _to_be_judged(item, policy)
    )


def needs_person_for_check(found: Standing, item: ItemFacts, policy: BatchPolicy) -> bool:
    """Whether a person is asked because a check is red that was given back too often."""
    is_judged = item.status is TaskStatus.NEEDS_REVIEW and item.live is None and not item.refusal
    return is_judged and found == _given_back(item, policy, Action.MEND)


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
        return needs_person(item, reason, f"sow task reopen {item.task}")
    if policy.check and not item.check_stands:
        return advance(item, ItemState.MERGING, Action.CHECK, in_turn=True)
    if (policy.check and not item.check_passed) or _merge_is_red(item):
        return needs_person(
            item, "it is completed, but a check failed", f"sow task reopen {item.task}"
        )
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
    if last is None or last.id <= item.forgiven or KINDS[last.verb].makes_work or item.may_go_on:
        return None
    if last.cancel_asked and last.state is JobState.CANCELLED:
        return needs_person(item, f"job {last.id} ({last.verb.value}) was cancelled", "")
    if last.state is JobState.FAILED and last.cause not in FOLLOWED:
        words = last.reason or last.cause or "it failed"
        if item.vain_reviews >= ENOUGH:
            reason = f"{item.vain_reviews} reviews have come to nothing, so judge it yourself"
            return needs_person(item, f"{reason}: {words}", accept(item))
        reason = f"the {last.verb.value} job failed: {words}"
        found = needs_person(item, reason, command_of(last.reached))
        return replace(found, is_above_limit=last.reached is not None)
    return None


def _conflict(item: ItemFacts) -> Standing | None:
    """Return what becomes of a conflict that an update has left in the clone."""
    last = item.last
    if not _is_conflict(last) or not _is_update(last):
        return None
    if item.conflicts_handed:
        words = item.last.reason if item.last is not None else ""
        known = words.partition("\n")[0] or "its work conflicts with the project's branch"
        reason = f"{known}; its agent tried once to solve it"
        return needs_person(item, reason, solving_now(item.task, resumes=item.resumes))
    return advance(item, ItemState.CORRECTING, Action.SOLVE)


def _is_conflict(last: JobInBatch | None) -> bool:
    return last is not None and last.state is JobState.FAILED and last.cause == Cause.MERGE_CONFLICT


def _is_update(last: JobInBatch | None) -> bool:
    return last is not None and KINDS[last.verb].updates_clone


def _to_be_judged(item: ItemFacts, policy: BatchPolicy) -> Standing:
    """Return what follows for work that its author has left for review."""
    if item.is_untaken:
        return advance(item, ItemState.CHECKING, Action.TAKE_UP)
    if item.missing:
        return needs_person(item, item.missing, resume(item))
    if item.verdict is ReviewVerdict.CORRECTIONS and item.feedback_is_open:
        return _given_back(item, policy, Action.CORRECT)
    accepted = item.verdict is ReviewVerdict.ACCEPTED and item.verdict_stands
    judges = policy.check or policy.review
    if judges and item.changed_nothing and not item.asked_for_change and not accepted:
        return advance(item, ItemState.CORRECTING, Action.ASK_FOR_CHANGE)
    if policy.check and not item.check_stands and item.clone_is_gone:
        return _without_clone(item)
    if policy.check and not item.check_stands:
        in_turn = is_on_its_way(item, policy)
        state = ItemState.MERGING if in_turn else ItemState.CHECKING
        return advance(item, state, Action.CHECK, in_turn=in_turn)
    if policy.check and not item.check_passed:
        return _given_back(item, policy, Action.MEND)
    if accepted:
        return _accepted(item, policy)
    if policy.review:
        return advance(item, ItemState.IN_REVIEW, Action.REVIEW)
    if policy.accept is Accept.CHECK and policy.check:
        return advance(item, ItemState.CHECKING, Action.ACCEPT)
    return needs_person(item, "its work waits for your review", accept(item))


def _without_clone(item: ItemFacts) -> Standing:
    """Return what an item wants that is to be checked or updated, and whose clone is gone."""
    words = "its clone was removed, but checks and updates need it"
    is_over = item.status is TaskStatus.COMPLETED  # and its session with it
    command = f"sow task reopen {item.task}" if is_over else resume(item)
    return needs_person(item, f"{words}; it is created again when its agent continues", command)


def _has_what_was_taken_back(item: ItemFacts) -> Standing | None:
    """Return that a person is asked before a merge brings back what somebody has taken back."""
    if not item.taken_back:
        return None
    named = ", ".join(commit[:12] for commit in item.taken_back)
    reason = f"its branch has commits that the project's branch no longer has: {named}"
    words = f"{reason}\n{bringing_back(item.task)}"
    return needs_person(item, words, accept(item))


def _given_back(item: ItemFacts, policy: BatchPolicy, action: Action) -> Standing:
    """Return that the author is to correct its work, unless it has been given back too often."""
    if item.returns < policy.max_iterations:
        return advance(item, ItemState.CORRECTING, action)
    red = action is Action.MEND
    what = "a check still fails" if red else "its reviewer still asks for corrections"
    times = f"{item.returns} return{'' if item.returns == 1 else 's'} to its author"
    command = resume(item) if red else f"sow review show {item.task}"
    return needs_person(item, f"{what} after {times}", command)


def _accepted(item: ItemFacts, policy: BatchPolicy) -> Standing:
    """Return what follows for work that is accepted, and checked where that is asked for."""
    if policy.merge and item.left_in_tree:
        return commit_first(item, item.task, item.left_in_tree)
    if not policy.merge or not item.has_clone or item.is_merged:
        return advance(item, ItemState.MERGING, Action.COMPLETE)
    if item.merge_is_gone:
        return _merge_again(item)
    if _merge_is_red(item):
        return _given_back(item, policy, Action.MEND)
    return _to_be_merged(item)


def _merge_again(item: ItemFacts) -> Standing:
    """Return that a person is asked about work that was merged and taken back: only one knows."""
    reason = "its work was merged, but the project's branch no longer has it"
    return needs_person(item, reason, f"sow merge {item.task}")


def _merge_is_red(item: ItemFacts) -> bool:
    """Whether the check of the merge's result was red, and nobody has gone on from there."""
    last = item.last
    return (
        last is not None
        and KINDS[last.verb].merges
        and last.cause == Cause.CHECK_FAILED
        and last.id > item.forgiven
    )


def _to_be_merged(item: ItemFacts) -> Standing:
    if item.is_behind and item.clone_is_gone:
        return _without_clone(item)
    if item.is_behind:
        return advance(item, ItemState.MERGING, Action.UPDATE, in_turn=True)
    last = item.last
    if last is not None and _is_conflict(last) and last.id > item.forgiven:
        return needs_person(item, f"it cannot be merged: {last.reason}", f"sow merge {item.task}")
    return advance(item, ItemState.MERGING, Action.MERGE, in_turn=True)


def advance(
    item: ItemFacts, state: ItemState, action: Action, *, in_turn: bool = False
) -> Standing:
    """Return that an action takes an item on; a person, where it has too often come to nothing."""
    most = MOST_REVIEWS if action is Action.REVIEW else MOST_IN_A_ROW
    if item.in_a_row >= most and are_alike(action, item.done_last):
        return _in_vain(item, action)
    return Standing(
        task=item.task, state=state, action=action, step=item.steps + 1, in_turn=in_turn
    )


def _in_vain(item: ItemFacts, action: Action) -> Standing:
    """Return that a person is asked about what was done again and again without an effect."""
    match action:
        case Action.REVIEW:
            what, command = "reviews", accept(item)
        case Action.CHECK:
            what, command = "checks", f"sow task check {item.task}"
        case Action.UPDATE:
            what, command = "updates", f"sow clone update {item.task}"
        case Action.MERGE:
            what, command = "merges", f"sow merge {item.task}"
        case Action.SPAWN:
            what, command = "jobs of its author", spawn(item)
        case _:
            what, command = "jobs of its author", resume(item)
    last = item.last.warnings[-1:] if item.last is not None else ()
    words = ": ".join((f"{item.in_a_row} {what} in a row have come to nothing", *last))
    advice = "; judge it yourself" if action is Action.REVIEW else ""
    return needs_person(item, f"{words}{advice}", command)


def needs_person(item: ItemFacts, reason: str, command: str) -> Standing:
    """Return that an item waits for a person, and for which command."""
    return Standing(task=item.task, state=ItemState.NEEDS_PERSON, reason=reason, command=command)


def answer(item: ItemFacts) -> str:
    """Return the command that answers the question of an item's agent."""
    return f'sow agent answer {item.task} "…"' if item.resumes else _anew(item, "…")


def accept(item: ItemFacts) -> str:
    """Return the command by which a person accepts an item's work."""
    return f'sow review accept {item.task} --summary "…"'


def resume(item: ItemFacts) -> str:
    """Return the command that has an item's author go on."""
    return f'sow agent resume {item.task} "…"' if item.resumes else _anew(item, "…")


def _anew(item: ItemFacts, words: str) -> str:
    """Return the command that begins another session of an item, in its clone if it has one."""
    return f'sow agent spawn {item.task} --fresh --prompt "{words}"'


def run_again(item: ItemFacts) -> str:
    """Return the command that has an author work on an item again, in its session if it has one."""
    return resume(item) if item.session_started else spawn(item)


def spawn(item: ItemFacts) -> str:
    """Return the command that begins an item, where its batch would have it done."""
    apart = " --clone" if item.begins_in_clone and not item.has_clone else ""
    return f"sow agent spawn {item.task}{apart}"


def commit_first(item: ItemFacts, task: str, paths: Sequence[str]) -> Standing:
    """Return that a person commits what lies in the working tree alone: no merge brings it."""
    names = ", ".join(printable(readable(path)) for path in paths[:MOST_NAMED])
    more = f" and {len(paths) - MOST_NAMED} more" * (len(paths) > MOST_NAMED)
    whose = "it" if task == item.task else f"task {task}"
    reason = f"{whose} was done without a clone and is not committed: {names}{more}"
    return needs_person(
        item, reason, f"{committing(paths, item.tree)} && sow batch resume {item.batch}"
    )


def above_limit(item: ItemFacts, reason: str, reached: ReachedLimit | None) -> Standing:
    """Return what an item needs that a limit stops; that of a task is raised by a call."""
    option = option_of(reached)
    call = f"{run_again(item)} {option}" if option else command_of(reached)
    found = needs_person(item, reason, call)
    return replace(found, is_above_limit=reached is not None)
