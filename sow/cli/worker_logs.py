"""`sow worker logs`."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn

from sow.cli import late_click as click
from sow.cli.arguments import here
from sow.cli.output import MOST, echo_json_lines, json_option
from sow.cli.streams import wait_for_more
from sow.files import open_regular
from sow.jobs.run_names import changed_at, worker_logs

LOOK_SECONDS = 0.2
BLOCK_BYTES = 1 << 16
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
        if text := _last_lines(path, lines):
            show(path, text)
    if follow:
        _follow_files(paths, show)


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


def _last_lines(path: Path, count: int) -> str:
    """Return the last `count` lines of a file, read from its end; none where it is 0."""
    if not count:
        return ""
    with os.fdopen(open_regular(path), "rb") as file:
        file.seek(0, 2)
        position = file.tell()
        data = b""
        while position and data.count(b"\n") <= count:
            step = min(BLOCK_BYTES, position)
            position -= step
            file.seek(position)
            data = file.read(step) + data
    lines = data.splitlines(keepends=True)[-count:]
    return b"".join(lines).decode("utf-8", "replace")


def _follow_files(
    paths: Callable[[], Iterable[Path]], show: Callable[[Path, str], None]
) -> NoReturn:
    """Show the lines that files gain from now on, and new files whole."""
    positions = {path: path.stat().st_size for path in paths()}
    while True:
        for path in paths():
            text, positions[path] = _read_from(path, positions.get(path, 0))
            if text:
                show(path, text)
        wait_for_more(LOOK_SECONDS)


def _read_from(path: Path, position: int) -> tuple[str, int]:
    """Return the whole lines that stand in a file from `position` on, and where they end."""
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            file.seek(position)
            data = file.read()
            data = data[: data.rfind(b"\n") + 1]
    except FileNotFoundError:
        return "", position
    return data.decode("utf-8", "replace"), position + len(data)
