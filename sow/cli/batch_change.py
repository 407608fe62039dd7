"""`sow batch add`, `remove`, `pause`, `resume` and `cancel`."""

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

import click

from sow.batches.gathering import Seen
from sow.calls import batch_changes
from sow.calls.autostart import NoWorker, Staffing
from sow.calls.batch_cancel import cancel_batch
from sow.calls.caller import Caller
from sow.cli import completing, completing_names
from sow.cli.arguments import about_tasks
from sow.cli.batch_words import short_of
from sow.cli.feature_options import asked_of_features, feature_options
from sow.cli.output import echo_json, json_option, shown_state
from sow.cli.this_caller import this_caller
from sow.errors import ExitCode
from sow.ids import parse_task_id
from sow.jobs import batches, jobs
from sow.jobs.batches import UnknownBatch
from sow.jobs.database import Database
from sow.schema.batch import Batch

tasks_argument = click.argument(
    "tasks", metavar="TASK...", nargs=-1, required=True, shell_complete=completing.tasks
)


@click.command()
@click.argument("name", metavar="BATCH", shell_complete=completing_names.batches)
@tasks_argument
@json_option
def add(name: str, tasks: tuple[str, ...], as_json: bool) -> int:
    """Add each TASK to BATCH."""
    about_tasks(*tasks)
    named = [parse_task_id(task) for task in tasks]

    def change(caller: Caller, database: Database, batch: Batch) -> str:
        batch_changes.add(caller, database, batch, named)
        _staff(caller, database)
        return f"Batch {batch.id} has {', '.join(dict.fromkeys(named))}"

    return _change(name, change, as_json=as_json)


@click.command()
@click.argument("name", metavar="BATCH", shell_complete=completing_names.batches)
@tasks_argument
@json_option
def remove(name: str, tasks: tuple[str, ...], as_json: bool) -> int:
    """Remove each TASK from BATCH; its running job goes on."""
    about_tasks(*tasks)
    named = [parse_task_id(task) for task in tasks]

    def change(caller: Caller, database: Database, batch: Batch) -> str:
        batch_changes.remove(caller, database, batch, named)
        if jobs.has_active_jobs(database):  # one that has waited for its paused batch waits no more
            _staff(caller, database)
        return f"Batch {batch.id} is without {', '.join(named)}"

    return _change(name, change, as_json=as_json)


@click.command()
@click.argument("name", metavar="[BATCH]", required=False, shell_complete=completing_names.batches)
@json_option
def pause(name: str | None, as_json: bool) -> int:
    """Start no more jobs of BATCH; running jobs go on."""

    def change(_: Caller, database: Database, batch: Batch) -> str:
        paused = batch_changes.pause(database, batch)
        return f"Batch {batch.id} is {shown_state(paused.state)}; sow batch resume {batch.label}"

    return _change(name, change, as_json=as_json)


@click.command()
@click.argument("name", metavar="[BATCH]", required=False, shell_complete=completing_names.batches)
@feature_options
@json_option
def resume(name: str | None, of_features: Mapping[str, Any], as_json: bool) -> int:
    """Continue BATCH, and try its failed tasks again."""
    asked = asked_of_features(of_features)

    def change(caller: Caller, database: Database, batch: Batch) -> str:
        batch_changes.ask_features(database, batch, asked)
        goes_on = batch_changes.resume(caller, database, batch)
        _staff(caller, database)
        return f"Batch {batch.id} is {shown_state(goes_on.state)}; sow batch wait {batch.label}"

    return _change(name, change, as_json=as_json)


@click.command()
@click.argument("name", metavar="[BATCH]", required=False, shell_complete=completing_names.batches)
@json_option
def cancel(name: str | None, as_json: bool) -> int:
    """Cancel BATCH and its jobs that have not ended. Finished tasks stay finished."""

    def change(caller: Caller, database: Database, batch: Batch) -> str:
        left = cancel_batch(caller, database, batch)
        going = f"; these jobs have not ended yet: {', '.join(map(str, left))}" if left else ""
        return f"Batch {batch.id} is cancelled{going}"

    return _change(name, change, as_json=as_json)


def _change(
    name: str | None, change: Callable[[Caller, Database, Batch], str], *, as_json: bool
) -> int:
    """Change a batch and print how it stands."""
    caller = this_caller()
    database = batch_changes.open_records(caller)
    if database is None:
        raise UnknownBatch(name or "on record")
    with closing(database):
        batch = batch_changes.find(caller, database, name)
        words = change(caller, database, batch)
        if as_json:
            now = batches.get_batch(database, batch.id)
            echo_json(short_of(caller, database, now, Seen(caller.workspace)))
        else:
            click.echo(words)
    return int(ExitCode.OK)


def _staff(caller: Caller, database: Database) -> None:
    try:
        Staffing(caller, caller.load_configuration(), database).ensure()
    except NoWorker as error:
        click.echo(f"Note: {error.message}. {error.hint}", err=True)
