"""The folders in which `sow executor try` and its like work, and what runs in them."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from journeys.site import Site, wait_until

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SOON = 20.0


@contextmanager
def nothing_left(site: Site) -> Iterator[None]:
    """Give such commands a place of their own; in the end nothing lies there or runs."""
    place = site.base / "tmp"
    place.mkdir()
    site.env["TMPDIR"] = str(place)
    try:
        yield
        wait_until(lambda: not at_work(site), "nothing runs any more", SOON)
        assert not list(place.iterdir())
    finally:
        for pid in at_work(site):
            os.kill(pid, signal.SIGKILL)


def at_work(site: Site) -> list[int]:
    """Return what runs there, by the working folder of each process."""
    place = str(site.base / "tmp")
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            found += [int(link.parent.name)] if str(link.readlink()).startswith(place) else []
    return found


def notes_of(site: Site) -> list[Path]:
    """Return the notes about such folders."""
    return list(Path(site.environment()["HOME"]).glob("**/left-folders/*"))


def signals_as_usual() -> None:
    """Have signals act in a child, whatever the tests were started to ignore."""
    for signum in ENDING:
        signal.signal(signum, signal.SIG_DFL)
