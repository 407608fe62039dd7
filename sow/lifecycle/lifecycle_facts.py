"""What the guards of a project's lifecycle are asked about: how it stands, as plain values.

Owns the structs alone. They are gathered by `sow.situation`; nothing here
reads a file, so that every guard can be asked of any standing.
"""

from collections.abc import Sequence
from functools import cached_property

from msgspec import Struct


class Remedy(Struct, frozen=True):
    """A command that meets a guard, or takes a task on. `<…>` is the reader's to fill in."""

    command: str
    why: str


WAY_TO_PLAN = "sow next"
"""What leads to the beginning of the plan: which command that is depends on the whole project."""


class TaskFacts(Struct, frozen=True):
    """How one task stands, for the guards, and for what would take it on."""

    id: str
    status: str
    depends_on: tuple[str, ...] = ()
    phase: str = "implementation"
    is_unmerged: bool = False
    """Whether it is completed, has a clone, and its work is not in the project's branch."""
    is_approved: bool = False
    """Whether its description is approved as it stands; asked of work units alone."""
    is_published: bool = False
    """Whether the file that it is published as holds what it says; asked of work units alone."""
    is_at_work: bool = False
    """Whether a job of it has not ended, and is not held."""
    waits_for_reader: bool = False
    """Whether its agent is who asks, or waits for that one."""
    held_for: str = ""
    """What a job of it is held for: `trust` or `dependencies`; empty where none is."""
    batch: int = 0
    """The batch that goes on and drives it; 0 where none does."""
    batch_label: str = ""
    """What a command calls that batch; its number where this is empty."""
    waits_for_plan: bool = False
    """Whether it has not begun, and may not before the project's plan is approved and begun."""
    has_session: bool = False
    """Whether a session of it has begun."""
    can_resume: bool = True
    """Whether the CLI that made its session can go on with it."""
    verdict: str = ""
    """The last verdict on its work, `accepted` or `corrections`; empty where there is none."""
    verdict_holds: bool = False
    """Whether the work is still what was judged."""
    feedback_is_open: bool = False
    """Whether corrections are asked for that its author has not been given yet."""
    has_clone: bool = False
    clone: str = ""
    """What is in the way of merging its clone's work: `behind` the project's branch, which it
    conflicts with, in `conflict`, where that was brought into the clone, `untaken`, where the
    clone alone has its branch, or `gone`, branch and all; empty where nothing is."""
    in_the_way: tuple[Remedy, ...] = ()
    """What helps against the refusal of its last merge, where that would be refused again."""
    check: str = ""
    """What its checks say of its work as it stands: `green`, `red`, or `missing` where they have
    not judged it; empty where it has none, or they cannot be run."""
    ended: str = ""
    """The cause of its last job, where that has come to nothing; else empty."""
    ended_in_merge: bool = False
    """Whether that job was to merge it."""
    ended_in_review: bool = False
    """Whether that job was to judge it."""
    ended_job: int = 0
    """The number of that job."""
    was_together: bool = False
    """Whether that job was to merge other tasks with it."""
    vain_reviews: int = 0
    """How many reviews have failed one after the other, where its last job is one of them."""
    ended_words: str = ""
    """Why it has come to nothing, in a line."""
    raises: str = ""
    """The option that raises the task's own limit, where that job has reached it."""

    @property
    def has_ended(self) -> bool:
        """Whether nothing is to be done for it any more."""
        return self.status in ("completed", "abandoned")

    @property
    def is_free(self) -> bool:
        """Whether nothing of sow's is about to take it on."""
        return not (self.is_at_work or self.waits_for_reader or self.held_for or self.batch)


class DocumentFacts(Struct, frozen=True):
    """How one output of the project stands, for the guards."""

    path: str
    is_approved: bool
    is_kept: bool
    """Whether it outlives the project: it lies outside of the project's own folder."""
    is_there: bool = True
    """Whether there is such a file now."""


class Facts(Struct, frozen=True, dict=True):
    """How a project stands, for the guards. Tasks of the phase `project` are left out.

    `answers` is no part of it: what guards have answered of it by now (`types.answer`).
    """

    type: str = "standard"
    state: str = "executing"
    iteration: int = 1
    """How often it was planned; from the second on, corrections are to be made."""
    tasks: tuple[TaskFacts, ...] = ()
    clones: str = "never"
    """Whether agents work in clones of their own: `never`, `parallel`, `always`, or `asked`, where
    a call has to say so, as the repository's batches do."""
    has_batches: bool = False
    """Whether the team has its tasks done in batches, as the repository's settings say."""
    outputs: tuple[DocumentFacts, ...] = ()
    open_feedback: tuple[str, ...] = ()
    """The numbers of the feedback that is not settled."""
    open_phases: tuple[str, ...] = ()
    """The phases led by people that are not finished."""
    plan_is_approved: bool = False
    """Whether the plan is approved as it stands now."""
    verdict: str = ""
    """The last verdict on the whole, `accepted` or `corrections`; empty where there is none."""
    verdict_counts: bool = False
    """Whether whoever gave it may accept for the project."""
    verdict_holds: bool = False
    """Whether the work outside of `.sow` is still what was judged."""
    vain_reviews: tuple[str, ...] = ()
    """The reviews of the whole, in this iteration, that ended without a verdict: for each run the
    task of it. One task may have had several."""
    has_checks: bool = False
    """Whether the repository has checks: those run by default, else all that it names."""
    check_is_green: bool = False
    """Whether the last check of the whole passed, on the work as it is now."""
    check_is_red: bool = False
    """Whether it did not, on the work as it is now."""
    check_job: int = 0
    """The job of the last check of the whole, where that was red; 0 where none is known."""
    check_is_outdated: bool = False
    """Whether the last check passed on that work, by other command lines than are written now."""

    @cached_property
    def answers(self) -> dict[str, Sequence[Remedy]]:
        """By a guard's name, what would meet it. A copy of the facts begins without any."""
        return {}
