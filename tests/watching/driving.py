"""Drives the live view without a terminal."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from textual.pilot import Pilot
from textual.widgets import Input

from sow.calls.caller import Caller
from sow.cli.output import COLOURS
from sow.watching.app import WatchApp
from sow.watching.drawing import styles_of
from sow.watching.listing import Listing

DEADLINE_SECONDS = 300.0

Steps = Callable[[WatchApp, Pilot[None]], Awaitable[None]]


def drive(caller: Caller, steps: Steps, size: tuple[int, int] = (120, 40)) -> None:
    """Run the view, and do these steps once it has rows."""

    async def run() -> None:
        app = WatchApp(caller, styles_of(COLOURS))
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: app.query_one(Listing).chosen is not None)
            await steps(app, pilot)

    asyncio.run(run())


async def until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    """Wait until something holds; fail where it never does."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, text_of(pilot.app)
        await pilot.pause(0.02)


async def shows(pilot: Pilot[None], *words: str) -> None:
    """Wait until all these words are on the screen."""
    await until(pilot, lambda: all(each in text_of(pilot.app) for each in words))


async def writes(pilot: Pilot[None], key: str, *pressed: str) -> None:
    """Press a key that asks for words, and others once they are words: until then they are keys."""
    await pilot.press(key)
    await until(pilot, lambda: isinstance(pilot.app.focused, Input))
    await pilot.press(*pressed)


def chosen(app: WatchApp) -> str:
    """Return the key of the chosen row."""
    row = app.query_one(Listing).chosen
    return "" if row is None else row.key


def text_of(app: object) -> str:
    """Return all that is on the screen."""
    lines = app.screen._compositor.render_strips()  # type: ignore[attr-defined]
    return "\n".join(strip.text for strip in lines)
