"""The commands on a batch that was made: list, show, wait, add, remove, pause, resume, cancel."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

from sow.batches.gathering import Seen
from sow.batches.views import exit_code_of, listed, standings_of
from sow.calls import batch_changes
from sow.calls.batch_changes import find
from sow.calls.batch_wait import look_at_batch, look_surely, tell_of_files
from sow.calls.caller import Caller
from sow.cli import completing, completing_names
from sow.cli import late_click as click
from sow.cli.arguments import about_tasks, this_caller
from sow.cli.batch_words import short_of, staff
from sow.cli.batch_words import show as show_batch
from sow.cli.call_options import WaitOptions, call_options, feature_options, since_option
from sow.cli.output import COUNT, echo_json, echo_list, json_option, shown_state
from sow.ids import ProjectId, TaskId, parse_task_id
from sow.jobs import batches, jobs
from sow.jobs.batches import UnknownBatch
from sow.jobs.database import Database, open_existing_queue
from sow.schema.batch import Batch
from sow.schema.output.batches import BatchView
from sow.state.projects import read_project

newest_or_named = click.argument(
    "name", metavar="[BATCH]", required=False, shell_complete=completing_names.batches
)
named = click.argument("name", metavar="BATCH", shell_complete=completing_names.batches)
tasks_argument = click.argument(
    "tasks", metavar="TASK...", nargs=-1, required=True, shell_complete=completing.tasks
)


class Found(NamedTuple):
    """A batch, and what its commands need."""

    caller: Caller
    database: Database
    batch: Batch


@contextmanager
def _find(name: str | None) -> Iterator[Found]:
    """Open the queue for the batch that is named, or the newest. Raises UnknownBatch."""
    caller = this_caller()
    database = open_existing_queue(caller.workspace)
    if database is None:
        raise UnknownBatch(name or "on record")
    with closing(database):
        yield Found(caller, database, find(caller, database, name))


@click.command("list")
@click.option("-n", "--limit", default=20, show_default=True, type=COUNT, help="At most this many.")
@json_option
def list_batches(limit: int, as_json: bool) -> None:
    """List the batches of the project, the newest first.

    It shows the records; `sow batch show` reads the tasks' files too.
    """
    caller = this_caller()
    database = open_existing_queue(caller.workspace)
    views: Sequence[BatchView] = ()
    if database is not None:
        with closing(database):
            project_id = ProjectId(read_project(caller.workspace).id)
            found = batches.all_batches(database, project_id, limit=limit)
            views = listed(database, project_id, found)
    none = "No batches. Make one: sow batch run"
    header = ("BATCH", "NAME", "STATE", "TASKS")
    echo_list(views, header, _row, none=none, states=["STATE"], as_json=as_json)


def _row(view: BatchView) -> tuple[str, ...]:
    tasks = ", ".join(f"{count} {state}" for state, count in view.counts.items())
    behind = "; a worker is to look" if view.is_behind else ""
    return (str(view.batch), view.name or "-", view.state, tasks + behind)


@click.command()
@newest_or_named
@json_option
def show(name: str | None, as_json: bool) -> None:
    """Show the state of each task of BATCH, and what it needs; default: the newest batch."""
    with _find(name) as (caller, database, batch):
        config = caller.load_configuration()
        look = look_surely(caller, database, config, batch.id, Seen(caller.workspace))
        show_batch(caller, database, look, WaitOptions(as_json=as_json))


@click.command()
@newest_or_named
@since_option
@call_options(None)
def wait(name: str | None, since: str | None, options: WaitOptions) -> int:
    """Wait until each task of BATCH has ended or needs a person; default: the newest batch.

    With --since it returns at the first change after CURSOR instead, with all that changed
    and the next cursor. Exit: as for `sow batch run`.
    """
    with _find(name) as found:
        if since is not None:
            return _wait_since(found, since, options)
    # Only what waits needs it.
    from sow.cli.batch_waiting import wait_and_print

    return wait_and_print(found.caller, found.batch.id, options)


def _wait_since(found: Found, since: str, options: WaitOptions) -> int:
    """Wait for the first change of a batch after a cursor."""
    # Only `--since` reads the record of changes.
    from sow.cli.cursor_wait import wait_since
    from sow.jobs.changes import Filter

    caller, database, batch = found
    seen, config = Seen(caller.workspace), caller.load_configuration()
    tell_of_files(caller, database, look_at_batch(caller, database, config, batch.id, seen))

    def code() -> int:
        look = look_at_batch(caller, database, config, batch.id, seen)
        states = [each.state for each in standings_of(database, look.batch, look.plan)]
        return int(exit_code_of(look.batch, states, rests=look.rests))

    return wait_since(caller, database, since, options, wanted=Filter(batch=batch.id), code=code)


@click.command()
@named
@tasks_argument
@json_option
def add(name: str, tasks: tuple[str, ...], as_json: bool) -> None:
    """Add each TASK to BATCH."""
    task_ids = _parsed(tasks)
    with _find(name) as found:
        batch_changes.add(*found, task_ids)
        staff(found.caller, found.database)
        words = f"Batch {found.batch.id} has {', '.join(dict.fromkeys(task_ids))}"
        _print(found, words, as_json=as_json)


@click.command()
@named
@tasks_argument
@json_option
def remove(name: str, tasks: tuple[str, ...], as_json: bool) -> None:
    """Remove each TASK from BATCH; its running job continues."""
    task_ids = _parsed(tasks)
    with _find(name) as found:
        batch_changes.remove(*found, task_ids)
        if jobs.has_active_jobs(found.database):
            # One that has waited for its paused batch waits no more.
            staff(found.caller, found.database)
        words = f"Batch {found.batch.id} is without {', '.join(task_ids)}"
        _print(found, words, as_json=as_json)


def _parsed(tasks: Sequence[str]) -> list[TaskId]:
    about_tasks(*tasks)
    return [parse_task_id(task) for task in tasks]


@click.command()
@newest_or_named
@json_option
def pause(name: str | None, as_json: bool) -> None:
    """Start no more jobs of BATCH; running jobs continue."""
    with _find(name) as found:
        batch = found.batch
        state = shown_state(batch_changes.pause(found.database, batch).state)
        words = f"Batch {batch.id} is {state}; sow batch resume {batch.label}"
        _print(found, words, as_json=as_json)


@click.command()
@newest_or_named
@feature_options
@json_option
def resume(name: str | None, asked: Mapping[str, Any], as_json: bool) -> None:
    """Continue BATCH, and try its failed tasks again."""
    with _find(name) as found:
        caller, database, batch = found
        batch_changes.ask_features(database, batch, asked)
        state = shown_state(batch_changes.resume(caller, database, batch).state)
        staff(caller, database)
        words = f"Batch {batch.id} is {state}; sow batch wait {batch.label}"
        _print(found, words, as_json=as_json)


@click.command()
@newest_or_named
@json_option
def cancel(name: str | None, as_json: bool) -> None:
    """Cancel BATCH and its jobs that have not ended. Finished tasks stay finished."""
    # It ends jobs, which no other command of batches does.
    from sow.calls.batch_cancel import cancel_batch

    with _find(name) as found:
        left = cancel_batch(*found)
        going = f"; these jobs have not ended yet: {', '.join(map(str, left))}" if left else ""
        _print(found, f"Batch {found.batch.id} is cancelled{going}", as_json=as_json)


def _print(found: Found, words: str, *, as_json: bool) -> None:
    """Print what has become of a batch."""
    caller, database, batch = found
    if as_json:
        now = batches.get_batch(database, batch.id)
        echo_json(short_of(caller, database, now, Seen(caller.workspace)))
    else:
        click.echo(words)
