"""`sow batch run`."""

from collections.abc import Mapping
from contextlib import closing
from typing import Any

import msgspec

from sow.calls.batch_changes import selection_of
from sow.calls.batch_making import Made, Wanted, make_or_attach
from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.arguments import about_tasks, this_caller
from sow.cli.batch_waiting import wait_and_print
from sow.cli.batch_words import staff
from sow.cli.call_options import WaitOptions, call_options, feature_options
from sow.cli.confirming import before_approval_option, refuse_override_here
from sow.cli.output import COUNT, echo_result
from sow.config.batches import policy_of
from sow.config.checks import read_repository
from sow.errors import UsageError
from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.schema.output.batches import NoBatch
from sow.terminal_text import readable


@click.command()
@click.argument("tasks", metavar="[TASK]...", nargs=-1, shell_complete=completing.tasks)
@click.option("--phase", help="Only the tasks of this phase.", shell_complete=completing.phases)
@click.option(
    "--name", default="", help="Its name; other commands accept it in place of the number."
)
@click.option("--max-parallel", type=COUNT, help="How many of its agents may run at once.")
@click.option(
    "--keep-going", is_flag=True, help="Continue with other tasks when a task has failed."
)
@click.option("--fail-fast", is_flag=True, help="Start no other task when a task has failed.")
@click.option("--clone/--no-clone", default=None, help="Run each task in a clone of its own.")
@click.option("--check/--no-check", default=None, help="Run the checks after each author's job.")
@click.option("--review/--no-review", default=None, help="Let an agent review each task.")
@click.option("--reviewer", help="The role that reviews.", shell_complete=completing.roles)
@click.option(
    "--max-iterations",
    type=click.IntRange(0, 1000),
    help="How often work goes back to its author before a person is asked (default: 3).",
)
@click.option("--merge/--no-merge", default=None, help="Merge accepted tasks.")
@click.option(
    "--accept",
    type=click.Choice(["person", "check"]),
    help="Who accepts tasks without a reviewer (default: person).",
)
@before_approval_option
@feature_options
@call_options("Return at once; the workers continue.")
def run(
    tasks: tuple[str, ...],
    phase: str | None,
    name: str,
    keep_going: bool,
    fail_fast: bool,
    before_approval: bool,
    asked: Mapping[str, Any],
    options: WaitOptions,
    **policy: Any,
) -> int:
    """Run each TASK in the order of the dependencies, and wait.

    Without a TASK: all unfinished tasks. The workers run the batch, even if this
    command is killed; run it again to continue waiting. It returns when each task
    has ended or needs a person. It then prints a table, and a line for each task
    that needs a person. Default options come from `batch` in .sow/config.yaml.
    Tasks of a plan that is not approved and started are refused, as by `sow agent
    spawn`.

    Exit: 0 all done, 1 any failed, is blocked or needs a person, or the batch is
    paused, 7 cancelled, 75 still running, 130 interrupted. With --detach 0 while
    the batch is running, also if it waits for a person.
    """
    about_tasks(*tasks)
    caller = this_caller()
    refuse_override_here(caller, before_approval)
    given = {"fail_fast": _stops(keep_going=keep_going, fail_fast=fail_fast), **policy}
    source = read_repository(caller.workspace.repository_config)
    chosen = {key: value for key, value in given.items() if value is not None}
    wanted = Wanted(
        selection_of(tasks, readable(phase) if phase else None),
        msgspec.structs.replace(policy_of(source, chosen, asked), before_approval=before_approval),
        readable(name),
        asked,
    )
    with closing(open_queue(caller.workspace)) as database:
        made = make_or_attach(caller, database, wanted)
        if made is None:
            words = "Nothing to do: every task is finished or in a batch already."
            echo_result(NoBatch(), words, as_json=options.as_json)
            return 0
        _tell(made)
        if not made.attached and not jobs.newest_id(database):
            # Once in the life of a queue: a batch's jobs are placed by workers, which tell nobody.
            from sow.cli.trust_note import name_unaccepted

            name_unaccepted(caller, caller.load_configuration())
        if options.detach:
            staff(caller, database)
    return wait_and_print(caller, made.batch.id, options)


def _stops(*, keep_going: bool, fail_fast: bool) -> bool | None:
    """Return whether the first failure stops the batch; None where the call does not say."""
    if keep_going and fail_fast:
        words = "--keep-going and --fail-fast exclude each other"
        raise UsageError(words, hint="Give only one of them.")
    return fail_fast if keep_going or fail_fast else None


def _tell(made: Made) -> None:
    if made.attached:
        how = "has ended" if made.batch.state.has_ended else "goes on"
        click.echo(f"Note: batch {made.batch.id}, which the same command made, {how}", err=True)
    for note in made.notes:
        click.echo(f"Note: {note}", err=True)
