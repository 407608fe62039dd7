"""`sow job show`, `sow job explain` and `sow task explain`: one job, in figures or as a story."""

import shlex
from contextlib import closing

from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.arguments import here, task_argument
from sow.cli.job_record import (
    duration_text,
    echo_facts,
    note_on,
    open_job,
    outcome_is_shown,
)
from sow.cli.output import echo_json, echo_result, json_option, shown_state
from sow.cli.queue_until_end import close_at_end
from sow.clock import Times, utc_now
from sow.ids import TaskId
from sow.jobs import jobs, spending
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.reports.costs import cost_words, token_words
from sow.reports.seen import see_job, seen_in
from sow.reports.views import job_detail, job_story
from sow.reports.wording import asked_of
from sow.schema.job import Job
from sow.schema.output.jobs import AttemptView, JobDetail


@click.command()
@click.argument("job_id", metavar="JOB", shell_complete=completing.jobs)
@json_option
def show(job_id: str, as_json: bool) -> None:
    """Show JOB: what was asked for, each attempt, and how it ended."""
    workspace = here()
    database, job = open_job(workspace, job_id)
    close_at_end(database)
    now = utc_now()
    seen = see_job(workspace, database, job, now)
    attempts = jobs.attempts(database, job.id)
    used = spending.used_by_job(database, job.id, now=now)
    by_attempt = spending.used_by_attempts(database, job.id, now=now)
    ran = {}
    if database.is_shared:
        from sow.jobs.hosts import where_attempts_ran  # few queues are

        ran = where_attempts_ran(database, job.id)
    view = job_detail(workspace, job, attempts, seen, used, by_attempt, ran)
    if as_json:
        echo_json(view)
    else:
        _print(job, view, note=note_on(job, seen), now=now)
    outcome_is_shown(workspace, database, job)


def _print(job: Job, view: JobDetail, *, note: str, now: float) -> None:
    times = Times(now)
    echo_facts(
        [
            (
                "job",
                f"{job.id} ({asked_of(job)})",
            ),
            ("state", shown_state(job.state.value)),
            ("note", note),
            ("status", shown_state(job.outcome_status) if job.outcome_status else None),
            ("cause", view.cause),
            ("took", duration_text(job, now)),
            ("cost", _cost(view)),
            ("tokens", token_words(view.used)),
            ("denied tools", ", ".join(job.denied_tools)),
            ("called by", f"job {job.parent}" if job.parent else None),
            ("prompt", job.prompt.strip()),
            ("queued", times.when(job.created_at)),
            ("ended", times.when(job.ended_at) if job.ended_at else None),
        ]
    )
    for attempt in view.attempts:
        click.echo(f"\nattempt {attempt.attempt}")
        echo_facts(
            [
                ("  verb", attempt.verb),
                ("  command", shlex.join(attempt.argv)),
                ("  host", attempt.host),
                ("  session", attempt.session_id),
                ("  supervisor", attempt.pid),
                ("  cause", attempt.cause),
                ("  reason", attempt.reason),
                ("  exit", _exit(attempt)),
                ("  tool calls", attempt.tool_uses),
                ("  cost", cost_words(attempt.used) if attempt.used else None),
                ("  tokens", token_words(attempt.used) if attempt.used else None),
                ("  cpu", f"{attempt.cpu_seconds} s" if attempt.cpu_seconds is not None else None),
                ("  files", attempt.folder or f"on {attempt.host}"),
            ]
        )


def _cost(view: JobDetail) -> str | None:
    """Return what the job has cost; of one that an older sow has run, as that has told it."""
    if view.used.run_count or view.cost_usd is None:
        return cost_words(view.used)
    return f"${view.cost_usd:.4f}"


def _exit(attempt: AttemptView) -> str | None:
    if attempt.exit_signal is not None:
        return f"signal {attempt.exit_signal}"
    return None if attempt.exit_code is None else f"code {attempt.exit_code}"


@click.command()
@click.argument("job_id", metavar="JOB", shell_complete=completing.jobs)
@json_option
def explain(job_id: str, as_json: bool) -> None:
    """Explain what happened to JOB, attempt by attempt, and what happens next."""
    workspace = here()
    database, job = open_job(workspace, job_id)
    close_at_end(database)
    _print_story(workspace, database, job, as_json=as_json)


@click.command()
@task_argument
@json_option
def explain_task(task_id: TaskId, as_json: bool) -> None:
    """Explain what happened to the last job of TASK, and what happens next.

    `sow job explain` does the same for a job by its number.
    """
    # It asks for agents that no record names.
    from sow.calls.last_job import open_last_job

    workspace = here()
    database, job = open_last_job(workspace, task_id)
    with closing(database):
        _print_story(workspace, database, job, as_json=as_json)


def _print_story(workspace: Workspace, database: Database, job: Job, *, as_json: bool) -> None:
    """Print what happened to a job and what happens next; its outcome is shown by that."""
    # Half as much again as what the figures need.
    from sow.reports.explain import explain as explain_job
    from sow.reports.prospects import look_around

    now = utc_now()
    attempts = jobs.attempts(database, job.id)
    around = look_around(workspace, database, job, now=now)
    lines = explain_job(job, attempts, around, Times(now, in_utc=as_json))
    view = job_story(job, attempts, seen_in(job, around, now), lines)
    echo_result(view, "\n".join(lines), as_json=as_json)
    outcome_is_shown(workspace, database, job)
