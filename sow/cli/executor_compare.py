"""`sow executor compare`: the same tasks, done by each of several executors.

Owns the question beforehand, and how the result is printed. How the tasks are done is
`executor_comparison`'s.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from sow.cli import late_click as click
from sow.cli.arguments import here, read_given
from sow.cli.config import configuration_here
from sow.cli.confirming import confirm
from sow.cli.executor_comparison import Comparison, done_by
from sow.cli.output import echo_json, echo_table, json_option
from sow.cli.own_repository import end_what_was_left, own_folder
from sow.cli.this_call import usage_error
from sow.cli.trial_time import ASK_LONGER, TIME_IS_UP, time_options, trial_time
from sow.clock import format_duration
from sow.errors import ExitCode
from sow.executors.registry import make_executor
from sow.paths import display_path
from sow.schema.output.executors import ComparedTask
from sow.state.bulk.entries import STDIN, read_entries
from sow.timeline.words import money, tokens

HEADER = ("EXECUTOR", "TASK", "NAME", "STATUS", "CHECK", "REVIEW", "ITER", "TIME", "TOKENS", "COST")
SPARE = ("NAME", "REVIEW", "ITER")


@click.command("compare")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--executors", required=True, metavar="A,B", help="The executors, by name.")
@click.option("--review", is_flag=True, help="Let your reviewer judge each task.")
@click.option(
    "--max-iterations",
    type=click.IntRange(0, 1000),
    default=3,
    help="How often work may go back to its author.  [default: 3]",
)
@time_options("30m")
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    help="Use this new or empty folder, and keep it.",
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask first.")
@json_option
def compare(
    file: Path,
    executors: str,
    review: bool,
    max_iterations: int,
    timeout: str,
    wait: str | None,
    keep: Path | None,
    yes: bool,
    as_json: bool,
) -> int:
    """Let each of several executors do the tasks in FILE, and compare the results.

    FILE is as for `sow task import` (- is standard input). Each executor gets a clone of
    HEAD, in which it does one task after the other. Your checkout is not changed.
    The repository's checks run if you have accepted them (`sow trust`), and work that
    fails goes back to its author. Without checks and --review, a task counts as done
    when its agent says so. The runs use your tokens. A signal ends it with its agents and
    workers, as --wait does.

    Exit: 0 every task is done; 1 a task is not; 2 there is no terminal to ask on, and no
    --yes; 5 an executor is unknown, or its program is not installed; 75 the time of
    --wait was up; 130 interrupted.
    """
    names = tuple(dict.fromkeys(filter(None, (name.strip() for name in executors.split(",")))))
    if not names:
        raise usage_error("--executors: name at least one")
    time = trial_time(timeout, wait)
    end_what_was_left()
    workspace = here()
    text = read_given(file, "FILE")
    entries = read_entries(text, Path(STDIN) if str(file) == "-" else file).entries
    configuration = configuration_here(os.environ)
    for name in names:
        make_executor(configuration.executor(name)).validate_availability(os.environ.get("PATH"))
    who = " and ".join(names)
    question = f"{who} each do {len(entries)} tasks with your login and use its tokens. Go on?"
    if not yes and not confirm(question, option="--yes"):
        click.echo("Nothing was run.", err=True)
        return int(ExitCode.FAILED)
    rows: list[ComparedTask] = []
    try:
        with own_folder(keep, "compare") as own:
            tasks = own.path / ".tasks"
            tasks.write_bytes(text)
            name_checks = all(entry.checks for entry in entries)
            wanted = Comparison(workspace, tasks, name_checks, review, max_iterations, time)
            for name in names:
                timed_out = time.is_up
                click.echo(f"{name}: {TIME_IS_UP if timed_out else 'starts'}", err=True)
                if not timed_out:
                    rows += done_by(wanted, name, own)
            timed_out = time.is_up
    finally:
        _print(rows, as_json=as_json)  # those of the first ones, where a later one fails
    if keep is not None:
        click.echo(f"Everything is left in {display_path(own.path)}", err=True)
    if timed_out:
        click.echo(ASK_LONGER, err=True)
        return int(ExitCode.STILL_RUNNING)
    return int(ExitCode.OK if all(map(_is_well, rows)) else ExitCode.FAILED)


def _print(rows: Sequence[ComparedTask], *, as_json: bool) -> None:
    for row in rows if as_json else ():
        echo_json(row)
    if rows and not as_json:
        echo_table(HEADER, map(_row, rows), states=("STATUS",), spare=SPARE)


def _row(row: ComparedTask) -> Sequence[str]:
    check = "-" if row.check_passed is None else "passed" if row.check_passed else "failed"
    return (
        row.executor,
        row.task,
        row.name,
        row.status,
        check,
        row.verdict or "-",
        str(row.iteration),
        format_duration(row.used.seconds) if row.used else "-",
        tokens(row.used),
        money(row.used),
    )


def _is_well(row: ComparedTask) -> bool:
    return row.status in ("needs_review", "completed") and row.check_passed is not False
