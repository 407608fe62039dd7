"""The end of a project: its folder goes into the archive, or away, and the branch is free.

Owns that nothing is left behind: the end is one transaction with the look for
jobs that have not ended, and whoever places a job or a batch looks for the
project in the transaction that does (`admission`). It is recorded first.
Asked for by an agent of the project's own it stays so until that job has
ended, and a worker carries it out; whoever is killed in between has it carried
out by the next worker, or by the same command again.
"""

from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path

from msgspec import UNSET

from sow.attempts.homes import homes_of, homes_of_checkout, remove_home
from sow.calls.admission import is_end_recorded
from sow.calls.caller import Caller
from sow.calls.job_end import PATIENCE_SECONDS, give_back
from sow.clock import format_time
from sow.digest import sha256
from sow.errors import StateError
from sow.files import (
    LeadsOut,
    NotWritten,
    discard_tree,
    locked_once,
    make_folder,
    move,
    refuse_leading_out,
    sync_folder,
)
from sow.git.checked_out import branch_at
from sow.ids import BatchId, JobId, ProjectId
from sow.jobs import batch_summaries, batches, doorbell, jobs, waiters
from sow.jobs.database import Database, open_queue
from sow.jobs.end_entries import log_ends
from sow.knowledge.filling import fill_index, take_back
from sow.lifecycle.stages import COMPLETED
from sow.paths import Workspace
from sow.schema.batch import BatchState
from sow.schema.project import Ending, EndingWord, Project
from sow.state.archive import archived_folders, read_archived
from sow.state.authors import Author
from sow.state.due_entries import settle
from sow.state.kept.copies import forget_project
from sow.state.kept.store import kept_at, project_id_at
from sow.state.places import all_places
from sow.state.projects import change_project, read_project
from sow.state.state_errors import NoProject, WorkArrives
from sow.state.status_entries import STATE, change_entry, log_change
from sow.state.transitions import moment
from sow.state.units import slug_of
from sow.yamlfile import REMOVE

REMOVED = ".ended.{}.tmp"
"""What the folder of a project is called that is being removed."""


class NotCompleted(StateError):
    """A project is to be finished that is not completed."""

    def __init__(self, project: Project) -> None:
        super().__init__(
            f"the project is not completed: it is {project.standing}",
            hint="`sow next` says what is missing. To end the project without completing it:"
            " `sow project abandon`.",
        )


class JobsLive(StateError):
    """A project is to be ended while a job of it lives."""

    def __init__(self, job_id: int) -> None:
        super().__init__(
            f"job {job_id} of the project has not ended",
            hint="`sow job list` shows the jobs. Wait until they end, or cancel them: `sow"
            " agent cancel --all`.",
        )


def end_project(
    caller: Caller, how: EndingWord, *, remove: bool, by: Author
) -> tuple[Project, str | None, bool]:
    """End the project; return it, where it is archived, and whether that is still to be done.

    Raises NotCompleted, JobsLive, NotWritten, LeadsOut.
    """
    workspace = caller.workspace
    before = read_project(workspace)
    for folder in (workspace.project, workspace.archive, workspace.knowledge_index):
        refuse_leading_out(folder)
    if how is EndingWord.FINISHED and before.standing != COMPLETED:
        raise NotCompleted(before)
    with closing(open_queue(workspace)) as database:  # whoever places a job looks into it, too
        _refuse_live(database, before, besides=caller.job_id)
        project = _record(caller, before, how, remove=remove, by=by)
        if caller.job_id is not None:
            return project, None, True
        try:
            return project, _carry_out(workspace, database, project, now=caller.now()), False
        except (JobsLive, LeadsOut, NotWritten):
            ending = _data(before.ending) if before.ending is not UNSET else REMOVE
            change_project(workspace, lambda _: {"ending": ending}, now=caller.now())
            raise


def _record(
    caller: Caller, before: Project, how: EndingWord, *, remove: bool, by: Author
) -> Project:
    """Put the end on record. One that is there already, and the same, is gone on with."""
    there = before.ending
    if there is not UNSET and (there.how, there.remove) == (how, remove):
        return before
    now = caller.now()
    ending = {"how": how.value, "by": by.agent, "at": moment(now), "remove": remove}
    words = f"The project is to be {how.value} once this job has ended"
    entries = [change_entry(words, STATE, by, now=now)] if caller.job_id is not None else []
    fields = {"ending": ending, **_branch(caller.workspace, before)}
    return change_project(caller.workspace, lambda _: fields, now=now, entries=lambda: entries)


def _branch(workspace: Workspace, project: Project) -> Mapping[str, object]:
    """Return the branch that a project belongs to by its end, where it was begun on none."""
    branch = branch_at(workspace.root) if project.branch is UNSET else None
    return {"branch": branch} if branch else {}


def _data(ending: Ending) -> Mapping[str, object]:
    return {
        "how": ending.how.value,
        "by": ending.by,
        "at": ending.at,
        "remove": ending.remove,
    }


def _log(workspace: Workspace, project: Project, ending: Ending, *, now: float) -> None:
    """Tell of the end in the project's log: as one entry, however often it is written."""
    name = f"{project.id} {ending.how.value} {ending.at}"
    number = sha256(name.encode()).hexdigest()[:12]
    words, by = f"Project {ending.how.value}", Author(ending.by)
    log_change(workspace.project, words, STATE, by, now=now, entry_id=number)


def carry_out_recorded(workspace: Workspace, database: Database, *, now: float) -> str | None:
    """End a project whose end is recorded, if no job of it lives; return where it is archived."""
    if not is_end_recorded(workspace):
        return None
    project = read_project(workspace)
    if project.ending is UNSET or jobs.any_live_job(database, ProjectId(project.id)) is not None:
        return None
    return _carry_out(workspace, database, project, now=now)


def sweep_ended(workspace: Workspace, database: Database, *, now: float) -> None:
    """Complete the ends of projects that were cut short after their folder had moved.

    Their batches are cancelled, and what is left of those that were to be removed goes, and of all
    of them the configuration folders of their sessions.
    """
    for folder in workspace.sow.glob(REMOVED.format("*")):
        project_id = ProjectId(folder.name.split(".")[2])
        _cancel_batches(database, project_id, now=now, made_until=now)
        remove_home(homes_of(workspace, project_id))
        discard_tree(folder)
    here = project_id_at(workspace.root)
    for project_id in batches.projects_going_on(database) - {here}:
        ended_at = _ended_at(workspace, project_id)
        if ended_at is not None:
            _cancel_batches(database, project_id, now=now, made_until=ended_at)
    for digits, homes in homes_of_checkout(workspace).items():
        others = not (here or "").startswith(digits)
        if others and any(digits in folder.name for folder in archived_folders(workspace)):
            remove_home(homes)


def _ended_at(workspace: Workspace, project_id: ProjectId) -> float | None:
    """Return when a project has ended, the last time; None where it is not in the archive."""
    found = []
    for folder in archived_folders(workspace):
        if project_id[:8] not in folder.name:
            continue
        with suppress(StateError):
            project = read_archived(folder)
            if project.id == project_id and project.ending is not UNSET:
                found.append(project.ending.at.timestamp() + 1)  # it is of whole seconds
    return max(found, default=None)


def _cancel_batches(
    database: Database, project_id: ProjectId, *, now: float, made_until: float
) -> list[BatchId]:
    """Cancel the batches of a project that go on, and were made before its end."""
    with database.transaction():
        found = batches.going_on(database, project_id)
        meant = [batch.id for batch in found if batch.made_at <= made_until]
        for batch_id in meant:
            fields = {"state": BatchState.CANCELLED, "ended_at": now}
            batches.change_batch(database, batch_id, **fields)
            batch_summaries.stop_items(database, batch_id, "its project has ended")
    return meant


def _carry_out(
    workspace: Workspace, database: Database, project: Project, *, now: float
) -> str | None:
    """Move the project's folder, unless a job has come in; return where to.

    Raises JobsLive, NoProject where somebody else was first.
    """
    assert project.ending is not UNSET  # noqa: S101 - recorded before
    project_id = ProjectId(project.id)
    _settle(workspace, database, project_id, now=now)
    # The lock first, and then the transaction: in this order everybody takes them.
    with locked_once(workspace.project), database.transaction():
        _refuse_live(database, project)
        if project_id_at(workspace.root) != project.id:
            raise NoProject(workspace.project)
        _log(workspace, project, project.ending, now=now)
        kept = kept_at(workspace.root)
        cancelled = _cancel_batches(database, project_id, now=now, made_until=now)
        waiters.forget_detached(database, project_id)
        archive = _move(workspace, project, project.ending)
        if kept is not None:
            forget_project(kept)
    for batch_id in cancelled:
        doorbell.ring_batch(workspace, batch_id)
    remove_home(homes_of(workspace, project_id))
    sweep_ended(workspace, database, now=now)
    return archive


def _settle(workspace: Workspace, database: Database, project_id: ProjectId, *, now: float) -> None:
    """Write what the ended jobs still owe the project's tasks and logs, which go with it."""
    for job in jobs.owing(database, lambda *_: None):
        if job.project_id == project_id:
            try:
                give_back(workspace, database, job, now=now, patience=PATIENCE_SECONDS)
            except WorkArrives:
                raise
            except StateError:
                continue  # an unreadable task goes as it is
    log_ends(workspace, database)
    for place in all_places(workspace):
        settle(place.folder)


def _refuse_live(database: Database, project: Project, *, besides: JobId | None = None) -> None:
    """Raise JobsLive for a job that has not ended, other than `besides` and those above it."""
    own = {job.id for job in jobs.ancestors(database, besides)} if besides is not None else set()
    project_id = ProjectId(project.id)
    if not own:
        live = jobs.any_live_job(database, project_id)
        if live is not None:
            raise JobsLive(live)
        return
    for job in jobs.active_jobs(database):
        if job.project_id == project_id and job.id not in own:
            raise JobsLive(job.id)


def _move(workspace: Workspace, project: Project, ending: Ending) -> str | None:
    """Write the index of what it leaves behind, then take the folder away by one rename."""
    archive = None if ending.remove else _archive_of(workspace, project, ending)
    target = archive or workspace.sow / REMOVED.format(project.id)
    filled = fill_index(workspace, project, ending, archive)
    try:
        make_folder(target.parent)
        move(workspace.project, target)
    except LeadsOut:
        take_back(filled)
        raise
    except OSError as error:
        take_back(filled)
        raise NotWritten(workspace.project, error) from error
    try:
        sync_folder(target.parent)
        sync_folder(workspace.sow)
    except OSError as error:
        raise NotWritten(workspace.project, error) from error
    return None if archive is None else archive.relative_to(workspace.root).as_posix()


def _archive_of(workspace: Workspace, project: Project, ending: Ending) -> Path:
    """Return a folder that is free.

    Where `.sow` is not tracked, another branch may have ended the same project there before.
    """
    day = format_time(ending.at.timestamp())[:10]
    folder = workspace.archive / f"{day}-{slug_of(project.name)}-{project.id[:8]}"
    number = 1
    while folder.exists():
        number += 1
        folder = folder.with_name(f"{folder.name.rsplit('.', 1)[0]}.{number}")
    return folder
