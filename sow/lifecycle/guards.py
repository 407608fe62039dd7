"""The guards of all project types: what must be true before an event, and what meets it.

Pure: each guard asks the facts. A guard is a sentence that is true where it is
met, and one command for each thing that is missing.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

from sow.lifecycle import merge_ways, task_ways
from sow.lifecycle.circles import in_circles
from sow.lifecycle.lifecycle_facts import DocumentFacts, Facts, Remedy, TaskFacts
from sow.lifecycle.project_verdict import CORRECT, review_accepts, review_corrects
from sow.lifecycle.stages import ProjectType


class Guard(Struct, frozen=True):
    """One condition. `unmet` returns what would meet it, and nothing where it is met."""

    name: str
    sentence: str
    unmet: Callable[[Facts], Sequence[Remedy]]
    commands: tuple[str, ...]
    """The commands that meet it, as the page on lifecycles names them."""


def _either(is_met: bool, *remedies: Remedy) -> Sequence[Remedy]:
    return () if is_met else remedies


def _has_task(facts: Facts) -> Sequence[Remedy]:
    return _either(bool(facts.tasks), *_added("there is no task yet"))


def _has_work(facts: Facts) -> Sequence[Remedy]:
    is_done = facts.iteration == 1 and any(task.status == "completed" for task in facts.tasks)
    is_met = is_done or any(not task.has_ended for task in facts.tasks)
    if facts.open_feedback:
        why = "the project review asks for corrections: `sow feedback list`"
        return _either(is_met, Remedy(ADD_TASK, why))
    if facts.tasks:
        return _either(is_met, Remedy(ADD_TASK, "no work is left"))
    return _either(is_met, *_added("there is no task yet"))


def _added(why: str) -> Sequence[Remedy]:
    """Return what adds the first tasks: whoever adds them singly may take the first for all."""
    form = "`sow task import --help` describes the format"
    return Remedy(IMPORT_TASKS, f"{why}; {form}"), Remedy(ADD_TASK, "a single one")


def _tasks_ended(facts: Facts) -> Sequence[Remedy]:
    return _ended(facts.tasks, facts.clones)


def _ended(tasks: Sequence[TaskFacts], clones: str) -> Sequence[Remedy]:
    """Return what takes tasks to their end; nothing where all of them have ended."""
    if all(task.has_ended for task in tasks):
        return ()
    return [*task_ways.ways_on(tasks, clones), *task_ways.waits(tasks)] or [LOOK]


def _merged(facts: Facts) -> Sequence[Remedy]:
    unmerged = [task for task in facts.tasks if task.is_unmerged]
    if not unmerged:
        return ()
    found = [*merge_ways.merges(facts.tasks), *task_ways.waits(unmerged)]
    return found or _tasks_ended(facts) or [LOOK]


def _phases_finished(facts: Facts) -> Sequence[Remedy]:
    return [remedy for phase in facts.open_phases for remedy in _phase_finished(facts, phase)]


def _phase_finished(facts: Facts, phase: str) -> Sequence[Remedy]:
    """Return what finishes a phase: what takes its tasks on, while some have not ended."""
    if all(task.has_ended for task in facts.tasks if task.phase == phase):
        return (Remedy(f"sow phase finish {phase}", f"the phase {phase} is not finished"),)
    return _ended(_of_phase(facts.tasks, phase), facts.clones)


def _of_phase(tasks: Sequence[TaskFacts], phase: str) -> Sequence[TaskFacts]:
    """Return the tasks of a phase, and all that they wait for, in whatever phase that is."""
    by_id = task_ways.tasks_by_id(tasks)
    ahead = [task.id for task in tasks if task.phase == phase]
    wanted: set[str] = set()
    while ahead:
        task = ahead.pop()
        if task in by_id and task not in wanted:
            wanted.add(task)
            ahead += by_id[task].depends_on
    return [task for task in tasks if task.id in wanted]


def _plan_approved(facts: Facts) -> Sequence[Remedy]:
    why = "the plan is not approved in its current form"
    return _either(facts.plan_is_approved, Remedy("sow approve plan", why))


def _checks_green(facts: Facts) -> Sequence[Remedy]:
    if facts.check_is_green or not facts.has_checks:
        return ()
    if facts.type == ProjectType.QUICK:  # it has no state of its own after the tasks' end
        left = _tasks_ended(facts) or _merged(facts)
        if left:
            return left
    if not facts.check_is_red:
        return (Remedy(CHECK, _why_unchecked(facts)),)
    shown = f"; `sow job logs {facts.check_job}` prints its output" if facts.check_job else ""
    red = f"the current work failed a check{shown}"
    again = Remedy(CHECK, "or check again if the machine was the cause")
    if facts.type == ProjectType.QUICK:
        return Remedy(MEND_TASK, red), again
    return (
        Remedy(CORRECT, f"{red}; say in the file what to fix"),
        Remedy(MEND_TASK, "or add a task that fixes it"),
        again,
    )


def _why_unchecked(facts: Facts) -> str:
    if facts.check_is_outdated:
        return "the last check ran other command lines than .sow/config.yaml has now"
    return "the checks have not passed on the current work"


def _has_output(facts: Facts) -> Sequence[Remedy]:
    command = 'sow output add "<path>" --type "<type>"'
    return _either(
        bool(facts.outputs),
        Remedy(command, "the project has no output yet; drafts are in .sow/project/context/"),
    )


def _outputs_approved(facts: Facts) -> Sequence[Remedy]:
    return [
        Remedy(
            f"sow approve {_quoted(output.path)}",
            f"{output.path} is not approved in its current form",
        )
        if output.is_there
        else _gone(output)
        for output in facts.outputs
        if not output.is_approved
    ]


def _gone(output: DocumentFacts) -> Remedy:
    command = f"sow output remove {_quoted(output.path)}"
    return Remedy(command, f"{output.path} is gone")


def _outputs_kept(facts: Facts) -> Sequence[Remedy]:
    lost = (output for output in facts.outputs if not (output.is_kept and output.is_there))
    return [_moved(output) for output in lost]


def _moved(output: DocumentFacts) -> Remedy:
    if not output.is_there:
        return _gone(output)
    command = f"sow output move {_quoted(output.path)}"
    return Remedy(command, f"{output.path} would be deleted with the project")


def _feedback_settled(facts: Facts) -> Sequence[Remedy]:
    numbers = " ".join(facts.open_feedback)
    command = f"sow feedback settle {numbers}"
    return _either(not numbers, Remedy(command, f"feedback is open: {numbers}; address it first"))


def _no_circle(facts: Facts) -> Sequence[Remedy]:
    needs = {task.id: task.depends_on for task in facts.tasks}
    return [merge_ways.circle_broken(task) for task in in_circles(needs)]


def _units(facts: Facts) -> list[TaskFacts]:
    return [task for task in facts.tasks if task.status != "abandoned"]


def _has_unit(facts: Facts) -> Sequence[Remedy]:
    return _either(bool(_units(facts)), *_added("there is no work unit yet"))


def _units_approved(facts: Facts) -> Sequence[Remedy]:
    return [
        Remedy(f"sow approve {unit.id}", f"unit {unit.id} is not approved in its current form")
        for unit in _units(facts)
        if not unit.is_approved
    ]


def _units_published(facts: Facts) -> Sequence[Remedy]:
    missing = [unit.id for unit in _units(facts) if not unit.is_published]
    why = f"not published in their current form: {', '.join(missing)}"
    return _either(not missing, Remedy("sow project publish", why))


def _quoted(path: str) -> str:
    is_plain = all(character.isalnum() or character in "/._-" for character in path)
    return path if is_plain and not path.startswith("-") else "'" + path.replace("'", "'\\''") + "'"


IMPORT_TASKS = 'sow task import "<file of tasks>"'
ADD_TASK = 'sow task add "<name>" --agent "<role>" --description "<what is to be done>"'
MEND_TASK = 'sow task add "<name>" --agent "<role>" --description "<what fixes the check>"'
CHECK = "sow project check"
LOOK = Remedy("sow task list", "its tasks wait for each other in an unexpected way")
"""No facts lead to it, and the walks show that: it stands for what no rule covers."""

ADDING = ("sow task import", "sow task add")
HAS_TASK = Guard("has_task", "there is a task", _has_task, ADDING)
HAS_WORK = Guard(
    "has_work",
    "there is a task that has not ended, or, in the first iteration, one that is completed",
    _has_work,
    ADDING,
)
TASKS_ENDED = Guard(
    "tasks_ended",
    "every task is completed or abandoned",
    _tasks_ended,
    (
        *("sow agent spawn", "sow agent resume", "sow agent answer", "sow agent review"),
        *("sow merge", "sow task set"),
    ),
)
MERGED = Guard(
    "merged",
    "the work of every completed task that has a clone is in the project's branch",
    _merged,
    ("sow merge", "sow clone update", "sow task reopen"),
)
PHASES_FINISHED = Guard(
    "phases_finished",
    "every phase led by people is finished, and each of its tasks has ended",
    _phases_finished,
    ("sow phase finish",),
)
PLAN_APPROVED = Guard(
    "plan_approved",
    "the plan is approved in its current form",
    _plan_approved,
    ("sow approve plan",),
)
REVIEW_ACCEPTS = Guard(
    "review_accepts",
    "the current work of the project is accepted, by somebody who may accept it",
    review_accepts,
    ("sow agent review --project", "sow review accept --project"),
)
REVIEW_CORRECTS = Guard(
    "review_corrects",
    "a project review asks for corrections",
    review_corrects,
    ("sow agent review --project", "sow review correct --project"),
)
CHECKS_GREEN = Guard(
    "checks_green",
    "the repository's current checks, if it has any, have passed on the current work",
    _checks_green,
    ("sow project check", "sow review correct --project", "sow task add"),
)
HAS_OUTPUT = Guard("has_output", "the project has an output", _has_output, ("sow output add",))
OUTPUTS_APPROVED = Guard(
    "outputs_approved",
    "every output is approved in its current form",
    _outputs_approved,
    ("sow approve", "sow output remove"),
)
OUTPUTS_KEPT = Guard(
    "outputs_kept",
    "every output is in a place that is kept after the project",
    _outputs_kept,
    ("sow output move", "sow output remove"),
)
FEEDBACK_SETTLED = Guard(
    "feedback_settled",
    "no feedback on the project is open",
    _feedback_settled,
    ("sow feedback settle",),
)
NO_CIRCLE = Guard(
    "no_circle", "no unit depends on itself through other units", _no_circle, ("sow task set",)
)
HAS_UNIT = Guard("has_unit", "there is a work unit", _has_unit, ADDING)
UNITS_APPROVED = Guard(
    "units_approved",
    "every work unit is approved in its current form",
    _units_approved,
    ("sow approve",),
)
UNITS_PUBLISHED = Guard(
    "units_published",
    "every work unit is published in its current form",
    _units_published,
    ("sow project publish",),
)
