"""How it is put where an item stands: what is to be done with it, or what a person is asked for.

Owns the commands that a person is named. When which of these is right is
`item_standing`'s and `finished_work`'s. Pure.
"""

from collections.abc import Sequence

from sow.batches.deeds import Deed, Standing
from sow.batches.facts import ItemFacts
from sow.lifecycle.refusal_steps import committing
from sow.reports.budgets import command_of, option_of
from sow.schema.batch import ItemState
from sow.schema.budget import ReachedBudget
from sow.terminal_text import readable

MOST_NAMED = 5


def wants(item: ItemFacts, state: ItemState, deed: Deed, *, in_turn: bool = False) -> Standing:
    """Return that a deed takes an item on."""
    return Standing(task=item.task, state=state, deed=deed, step=item.steps + 1, in_turn=in_turn)


def asks(item: ItemFacts, reason: str, command: str) -> Standing:
    """Return that an item waits for a person, and for which command."""
    return Standing(task=item.task, state=ItemState.NEEDS_PERSON, reason=reason, command=command)


def answer(item: ItemFacts) -> str:
    """Return the command that answers the question of an item's agent."""
    return f'sow agent answer {item.task} "…"' if item.resumes else _anew(item, "…")


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
    names = ", ".join(map(readable, paths[:MOST_NAMED]))
    more = f" and {len(paths) - MOST_NAMED} more" * (len(paths) > MOST_NAMED)
    whose = "it" if task == item.task else f"task {task}"
    reason = f"{whose} was done without a clone, and is in no commit: {names}{more}"
    return asks(item, reason, f"{committing(paths, item.tree)} && sow batch resume {item.batch}")


def with_more_budget(item: ItemFacts, reason: str, reached: ReachedBudget | None) -> Standing:
    """Return what an item wants whose budget is used up; that of a task is raised by a call."""
    option = option_of(reached)
    call = f"{run_again(item)} {option}" if option else command_of(reached)
    return asks(item, reason, call)
