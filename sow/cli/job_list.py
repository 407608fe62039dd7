"""`sow job list`."""

import click

from sow.cli.arguments import here
from sow.cli.job_record import job_record, note_on, open_jobs, took
from sow.cli.last_job import present_project
from sow.cli.output import COUNT, echo_json_lines, echo_table, json_option
from sow.clock import utc_now
from sow.ids import parse_task_id
from sow.jobs import jobs
from sow.jobs.unverifiable import in_doubt
from sow.paths import Workspace
from sow.schema.job import Job

HEADER = ("JOB", "TASK", "VERB", "AGENT", "EXECUTOR", "STATE", "STATUS", "TOOK", "NOTE")


@click.command("list")
@click.option("--task", help="Only the jobs of this task of the present project.")
@click.option("--active", is_flag=True, help="Only jobs that have not ended.")
@click.option(
    "-n",
    "--limit",
    default=20,
    show_default=True,
    type=COUNT,
    help="How many, at most.",
)
@json_option
def list_jobs(task: str | None, active: bool, limit: int, as_json: bool) -> None:
    """List jobs, the newest first."""
    workspace = here()
    database = open_jobs(workspace)
    found: list[Job] = []
    if database is not None:
        task_id = parse_task_id(task) if task else None
        project_id = present_project(workspace) if task else None
        found = jobs.recent_jobs(
            database, limit=limit, project_id=project_id, task_id=task_id, active_only=active
        )
    now = utc_now()
    doubtful = in_doubt(workspace, database, found) if database is not None else frozenset()
    if as_json:
        echo_json_lines(
            job_record(workspace, job, now, in_doubt=job.id in doubtful) for job in found
        )
    elif found:
        rows = [_row(workspace, job, now, in_doubt=job.id in doubtful) for job in found]
        echo_table(HEADER, rows)
    else:
        click.echo(_none(task=task, active=active), err=True)


def _none(*, task: str | None, active: bool) -> str:
    """Return what to say where nothing is listed: a filter is no sign that nothing was queued."""
    of = f" of task {task}" if task else ""
    if active:
        return f"No job{of} runs or waits. `sow job list` shows those that have ended."
    if task:
        return f"No job{of} is on record. `sow task list` shows the tasks."
    return "No jobs. Queue one: sow agent spawn implementer 010"


def _row(workspace: Workspace, job: Job, now: float, *, in_doubt: bool) -> tuple[str, ...]:
    return (
        str(job.id),
        job.task_id,
        job.verb.value,
        job.agent,
        job.executor.name,
        job.state.value,
        job.outcome_status.value if job.outcome_status else "-",
        took(job, now),
        note_on(workspace, job, now, in_doubt=in_doubt),
    )
