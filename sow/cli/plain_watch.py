"""`sow watch --plain`: what is at work, then a line for each change that matters.

Owns the order. Which changes matter, and their words, is `happenings`'s; when it is told that
requests fail, which is on no record, `failing_requests`'s.
"""

import sys
from contextlib import closing

import click

from sow.cli.changes import FOLLOW_SECONDS
from sow.cli.failing_requests import FailingRequests
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
    failing = FailingRequests()
    with closing(feed):
        list(feed.read(now=utc_now()))
        feed.last = None  # of a queue that is made later nothing is past
        _print_standings(workspace, failing)
        sys.stdout.flush()
        while True:
            wait_for_more(FOLLOW_SECONDS)
            _print_news(workspace, feed, failing)


def _print_standings(workspace: Workspace, failing: FailingRequests) -> None:
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
            failing.tell(job, around.activity, now)  # the line has told it
        if not live:
            click.echo("Nothing is at work; what happens from now on is shown.", err=True)


def standing(job: Job, words: str) -> str:
    """Return how a job stands, on one line: who, in which state, and what it does or waits for."""
    who = job.agent or job.verb.value
    return printable(f"{who} {job.state}{f': {words}' if words else ''} (job {job.id})")


def _print_news(workspace: Workspace, feed: ChangeFeed, failing: FailingRequests) -> None:
    now = utc_now()
    changes = list(feed.read(now=now))
    database = open_existing_queue(workspace) if changes or failing.is_due() else None
    if database is None:
        return
    with closing(database):
        happenings = [happening_of(change, job_of(database, change)) for change in changes]
        for happening in [*happenings, *failing.read(workspace, database, lambda _: True, now)]:
            if happening is not None:
                _echo(happening, now)
    sys.stdout.flush()


def _echo(happening: Happening, now: float) -> None:
    click.echo(happening.line(now, shown_state))
