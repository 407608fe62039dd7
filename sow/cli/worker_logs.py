"""`sow worker logs`."""

from pathlib import Path

import click

from sow.cli.arguments import here
from sow.cli.following import follow_files, last_lines
from sow.cli.output import MOST, echo_json_lines, json_option
from sow.jobs.run_names import changed_at, worker_logs

SHOWN_WORKERS = 5
"""Older workers' logs stay on disk and are not shown."""


@click.command()
@click.option(
    "-n",
    "--lines",
    default=50,
    show_default=True,
    type=click.IntRange(0, MOST),
    help="How many lines of each log.",
)
@click.option("-f", "--follow", is_flag=True, help="Print new lines as they are written.")
@json_option
def logs(lines: int, follow: bool, as_json: bool) -> None:
    """Print the logs of background workers, the newest worker last."""
    folder = here().workers
    show = _show_json if as_json else _Headed().show

    def paths() -> list[Path]:
        return sorted(worker_logs(folder), key=changed_at)

    newest = paths()[-SHOWN_WORKERS:]
    if not newest and not as_json:
        click.echo("No background worker has run here.")
    for path in newest:
        if text := last_lines(path, lines):
            show(path, text)
    if follow:
        follow_files(paths, show)


def _show_json(path: Path, text: str) -> None:
    echo_json_lines({"worker": path.stem, "text": line} for line in text.splitlines())


class _Headed:
    """Prints lines below the name of the log that they stand in."""

    def __init__(self) -> None:
        self.last: Path | None = None

    def show(self, path: Path, text: str) -> None:
        if path != self.last:
            click.echo(f"==> {path.name} <==")
        self.last = path
        click.echo(text, nl=False)
