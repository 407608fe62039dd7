"""`sow watch`: all that is at work and waits, on a screen, or in a line for each change.

Of `--plain` it owns the order, how long it goes on, and the command that goes on after that. Which
changes matter, and their words, is `happenings`; when it is told that requests fail, which is on
no record, `FailingRequests`. Textual is heavy, and imported for the screen alone.
"""

import os
import shlex
import sys
import time
from contextlib import closing

from sow.calls.caller import Caller
from sow.cli import late_click as click
from sow.cli.arguments import this_caller
from sow.cli.call_options import WaitOptions, bound_of
from sow.cli.changes import FOLLOW_SECONDS
from sow.cli.confirming import is_somebody_there
from sow.cli.happenings import FailingRequests, Happening, happening_on_record
from sow.cli.output import echo_json, json_option, shown_state
from sow.cli.streams import wait_for_more
from sow.clock import utc_now
from sow.errors import ExitCode, UsageError
from sow.jobs.change_feed import ChangeFeed
from sow.jobs.changes import FROM_THE_BEGINNING, Cursor, parse_since
from sow.jobs.database import open_existing_queue
from sow.jobs.jobs import active_jobs
from sow.paths import Workspace
from sow.reports.live_job_words import words_of
from sow.reports.prospects import look_around, look_at_staff
from sow.schema.job import Job
from sow.terminal_text import printable

SCREENLESS = ("", "dumb", "unknown")
"""The values of TERM that say that nothing can be drawn."""
AGENTS_SECONDS = 60.0
"""How long an agent of ours watches whose shell nobody knows: nothing else would end it."""


@click.command()
@click.option("--plain", is_flag=True, help="A line for each change that matters, until Ctrl-C.")
@click.option(
    "--since", metavar="CURSOR", help="Print only changes after this cursor; 0 is the beginning."
)
@click.option(
    "--wait",
    metavar="TIME",
    help="Lines for at most this long (90s, 9m); then exit 75 while a job lives. Also SOW_WAIT.",
)
@json_option
def watch(plain: bool, since: str | None, wait: str | None, as_json: bool) -> int:
    """Show live what all agents do, on one screen.

    Tasks and jobs are listed below their batch or phase: what each agent does,
    since when, why it waits and until when, and what it has used. Keys follow an
    agent, answer, resume, accept, cancel, retry, open its session and pause the
    queue. Each key shows the command that it runs; `?` lists all keys.

    With --plain or --wait, or without a full terminal, it prints the state of
    each running job, then one line for each change that matters, until a signal
    ends it or the time is up. The last line is then the command that continues,
    with --since. With --json it prints once what the screen would show.
    """
    lines = [name for name, given in (("plain", plain), ("since", since), ("wait", wait)) if given]
    if lines and as_json:
        raise UsageError(f"--{lines[0]} is for people, --json for programs: give one of them")
    caller = this_caller()
    if as_json:
        _print_look(caller)
    elif lines or not _has_screen():
        return watch_in_lines(caller, since, wait)
    else:
        return _show(caller)
    return int(ExitCode.OK)


def _has_screen() -> bool:
    """Whether somebody sits at a terminal that can show a screen, which is drawn on stderr."""
    can_draw = os.environ.get("TERM", "") not in SCREENLESS
    return can_draw and is_somebody_there() and sys.stdout.isatty() and sys.stderr.isatty()


def _show(caller: Caller) -> int:
    """Show the screen until it is left; return the exit code. Raises what has ended it."""
    from sow.cli.output import COLOURS
    from sow.watching.app import WatchApp
    from sow.watching.drawing import styles_of

    app = WatchApp(caller, styles_of(COLOURS))
    app.run()
    match app.failure:
        case None:
            pass
        case OSError(filename=None) as error:  # not of standard output, which is not written to
            raise RuntimeError(f"the view: {error}") from error
        case error:
            raise error
    return app.return_code or int(ExitCode.OK)


def _print_look(caller: Caller) -> None:
    from sow.watching.looking import Looks
    from sow.watching.view import watched

    with closing(Looks(caller.workspace, caller.clock)) as looks:
        looks.look()
        live = [row.job for row in looks.last.rows if row.job is not None and row.is_live]
        echo_json(watched(looks.last, looks.doing(live) or {}, caller.now()))


def watch_in_lines(caller: Caller, since: str | None, wait: str | None) -> int:
    """Print how all stands, or what came after a cursor, then each change that matters.

    Until a signal ends it, or its time is up; then it names the command that goes on, and
    returns the exit code.
    """
    seconds, began = _bound(caller, wait), time.monotonic()
    failing = FailingRequests()
    with closing(_feed(caller.workspace, since)) as feed:
        if since is None:
            _print_standings(caller.workspace, failing)
            sys.stdout.flush()
        left = FOLLOW_SECONDS if seconds is None else seconds
        while left > 0:
            wait_for_more(min(left, FOLLOW_SECONDS))
            _print_news(caller.workspace, feed, failing)
            if seconds is not None:
                left = seconds - (time.monotonic() - began)
        code = ExitCode.STILL_RUNNING if _is_any_live(caller.workspace) else ExitCode.OK
        _print_news(caller.workspace, feed, failing)  # also why none lives any more
        click.echo(_command(feed.cursor, wait))
    return int(code)


def _bound(caller: Caller, wait: str | None) -> float | None:
    seconds = bound_of(WaitOptions(as_json=False, wait=wait), caller)
    return AGENTS_SECONDS if seconds is None and caller.job_id is not None else seconds


def _feed(workspace: Workspace, since: str | None) -> ChangeFeed:
    """Return who reads what came after a cursor; without one, what comes from now on."""
    if since is not None:
        return ChangeFeed(workspace, parse_since(since))
    # Before all else is read, so that no change between the two is missed; one may be told by both.
    feed = ChangeFeed(workspace, None, last=0)
    list(feed.read(now=utc_now()))
    feed.last = None  # of a queue that is made later nothing is past
    return feed


def _command(cursor: Cursor | None, wait: str | None) -> str:
    """Return the command that goes on as this call has; without a terminal or with one."""
    words = ["sow", "watch", "--plain", "--since", str(cursor or FROM_THE_BEGINNING)]
    return shlex.join([*words, *(["--wait", wait] if wait else [])])


def _is_any_live(workspace: Workspace) -> bool:
    database = open_existing_queue(workspace)
    if database is None:
        return False
    with closing(database):
        return bool(active_jobs(database))


def _print_standings(workspace: Workspace, failing: FailingRequests) -> None:
    database = open_existing_queue(workspace)
    if database is None:
        click.echo("Nothing was queued here yet; changes from now on are shown.", err=True)
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
            click.echo("Nothing runs; changes from now on are shown.", err=True)


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
        happenings = [happening_on_record(change, database) for change in changes]
        for happening in [*happenings, *failing.read(workspace, database, lambda _: True, now)]:
            if happening is not None:
                _echo(happening, now)
    sys.stdout.flush()


def _echo(happening: Happening, now: float) -> None:
    click.echo(happening.line(now, shown_state))
