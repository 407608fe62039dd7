"""`sow job list`."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.arguments import here
from sow.cli.job_record import duration_text, note_on
from sow.cli.output import COUNT, echo_json_lines, echo_table, json_option
from sow.cli.queue_until_end import queue_until_end
from sow.clock import ago, utc_now
from sow.errors import StateError
from sow.ids import JobId, ProjectId, parse_task_id
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.reports.seen import see_jobs
from sow.schema.job import Job, JobState
from sow.schema.kinds import kind_of

HEADER = ("JOB", "TASK", "VERB", "AGENT", "EXECUTOR", "STATE", "STATUS", "QUEUED", "TOOK", "NOTE")
SPARE = ("EXECUTOR", "VERB", "QUEUED")
"""What a narrow terminal goes without; `sow job show` has it."""


@click.command("list")
@click.option(
    "--task",
    help="Only jobs of this task of the current project.",
    shell_complete=completing.tasks,
)
@click.option("--active", is_flag=True, help="Only jobs that have not ended.")
@click.option(
    "-n",
    "--limit",
    default=20,
    show_default=True,
    type=COUNT,
    help="At most this many.",
)
@json_option
def list_jobs(task: str | None, active: bool, limit: int, as_json: bool) -> None:
    """List jobs, the newest first."""
    workspace = here()
    database = queue_until_end(workspace)
    found: list[Job] = []
    if database is not None:
        task_id = parse_task_id(task) if task else None
        project_id = _present_project(workspace) if task else None
        found = jobs.recent_jobs(
            database,
            limit=limit + 1,
            project_id=project_id,
            task_id=task_id,
            active_only=active,
        )
    shown, now = found[:limit], utc_now()
    if database is None or not shown:
        if not as_json:
            click.echo(_none(database, task=task, active=active), err=True)
        return
    if as_json:
        # A person's table needs little of it.
        from sow.reports.views import read_views

        echo_json_lines(read_views(workspace, database, shown, now))
    else:
        seen = see_jobs(workspace, database, shown, now)
        verdicts = _verdicts(workspace, shown)
        rows = [
            _row(job, now, verdicts.get(job.id) or note_on(job, each))
            for job, each in zip(shown, seen, strict=True)
        ]
        echo_table(HEADER, rows, ["STATE", "STATUS"], SPARE)
    if len(found) > limit:
        click.echo(f"Note: there are more than these {limit} jobs; --limit shows more.", err=True)


def _present_project(workspace: Workspace) -> ProjectId | None:
    """Return the project that is checked out; only a list of one task's jobs reads its file."""
    from sow.calls.last_job import present_project  # heavy: it reads state files

    return present_project(workspace)


def _none(database: Database | None, *, task: str | None, active: bool) -> str:
    """Return what to say where nothing is listed: a filter is no sign that nothing was queued."""
    if database is None or not jobs.newest_id(database):
        return "No jobs. Queue one: sow agent spawn implementer 010"
    of = f" of task {task}" if task else ""
    if active:
        return f"No job{of} runs or waits. `sow job list` shows those that have ended."
    return f"No job{of} is on record. `sow task list` shows the tasks."


def _verdicts(workspace: Workspace, shown: Sequence[Job]) -> Mapping[JobId, str]:
    """Return the verdict of each review that is its task's last, with what the change steers.

    A job of another project, or of a task that is gone or cannot be read, has no note.
    """
    reviews = [job for job in shown if kind_of(job).judges and job.state is JobState.DONE]
    if not reviews:
        return {}
    # Heavy: it reads tasks.
    from msgspec import UNSET

    # As above.
    from sow.cli.review import steering_note
    from sow.state.tasks import read_task

    project_id = _present_project(workspace)
    notes = {}
    for job in reviews:
        if job.project_id != project_id:
            continue
        with suppress(StateError):
            task = read_task(workspace, job.task_id)
            if task.review is not UNSET and task.review.job == job.id:
                words = (task.review.verdict.value, steering_note(task))
                notes[job.id] = "; ".join(word for word in words if word)
    return notes


def _row(job: Job, now: float, note: str) -> tuple[str, ...]:
    return (
        str(job.id),
        job.task_id or "-",
        job.verb.value,
        job.agent or "-",
        job.executor_name or "-",
        job.state.value,
        job.outcome_status.value if job.outcome_status else "-",
        ago(job.created_at, now),
        duration_text(job, now),
        note,
    )
