"""What is known of a batch and its items, and where an item stands, as plain values.

Owns their shape. `gathering` fills in what is known; where an item stands follows from that in
`item`, and what the batch does next in `planning`.
"""

import msgspec

from sow.jobs.batches import JobInBatch
from sow.schema.amounts import ReachedLimit
from sow.schema.batch import Action, ItemState
from sow.schema.job import Verb
from sow.schema.task import ReviewVerdict, TaskStatus


class Dependency(msgspec.Struct, frozen=True, kw_only=True):
    """A task that an item waits for and that is no item of the same batch."""

    task: str
    status: TaskStatus | None
    """None where it cannot be read."""
    is_under_way: bool = False
    """Whether a job of it lives, or another batch drives it."""
    left_in_tree: tuple[str, ...] = ()
    """Files of it that are in no commit, so that no clone begins with them."""
    goes_on: bool = False
    """Whether it comes to its end without a person, as far as can be told."""


class LiveJob(msgspec.Struct, frozen=True, kw_only=True):
    """The job of a task that has not ended."""

    id: int
    verb: Verb
    is_held: bool = False
    """Whether it waits for a person's word (`sow trust`)."""
    waits_for_tasks: bool = False
    """Whether it is held until those that its task depends on are done."""
    action: str | None = None
    """What the batch wanted by it; None of another call's."""
    has_begun: bool = True
    put_off: str = ""
    """What prevents it that passes, where it waits for that; empty where nothing does."""
    waits_for_batch: bool = False
    """Whether it is queued, and nobody takes it while its batch is paused."""


class ItemFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One item. Numbers of jobs are 0 where there is none."""

    task: str
    status: TaskStatus | None
    """None where the task cannot be read; `fault` says why."""
    fault: str = ""
    is_gone: bool = False
    """Whether there is no such task any more."""
    in_batch: tuple[str, ...] = ()
    """The tasks that it waits for and that are items of the same batch."""
    outside: tuple[Dependency, ...] = ()
    waits_for_plan: bool = False
    """Whether it has not begun, and may not before the project's plan is approved and begun."""
    session_started: bool = False
    resumes: bool = True
    """Whether its executor continues a session; else another one begins in the same clone."""
    was_interrupted: bool = False
    """Whether it is paused because its agent was cancelled: it has asked nothing."""
    has_clone: bool = False
    """Whether it has a clone of its own, and so a commit that it began at."""
    clone_is_gone: bool = False
    """Whether somebody has removed that clone; its branch is in the repository still."""
    left_in_tree: tuple[str, ...] = ()
    """Files that were changed while it was done without a clone, and that are in no commit."""
    batch: str = ""
    tree: str = ""
    """The top of the checked-out tree, where there is anything in it to tell of."""
    begins_in_clone: bool = False
    """Whether its batch has a call begin it in a clone."""
    missing: str = ""
    """Why its author's work is not in the repository, though it has ended; empty where it is."""
    is_untaken: bool = False
    """Whether its clone has work that the repository lacks, and nobody is at work there."""
    verdict: ReviewVerdict | None = None
    verdict_stands: bool = False
    """Whether the verdict is about what is there now."""
    taken_back: tuple[str, ...] = ()
    """The commits that were merged into its judged branch, and the project's branch has no more."""
    feedback_is_open: bool = False
    check_passed: bool | None = None
    check_stands: bool = False
    """Whether that check has judged what is there now."""
    is_merged: bool = False
    """Whether the project's branch has its last commit, or on record what was made of that."""
    merge_is_gone: bool = False
    """Whether it was merged, and the project's branch has that no more."""
    is_behind: bool = False
    """Whether the project's branch has something that the task's lacks."""
    live: LiveJob | None = None
    last: JobInBatch | None = None
    """Its newest job that has ended."""
    may_go_on: bool = False
    """Whether a limit has ended that job which has another figure by now, or room again."""
    returns: int = 0
    """How often the work was given back to its author since a person last had a hand in it."""
    changed_nothing: bool = False
    """Whether its author has reported work last and changed nothing."""
    asked_for_change: int = 0
    """How often it was asked about that since a person last had a hand in it."""
    conflicts_handed: int = 0
    """How often a conflict was handed to it since then."""
    vain_reviews: int = 0
    """How many reviews of it in a row have come to nothing, up to its last job."""
    done_last: str | None = None
    """What the batch has done last with it."""
    in_a_row: int = 0
    """How often it did that since anything else was done, or a person had a hand in it."""
    steps: int = 0
    """The number of the newest job that the batch has placed for it."""
    forgiven: int = -1
    """The newest job whose failure a person has forgiven; -1 where none was."""
    refusal: str = ""
    """Why the next action could not be done."""
    refused_by: ReachedLimit | None = None
    """The limit that has refused it."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Where an item stands, and what moves it on."""

    task: str
    state: ItemState
    action: Action | None = None
    reason: str = ""
    is_above_limit: bool = False
    """Whether a limit stops it that a person can raise."""
    command: str = ""
    """What a person can do about it, as a command."""
    has_job: bool = False
    awaits: bool = False
    """Whether it waits for tasks that are no items, and somebody is at work on all of them."""
    step: int = 0
    """The number under which an action of it is placed."""
    in_turn: bool = False
    """Whether it is on the way into the project's branch, where one goes at a time."""


class BatchFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The batch itself."""

    is_paused: bool = False
    turn: str | None = None
    """The item that has the turn to merge."""
    turn_is_elsewhere: bool = False
    """Whether an item of another batch has it."""
    brake: str = ""
    """Why the batch has to be paused; empty where it has not."""
    suspect: str = ""
    """The task whose red check is run on the commit that it began at, before anybody mends it."""
