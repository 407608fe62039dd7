"""`sow watch --plain`: what is at work, then a line for each change that matters.

Owns the order. Which changes matter, and their words, is `happenings`'s.
"""

import sys
from contextlib import closing

import click

from sow.cli.changes import FOLLOW_SECONDS
from sow.cli.following import wait_for_more
from sow.cli.happenings import Happening, happening_of, job_of
from sow.cli.output import shown_state
from sow.clock import utc_now
from sow.jobs.change_feed import ChangeFeed
from sow.jobs.database import open_existing_queue
from sow.jobs.jobs import active_jobs
from sow.paths import Workspace
from sow.reports.prospects import look_around, look_at_staff
from sow.reports.standing import words_of
from sow.schema.job import Job
from sow.terminal_text import printable


def watch_in_lines(workspace: Workspace) -> None:
    """Print what is at work and waits, then each change that matters, until a signal ends it."""
    # From here on, so that no change between the two is missed; one may be told by both.
    feed = ChangeFeed(workspace, None, last=0)
    with closing(feed):
        list(feed.read(now=utc_now()))
        _print_standings(workspace)
        sys.stdout.flush()
        while True:
            wait_for_more(FOLLOW_SECONDS)
            _print_changes(workspace, feed)


def _print_standings(workspace: Workspace) -> None:
    database = open_existing_queue(workspace)
    if database is None:
        click.echo("Nothing was ever queued here; what happens from now on is shown.", err=True)
        return
    with closing(database):
        live = active_jobs(database)
        staff = look_at_staff(workspace, database)
        for job in live:
            now = utc_now()
            around = look_around(workspace, database, job, now=now, staff=staff)
            _echo(Happening(now, job.task_id, standing(job, words_of(job, around, now))), now)
        if not live:
            click.echo("Nothing is at work; what happens from now on is shown.", err=True)


def standing(job: Job, words: str) -> str:
    """Return how a job stands, on one line: who, in which state, and what it does or waits for."""
    who = job.agent or job.verb.value
    return printable(f"{who} {job.state}{f': {words}' if words else ''} (job {job.id})")


def _print_changes(workspace: Workspace, feed: ChangeFeed) -> None:
    now = utc_now()
    changes = list(feed.read(now=now))
    database = open_existing_queue(workspace) if changes else None
    if database is None:
        return
    with closing(database):
        for change in changes:
            happening = happening_of(change, job_of(database, change))
            if happening is not None:
                _echo(happening, now)
    sys.stdout.flush()


def _echo(happening: Happening, now: float) -> None:
    click.echo(happening.line(now, shown_state))
