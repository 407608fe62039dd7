"""What happens to a project in its lifecycle, in `state.yaml`: events, approvals, verdicts.

Owns what each changes there, under the project's lock. What may happen is
`sow.lifecycle`; who may do it, and how the project stands, the caller has found out.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import UNSET
from msgspec.structs import replace

from sow.errors import StateError
from sow.lifecycle import guards
from sow.lifecycle.stages import STAGES, WHOLE_PHASE, ProjectType
from sow.lifecycle.types import LIFECYCLES, Effect, Event
from sow.paths import Workspace
from sow.schema.project import (
    Approval,
    Artifact,
    NoteStatus,
    Project,
    ProjectCheck,
    ProjectFeedback,
    ProjectReview,
    UnitApproval,
)
from sow.schema.task import ReviewVerdict, Task, TaskStatus
from sow.state.artifacts import Side, content_of, listed
from sow.state.authors import Author
from sow.state.log_writing import LogEntry
from sow.state.places import find_task
from sow.state.project_feedback import feedback_of, write_words
from sow.state.projects import change_project, read_project
from sow.state.status_entries import APPROVAL, STATE, change_entry
from sow.state.tasks import list_tasks
from sow.state.transitions import as_written, moment
from sow.yamlfile import REMOVE

Fields = Mapping[str, object]


class NothingToApprove(StateError):
    """What is to be approved is not there."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(f"nothing can be approved: {what}", hint=hint)


def enter_state(
    workspace: Workspace,
    seen: Project,
    tasks: Sequence[Task],
    event: Event,
    *,
    by: Author,
    now: float,
) -> Project:
    """Take the project along an event that was found to be allowed for it as it was `seen`.

    `tasks` are those that were seen with it: the guards have asked of them, too, and whoever
    adds another one waits for the lock that is held here. Raises StateError.
    """

    def change(project: Project) -> Fields:
        if project != seen or _statuses(list_tasks(workspace)) != _statuses(tasks):
            raise StateError(
                "another command changed the project at the same time",
                hint="Run `sow next`, then try again",
            )
        return {"state": event.target, **_effects(project, event)}

    words = f"State: {event.source} to {event.target} ({event.name})"
    if event.effect is Effect.NEW_ITERATION:
        words = f"{words}, iteration {seen.round + 1}"
    entries = _entry(words, STATE, by, now=now)
    return change_project(workspace, change, now=now, entries=entries)


def _entry(
    action: str, event: str, by: Author, *, now: float, text: str = ""
) -> Callable[[], list[LogEntry]]:
    """Return what gives the entry about a change."""
    return lambda: [change_entry(action, event, by, now=now, text=text)]


def _statuses(tasks: Sequence[Task]) -> dict[str, str]:
    return {task.id: task.status for task in tasks}


def _effects(project: Project, event: Event) -> Fields:
    """Return what an event changes besides the state."""
    if event.effect is not Effect.NEW_ITERATION:
        return {}
    fields: dict[str, object] = {"iteration": project.round + 1}
    for name in ("plan", "review", "check"):
        if getattr(project, name) is not UNSET:
            fields[name] = REMOVE
    for side in Side:
        there = listed(project, side)
        if any(artifact.approved is not UNSET for artifact in there):
            fields[side.field] = [replace(artifact, approved=UNSET) for artifact in there]
    return fields


def counted_tasks(workspace: Workspace) -> list[Task]:
    """Return the tasks that the lifecycle counts: not those about the project as a whole."""
    return [task for task in list_tasks(workspace) if task.phase != WHOLE_PHASE]


def plan_content(workspace: Workspace, tasks: Sequence[Task]) -> str:
    """Return what tells this plan from another: its tasks, less those that were given up."""
    from hashlib import sha256  # it loads OpenSSL, and most looks at a project hash nothing

    whole = sha256()
    for task in tasks:
        if task.status is not TaskStatus.ABANDONED:
            whole.update(unit_content(workspace, task).encode())
    return whole.hexdigest()


def is_plan_approved(workspace: Workspace, project: Project, tasks: Sequence[Task]) -> bool:
    """Whether a project waits for its plan to begin, and the plan is approved as it stands."""
    if project.plan is UNSET or project.standing != STAGES[project.kind].plan_state:
        return False
    return project.plan.content == plan_content(workspace, tasks)


def unit_content(workspace: Workspace, task: Task) -> str:
    """Return what tells one work unit, or planned task, from another."""
    return unit_content_at(workspace, task, find_task(workspace, task.id).description)


def unit_content_at(workspace: Workspace, task: Task, path: Path) -> str:
    """Return the same of a task whose description lies at `path`."""
    from hashlib import sha256  # as above

    description = content_of(workspace, path.relative_to(workspace.root).as_posix()) or ""
    parts = (task.id, task.name, task.assigned_agent, *task.depends_on, description)
    return sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()


def approve_plan(workspace: Workspace, *, by: Author, now: float) -> Project:
    """Put on record that the plan is approved as it stands. Raises NothingToApprove."""
    _refuse_without_plan(read_project(workspace))
    tasks = counted_tasks(workspace)
    if not tasks:
        raise NothingToApprove("no task is planned", 'sow task add "<name>" --agent "<role>"')
    content = plan_content(workspace, tasks)

    def change(project: Project) -> Fields:
        if project.plan is not UNSET and project.plan.content == content:
            return {}
        return {"plan": {"by": by.agent, "at": moment(now), "content": content}}

    ids = ", ".join(task.id for task in tasks)
    entries = _entry(f"Plan approved: {ids}", APPROVAL, by, now=now)
    return change_project(workspace, change, now=now, entries=entries)


def _refuse_without_plan(project: Project) -> None:
    """Raise NothingToApprove where no plan waits for an approval."""
    kind = LIFECYCLES[project.kind]
    if not any(guards.PLAN_APPROVED in event.guards for event in kind.events):
        hint = "`sow next` shows what can be approved."
        raise NothingToApprove(f"a project of the type {project.kind} has no plan", hint)
    if project.standing != kind.first:
        hint = "You can add tasks without a plan; `sow next` shows what to do next."
        raise NothingToApprove(
            f"the plan was already started: the project is {project.standing}", hint
        )


def approve_documents(
    workspace: Workspace, paths: Sequence[str], *, by: Author, now: float
) -> Project:
    """Put on record that listed files are approved as they stand. Raises NothingToApprove."""
    contents = {path: content_of(workspace, path) for path in paths}

    def change(project: Project) -> Fields:
        fields: dict[str, object] = {}
        known = {found.path for side in Side for found in listed(project, side)}
        for path in paths:
            if path not in known or contents[path] is None:
                hint = f"`sow output add {path} --type TYPE` lists it; `sow output list` shows all."
                raise NothingToApprove(f"{path} is not an output of the project", hint)
        for side in Side:
            there = listed(project, side)
            if any(found.path in contents for found in there):
                fields[side.field] = [approved(found) for found in there]
        return fields

    def approved(found: Artifact) -> Artifact:
        content = contents.get(found.path)
        if content is None:
            return found
        return replace(found, approved=Approval(by=by.agent, at=moment(now), content=content))

    entries = _entry(f"Approved: {', '.join(paths)}", APPROVAL, by, now=now)
    return change_project(workspace, change, now=now, entries=entries)


def refuse_without_units(project: Project, tasks: Sequence[Task]) -> None:
    """Raise NothingToApprove where tasks are no work units, for the project is no breakdown."""
    if tasks and project.kind is not ProjectType.BREAKDOWN:
        raise NothingToApprove(
            f"task {tasks[0].id} is not a work unit: the project is of the type {project.kind}",
            f'To accept its agent\'s work: `sow review accept {tasks[0].id} --summary "…"`.',
        )


def approve_units(
    workspace: Workspace, tasks: Sequence[Task], *, by: Author, now: float
) -> Project:
    """Put on record that work units are approved as they stand. Raises NothingToApprove."""
    refuse_without_units(read_project(workspace), tasks)
    fresh = {
        task.id: UnitApproval(
            by=by.agent, at=moment(now), content=unit_content(workspace, task), id=task.id
        )
        for task in tasks
    }

    def change(project: Project) -> Fields:
        there = [] if project.units is UNSET else project.units
        kept = [unit for unit in there if unit.id not in fresh]
        return {"units": sorted([*kept, *fresh.values()], key=lambda unit: unit.id)}

    entries = _entry(f"Approved: {', '.join(fresh)}", APPROVAL, by, now=now)
    return change_project(workspace, change, now=now, entries=entries)


def approved_units(project: Project) -> Mapping[str, str]:
    """Return by its task's id what each approved unit held."""
    return {} if project.units is UNSET else {unit.id: unit.content for unit in project.units}


def finish_phase(
    workspace: Workspace, phase: str, *, is_finished: bool, by: Author, now: float
) -> Project:
    """Mark a phase as finished, or take that back."""

    def change(project: Project) -> Fields:
        there = [] if project.finished_phases is UNSET else project.finished_phases
        others = [name for name in there if name != phase]
        wanted = [*others, phase] if is_finished else others
        return {} if wanted == there else {"finished_phases": wanted}

    words = f"Phase {phase} {'finished' if is_finished else 'reopened'}"
    entries = _entry(words, STATE, by, now=now)
    return change_project(workspace, change, now=now, entries=entries)


def accept_whole(
    workspace: Workspace, work: str, summary: str, *, by: Author, now: float
) -> Project:
    """Put on record that the whole is accepted as the work is now."""
    review = ProjectReview(
        verdict=ReviewVerdict.ACCEPTED, by=by.agent, at=moment(now), work=work, summary=summary
    )
    entries = _entry("The project is accepted", APPROVAL, by, now=now, text=summary)
    fields = {"review": as_written(review)}
    return change_project(workspace, lambda _: fields, now=now, entries=entries)


def correct_whole(
    workspace: Workspace, work: str, summary: str, findings: bytes, *, by: Author, now: float
) -> tuple[Project, str]:
    """Ask for corrections of the whole; return the project and the number of the feedback."""
    number = ""

    def change(project: Project) -> Fields:
        nonlocal number
        there = feedback_of(project)
        number = write_words(workspace, there, findings)
        note = ProjectFeedback(id=number, status=NoteStatus.OPEN, by=by.agent, at=moment(now))
        review = ProjectReview(
            verdict=ReviewVerdict.CORRECTIONS,
            by=by.agent,
            at=moment(now),
            work=work,
            summary=summary,
            feedback=number,
        )
        return {"feedback": [*there, note], "review": as_written(review)}

    def entries() -> list[LogEntry]:
        words = f"Corrections of the project are requested in feedback {number}"
        text = findings.decode("utf-8", "replace")
        return [change_entry(words, APPROVAL, by, now=now, text=text)]

    return change_project(workspace, change, now=now, entries=entries), number


def record_check(workspace: Workspace, check: ProjectCheck, *, now: float) -> None:
    """Put the outcome of a check of the whole on record."""
    change_project(workspace, lambda _: {"check": as_written(check)}, now=now)


def carried_over(project: Project, before: str, after: str) -> Fields:
    """Return the verdict and the check on some work as those on what it has become.

    Nothing where they are on other work.
    """
    fields: dict[str, object] = {}
    if project.review is not UNSET and project.review.work == before:
        fields["review"] = as_written(replace(project.review, work=after))
    if project.check is not UNSET and project.check.work == before:
        fields["check"] = as_written(replace(project.check, work=after))
    return fields
