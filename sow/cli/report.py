"""`sow report`: what ran when, where the time went, and what came of it.

Each step imports what it needs: all of it is heavy, and help and completion need none of it.
"""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from sow.cli import completing_names
from sow.cli import late_click as click
from sow.cli.arguments import here, working_folder
from sow.cli.confirming import is_somebody_there
from sow.cli.output import echo_json, json_option, shown_state, terminal_width
from sow.clock import utc_now
from sow.errors import UsageError

if TYPE_CHECKING:
    from sow.schema.output.report import Report
    from sow.schema.output.stats import Stats


WIDTH = 80
"""How wide the lines are that go to no terminal."""


@click.command()
@click.option(
    "--batch",
    "name",
    metavar="BATCH",
    shell_complete=completing_names.batches,
    help="Only of this batch, by its number or name; otherwise of the whole project.",
)
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write it as one page that needs no other file and no server.",
)
@click.option(
    "--open", "opens", is_flag=True, help="Show the page in your browser; without --html a new one."
)
@json_option
def report(name: str | None, html: Path | None, opens: bool, as_json: bool) -> None:
    """Show what ran when, what waited for what, and where the time went.

    It prints text, or with --html writes a page that you can send to others. It
    shows each attempt and the critical path. For each task it shows what it
    waited for and used, what its agents were denied, its log and its changes.
    """
    if opens and not is_somebody_there():
        raise UsageError(
            "--open needs a person at a terminal, but there is no terminal here",
            hint="Write it into a file: sow report --html report.html",
        )
    found, figures = _report(name)
    if html is None and not opens:
        if as_json:
            echo_json(found)
        else:
            _print(found)
        return
    _write(found, figures, html, opens=opens, as_json=as_json)


def _report(name: str | None) -> "tuple[Report, Sequence[Stats]]":
    from sow.jobs import batches
    from sow.jobs.batches import UnknownBatch
    from sow.jobs.database import open_existing_queue
    from sow.timeline.building import report_of
    from sow.timeline.figures import all_figures
    from sow.timeline.gathering import gather
    from sow.timeline.shown_project import shown_project

    workspace = here()
    with ExitStack() as stack:
        database = open_existing_queue(workspace)
        if database is not None:
            stack.callback(database.close)
        shown = shown_project(workspace, database)
        batch = None
        if name is not None:
            if database is None:
                raise UnknownBatch(name)
            batch = batches.find_batch(database, shown.id, name)
        now = utc_now()
        found = report_of(gather(workspace, database, shown, batch, now=now))
        return found, all_figures(database, now=now) if database is not None else ()


def _print(found: "Report") -> None:
    from sow.timeline.text import lines_of

    for line in lines_of(found, terminal_width() or WIDTH, shown_state):
        click.echo(line)


def _write(
    found: "Report", figures: "Sequence[Stats]", html: Path | None, *, opens: bool, as_json: bool
) -> None:
    from sow.files.writing import write_atomically
    from sow.schema.output.report import ReportWritten
    from sow.timeline.page import page_of

    path = _place(html)
    _refuse_foreign(path)
    content = page_of(found, figures).encode()
    write_atomically(path, content, durable=False)
    opened = opens and _open(path)
    if as_json:
        echo_json(ReportWritten(file=str(path), bytes=len(content), opened=opened))
        return
    click.echo(f"{path}  ({len(content) / 1024:.0f} KB)")
    if opens and not opened:
        click.echo("Note: no browser could be started; open the file yourself.", err=True)


def _place(html: Path | None) -> Path:
    """Return where the page is to lie. Raises UsageError where that cannot be."""
    if html is None:
        import tempfile  # only where no file is named

        folder = Path(tempfile.mkdtemp(prefix="sow-report-"))
        return folder / "report.html"
    path = Path(os.path.normpath(working_folder() / html))
    if not path.parent.is_dir():
        raise UsageError(
            f"there is no folder {path.parent}", hint="Give a file in an existing folder."
        )
    return path


def _refuse_foreign(path: Path) -> None:
    """Raise where a file lies there that is no report: a slip must not cost anybody a file."""
    from sow.files import NotAFile, open_regular
    from sow.timeline.page import MARK

    try:
        with os.fdopen(open_regular(path), "rb") as file:
            begins = file.read(len(MARK)).decode("utf-8", "replace")
    except FileNotFoundError:
        return
    except NotAFile:  # a pipe would hold us up for ever
        begins = ""
    if begins != MARK:
        raise UsageError(
            f"{path} exists, but it is not a report",
            hint="Name another file, or remove that one first.",
        )


def _open(path: Path) -> bool:
    """Have the user's browser show a page; whether one was started."""
    import webbrowser  # only for this

    try:
        return webbrowser.open(path.as_uri())
    except (webbrowser.Error, OSError):
        return False
