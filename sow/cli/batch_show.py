"""`sow batch list`, `show` and `wait`."""

from contextlib import closing

import click

from sow.batches.gathering import Seen
from sow.batches.views import exit_code_of, listed, standings_of
from sow.calls.batch_changes import find, open_records
from sow.calls.batch_wait import look_at_batch, look_surely, tell_of_files
from sow.calls.caller import Caller
from sow.cli import completing_names
from sow.cli.batch_words import show as show_batch
from sow.cli.batch_words import wait_and_print
from sow.cli.cursor_wait import since_option, wait_since
from sow.cli.output import COUNT, echo_json_lines, echo_table, json_option
from sow.cli.this_caller import this_caller
from sow.cli.wait_options import WaitOptions, call_options, wait_option
from sow.ids import ProjectId
from sow.jobs import batches
from sow.jobs.batches import UnknownBatch
from sow.jobs.changes import Filter
from sow.jobs.database import Database
from sow.schema.batch import Batch
from sow.state.projects import read_project

batch_argument = click.argument(
    "name", metavar="[BATCH]", required=False, shell_complete=completing_names.batches
)


@click.command("list")
@click.option("-n", "--limit", default=20, show_default=True, type=COUNT, help="At most this many.")
@json_option
def list_batches(limit: int, as_json: bool) -> None:
    """List the batches of the project, the newest first.

    It shows the records; `sow batch show` reads the tasks' files too.
    """
    caller = this_caller()
    database = open_records(caller)
    if database is None:
        _say_none(as_json=as_json)
        return
    with closing(database):
        project_id = ProjectId(read_project(caller.workspace).id)
        found = batches.all_batches(database, project_id, limit=limit)
        views = listed(database, project_id, found)
    if not views:
        _say_none(as_json=as_json)
    elif as_json:
        echo_json_lines(views)
    else:
        rows = [
            (
                str(view.batch),
                view.name or "-",
                view.state,
                ", ".join(f"{count} {state}" for state, count in view.counts.items())
                + ("; a worker is to look" if view.is_behind else ""),
            )
            for view in views
        ]
        echo_table(("BATCH", "NAME", "STATE", "TASKS"), rows, ["STATE"])


def _say_none(*, as_json: bool) -> None:
    if not as_json:
        click.echo("No batches. Make one: sow batch run", err=True)


@click.command()
@batch_argument
@json_option
def show(name: str | None, as_json: bool) -> None:
    """Show the state of each task of BATCH, and what it needs; default: the newest batch."""
    caller = this_caller()
    database = open_records(caller)
    if database is None:
        raise UnknownBatch(name or "on record")
    with closing(database):
        batch = find(caller, database, name)
        config = caller.load_configuration()
        found = look_surely(caller, database, config, batch.id, Seen(caller.workspace))
        show_batch(caller, database, found, WaitOptions(as_json=as_json))


@click.command()
@batch_argument
@since_option
@wait_option
@json_option
def wait(name: str | None, since: str | None, wait: str | None, as_json: bool) -> int:
    """Wait until each task of BATCH has ended or wants a person; without BATCH, of the newest.

    With --since it returns at the first change after CURSOR instead, with all that changed
    and the next cursor. Exit: as of `sow batch run`.
    """
    caller = this_caller()
    options = call_options(as_json=as_json, detach=False, wait=wait)
    database = open_records(caller)
    if database is None:
        raise UnknownBatch(name or "on record")
    with closing(database):
        batch = find(caller, database, name)
        if since is not None:
            return _wait_since(caller, database, batch, since, options)
    return wait_and_print(caller, batch.id, options)


def _wait_since(
    caller: Caller, database: Database, batch: Batch, since: str, options: WaitOptions
) -> int:
    """Wait for the first change of a batch after a cursor."""
    seen, config = Seen(caller.workspace), caller.load_configuration()
    tell_of_files(caller, database, look_at_batch(caller, database, config, batch.id, seen))

    def code() -> int:
        found = look_at_batch(caller, database, config, batch.id, seen)
        standings = standings_of(database, found.batch, found.plan)
        states = [standing.state for standing in standings]
        return int(exit_code_of(found.batch, states, rests=found.rests))

    return wait_since(caller, database, since, options, wanted=Filter(batch=batch.id), code=code)
