"""`sow job`: what was queued, run, and how it ended."""

import click

from sow.cli.lazy import LazyCommand, LazyGroup

COMMANDS = {
    "list": LazyCommand("sow.cli.job_list:list_jobs", "List jobs, the newest first."),
    "show": LazyCommand("sow.cli.job_show:show", "Show one job and its attempts."),
    "explain": LazyCommand("sow.cli.job_explain:explain", "Tell what happened, and what is next."),
    "wait": LazyCommand("sow.cli.job_wait:wait", "Wait for the outcome of jobs."),
    "retry": LazyCommand("sow.cli.job_retry:retry", "Make a job that has ended again."),
    "cancel": LazyCommand("sow.cli.job_cancel:cancel", "End a job."),
    "resolve": LazyCommand(
        "sow.cli.job_resolve:resolve", "Say that what sow cannot see of a job is gone."
    ),
    "prune": LazyCommand("sow.cli.job_prune:prune", "Remove the records of old jobs."),
    "logs": LazyCommand("sow.cli.job_logs:logs", "Print what a job's agent said and did."),
}


@click.group(cls=LazyGroup, lazy_commands=COMMANDS)
def job() -> None:
    """See what was queued, run, and how it ended."""
