"""Whether a project that is completed is so by what its files say.

Owns which guards files alone can answer: those of git, and of the machine, are
asked by `sow advance` at the time.
"""

from collections.abc import Iterator

from msgspec import UNSET

from sow.lifecycle import guards
from sow.lifecycle.lifecycle_facts import DocumentFacts, Facts, TaskFacts
from sow.lifecycle.stages import COMPLETED, WHOLE_PHASE
from sow.lifecycle.types import Event, lifecycle_of, refusals
from sow.paths import SOW_FOLDER, Workspace
from sow.schema.project import Project
from sow.schema.task import Task
from sow.state.artifacts import Side, is_approved, listed
from sow.state.lifecycle import approved_units, unit_content_at
from sow.state.project_feedback import open_feedback
from sow.validation.kinds import Defect, Kind
from sow.validation.tree import ProjectTree, StateFile

ASKED_OF_FILES = frozenset(
    guard.name
    for guard in (
        guards.HAS_TASK,
        guards.TASKS_ENDED,
        guards.HAS_OUTPUT,
        guards.OUTPUTS_APPROVED,
        guards.OUTPUTS_KEPT,
        guards.FEEDBACK_SETTLED,
        guards.HAS_UNIT,
        guards.UNITS_APPROVED,
    )
)
"""The guards that need nothing but the files of `.sow`."""


def completion_defects(workspace: Workspace, tree: ProjectTree) -> Iterator[Defect]:
    """Yield what a completed project lacks. Nothing where a task of it cannot be read."""
    state = tree.state
    if state is None or state.content.standing != COMPLETED:
        return
    tasks = [folder.state for folder in tree.tasks]
    if any(task is None for task in tasks):
        return
    facts = _facts(workspace, state.content, [task for task in tasks if task is not None])
    seen: set[str] = set()
    for event in _completing(facts):
        for refusal in refusals(event, facts):
            if refusal.guard.name in ASKED_OF_FILES - seen:
                seen.add(refusal.guard.name)
                what = "; ".join(remedy.why for remedy in refusal.remedies)
                commands = ", ".join(f"`{remedy.command}`" for remedy in refusal.remedies)
                yield state.defect(
                    Kind.STATE_UNMET,
                    *("project", "state"),
                    what=(
                        "the project is completed, but this is not true:"
                        f" {refusal.guard.sentence} ({what})"
                    ),
                    remedy=f"To meet the condition: {commands}",
                )


def _completing(facts: Facts) -> list[Event]:
    """Return the events that lead to the end, as seen from before it."""
    return [event for event in lifecycle_of(facts).events if event.target == COMPLETED]


def _facts(workspace: Workspace, project: Project, states: list[StateFile[Task]]) -> Facts:
    approved = approved_units(project)
    return Facts(
        type=project.kind.value,
        state=project.standing,
        tasks=tuple(
            TaskFacts(
                id=state.content.id,
                status=state.content.status.value,
                is_approved=approved.get(state.content.id)
                == unit_content_at(
                    workspace, state.content, state.path.with_name("description.md")
                ),
            )
            for state in states
            if state.content.phase != WHOLE_PHASE
        ),
        outputs=tuple(
            DocumentFacts(
                path=found.path,
                is_approved=found.approved is not UNSET and is_approved(workspace, found),
                is_kept=not found.path.startswith(f"{SOW_FOLDER}/project/"),
            )
            for found in listed(project, Side.OUTPUT)
        ),
        open_feedback=tuple(note.id for note in open_feedback(project)),
    )
