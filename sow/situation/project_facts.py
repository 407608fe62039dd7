"""How the project stands, as facts for the guards of its lifecycle. Reads only.

Owns what each fact is found out from, and that only what the project's state can
ask about is looked for: the whole work is read where it is judged alone.
"""

import os
from collections.abc import Callable, Mapping, Sequence

from msgspec import UNSET

from sow.config.checks import Checks
from sow.config.configuration import Configuration
from sow.config.origin import REPOSITORY
from sow.errors import SowError
from sow.ids import TaskId
from sow.lifecycle.lifecycle_facts import DocumentFacts, Facts, TaskFacts
from sow.lifecycle.stages import WHOLE_PHASE, ProjectType
from sow.paths import Workspace
from sow.schema.config import ApproveRule
from sow.schema.project import Artifact, Project, ProjectCheck
from sow.schema.task import REVIEW_OF, Task, TaskStatus
from sow.state.artifacts import Side, is_approved, listed, outlives_project
from sow.state.authors import PERSON
from sow.state.lifecycle import is_plan_approved
from sow.state.plan_wait import open_phases
from sow.state.project_feedback import open_feedback

JUDGED = ("reviewing", "finalizing")
"""The states in which it matters whether the work is still what was judged, or checked; of a quick
project, which is checked alone, it always matters."""


def counted(tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks that the guards count: not those about the project as a whole."""
    return [task for task in tasks if task.phase != WHOLE_PHASE]


def project_facts(
    workspace: Workspace,
    project: Project,
    tasks: Sequence[Task],
    task_facts: tuple[TaskFacts, ...],
    configuration: Configuration | None,
    tell: Callable[[SowError], None],
    *,
    reviews: Sequence[Task] = (),
    runs: Mapping[TaskId, int] = {},
    check_job: int = 0,
) -> Facts:
    """Return how a project stands; `tell` hears of what cannot be found out.

    `tasks` are those that the guards count, `reviews` those of the reviews of the whole, and
    `runs` says how often each of these was run. `check_job` has run the last check of the whole.
    """
    work = _work(workspace, project, tell)
    review = None if project.review is UNSET else project.review
    check = None if project.check is UNSET else project.check
    agents_may = configuration is not None and configuration.approve is ApproveRule.AGENTS
    checks = configuration.checks if configuration is not None else Checks()
    judged = check if check is not None and check.work == work else None
    return Facts(
        type=project.kind.value,
        state=project.standing,
        iteration=project.round,
        tasks=task_facts,
        clones=configuration.new_clones if configuration is not None else "never",
        has_batches=_has_batches(configuration),
        outputs=_documents(workspace, project),
        open_feedback=tuple(note.id for note in open_feedback(project)),
        open_phases=open_phases(project, tasks),
        plan_is_approved=is_plan_approved(workspace, project, tasks),
        verdict=review.verdict.value if review else "",
        verdict_counts=review is not None and (agents_may or review.by == PERSON),
        verdict_holds=review is not None and review.work == work,
        vain_reviews=_vain_reviews(project, reviews, runs),
        has_checks=bool(checks.of_project),
        check_is_green=judged is not None and _is_green(checks, judged),
        check_is_red=judged is not None and not judged.passed and _is_as_written(checks, judged),
        check_job=check_job,
        check_is_outdated=judged is not None and not _is_as_written(checks, judged),
    )


def _vain_reviews(
    project: Project, reviews: Sequence[Task], runs: Mapping[TaskId, int]
) -> tuple[str, ...]:
    """Return the reviews of the whole that ended without a verdict, where one is wanted.

    A task that is run again is a further review. One whose runs are on record no more counts once.
    """
    if project.standing not in JUDGED:
        return ()
    return tuple(
        task.id
        for task in reviews
        if task.status in (TaskStatus.NEEDS_REVIEW, TaskStatus.FAILED)
        and str(task.metadata[REVIEW_OF]).split(" ")[0] == str(project.round)
        for _ in range(max(1, runs.get(TaskId(task.id), 0)))
    )


def _has_batches(configuration: Configuration | None) -> bool:
    """Whether the repository's settings say how batches are to be run."""
    if configuration is None:
        return False
    origins = configuration.origins.items()
    return any(key[0] == "batch" and origin == REPOSITORY for key, origin in origins)


def _work(workspace: Workspace, project: Project, tell: Callable[[SowError], None]) -> str:
    """Return what tells the work as it is now from another, where anybody asks."""
    is_judged = project.review is not UNSET or project.check is not UNSET
    if not is_judged or not (project.standing in JUDGED or project.kind is ProjectType.QUICK):
        return ""
    from sow.clones.project_work import work_of  # git reads the whole checkout

    try:
        return work_of(workspace.root)
    except SowError as error:
        tell(error)
        return "unknown"


def _is_green(checks: Checks, check: ProjectCheck) -> bool:
    """Whether all checks that a project has to pass have passed, as they are written now."""
    ran = check.commands
    return check.passed and all(
        name in ran and checks.is_as_run(name, ran[name]) for name in checks.of_project
    )


def _is_as_written(checks: Checks, check: ProjectCheck) -> bool:
    """Whether each command line that was run is written now as it was then."""
    return all(checks.is_as_run(name, check.commands.get(name, "")) for name in check.names)


def _documents(workspace: Workspace, project: Project) -> tuple[DocumentFacts, ...]:
    outputs = listed(project, Side.OUTPUT)
    return tuple(_document(workspace, found) for found in outputs)


def _document(workspace: Workspace, artifact: Artifact) -> DocumentFacts:
    return DocumentFacts(
        path=artifact.path,
        is_approved=is_approved(workspace, artifact),
        is_kept=outlives_project(workspace, artifact.path),
        is_there=os.path.isfile(workspace.root / artifact.path),  # noqa: PTH113 - never raises
    )
