"""`sow watch`: its keys against true workers and stand-in agents, and what they run."""

import fcntl
import os
import pty
import signal
import subprocess
import termios
from collections.abc import Callable
from contextlib import suppress

import pytest
from journeys.callers import HANG, gate, good, open_gate, report
from journeys.on_terminal import CLI
from journeys.site import Site, wait_until
from textual.pilot import Pilot
from watching.driving import drive, shows, text_of, until, writes

from sow.calls.caller import Caller
from sow.paths import Workspace
from sow.watching.app import WatchApp
from sow.watching.listing import Listing

pytestmark = pytest.mark.slow
SPAWN = ("agent", "spawn", "implementer")


def caller(site: Site) -> Caller:
    return Caller(Workspace(site.root), site.environment(), site.root)


def state(app: WatchApp, task: str = "010") -> str:
    return next((row.state for row in app.query_one(Listing).visible_rows if row.key == task), "")


def test_a_question_is_answered_followed_and_its_work_accepted(site: Site) -> None:
    site.project("010")
    asks = {"sow": ["agent", "log", "RS256 or HS256?"]}
    site.script([[asks, report("paused")], [{"say": "So **RS256** it is."}, *good()]])
    site.sow(*SPAWN, "010")

    async def steps(app: WatchApp, pilot: Pilot[None]) -> None:
        await shows(pilot, "RS256 or HS256?", "a answer")
        await writes(pilot, "a", *"RS256")
        await shows(pilot, "sow agent answer --id 010 --detach -- RS256")
        await pilot.press("enter")
        await until(pilot, lambda: state(app) == "needs_review")
        await pilot.press("enter")
        await shows(pilot, "So RS256 it is.", "> Bash: sow task set status needs_review")
        await pilot.press("3")
        await shows(pilot, "Resumed with an answer")
        await writes(pilot, "y", *"good", "enter")
        await until(pilot, lambda: state(app) == "completed")
        await shows(pilot, "sow review accept 010 --complete --summary=good")

    drive(caller(site), steps)
    assert site.task("010")["review"]["summary"] == "good"


def test_a_job_is_cancelled_once_that_is_meant_then_made_again(site: Site) -> None:
    site.project("010")
    site.script([HANG, [{"say": "Again."}, *good()], [{"say": "More."}, *good()]])
    site.sow(*SPAWN, "010", "--detach")

    async def steps(app: WatchApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: state(app) == "running")
        await pilot.press("c")
        await shows(pilot, "sow job cancel 1", "y runs it")
        await pilot.press("n")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert state(app) == "running"
        await pilot.press("c")
        await shows(pilot, "y runs it")
        await pilot.press("y")
        await until(pilot, lambda: state(app) == "paused")
        await pilot.press("t")
        await shows(pilot, "sow job retry 1 --detach")
        await until(pilot, lambda: state(app) == "needs_review")
        await writes(pilot, "r", *"and more", "enter")
        await shows(pilot, "sow agent resume --id 010 --detach -- 'and more'")
        await pilot.press("enter")
        await shows(pilot, "More.")

    drive(caller(site), steps)


def test_the_queue_is_paused_and_a_spawned_task_says_that_it_waits(site: Site) -> None:
    site.project("010")
    site.script([[gate("go"), *good()]])

    async def steps(app: WatchApp, pilot: Pilot[None]) -> None:
        await pilot.press("p")
        await shows(pilot, "the queue is paused", "p resume queue", "$ sow queue pause")
        await pilot.press("s")
        await until(pilot, lambda: state(app) == "queued")
        await shows(pilot, "$ sow agent spawn implementer 010 --detach")
        assert "the queue is paused" in text_of(app)
        await pilot.press("p")
        await until(pilot, lambda: state(app) == "running")
        await shows(pilot, "1 worker, 1 of", "slots taken")
        open_gate(site, "go")
        await until(pilot, lambda: state(app) == "needs_review")

    drive(caller(site), steps)


def test_a_session_is_opened_on_the_terminal_and_the_view_comes_back(site: Site) -> None:
    site.project("010")
    site.script([[{"say": "Which one?"}, report("paused")], good()])
    site.sow(*SPAWN, "010")
    programs = site.base / "terminal"
    programs.mkdir()
    (programs / "claude").write_text(CLI)
    (programs / "claude").chmod(0o755)
    keyboard, screen = pty.openpty()
    path = f"{programs}:{site.env['PATH']}"
    process = on_terminal(site, screen, {"PATH": path, "COLUMNS": "80", "LINES": "24"})
    seen = Screen(keyboard)
    seen.wait_for("paused")
    os.write(keyboard, b"o")
    wait_until((site.root / "cli.log").exists, "the CLI is on the terminal")
    (site.root / "cli.do").write_text("exit 0")
    seen.wait_for("Enter leads back")
    os.write(keyboard, b"\r")
    seen.wait_for("sow agent open 010")
    os.write(keyboard, b"q")
    wait_until(lambda: seen.read() or process.poll() is not None, "it is left")
    assert process.returncode == 0
    os.close(keyboard)


@pytest.mark.parametrize("is_told", [True, False], ids=["told", "not told"])
def test_a_terminal_may_shrink_send_no_text_and_go_away(site: Site, is_told: bool) -> None:
    """A process that is not told (SIGHUP blocked, as some launchers leave it) sees it itself."""
    site.project("010", "020")
    keyboard, screen = pty.openpty()
    termios.tcsetwinsize(keyboard, (24, 80))
    process = on_terminal(site, screen, {}, takes=lambda: take_terminal(is_told=is_told))
    seen = Screen(keyboard)
    seen.wait_for("standard, executing")
    termios.tcsetwinsize(keyboard, (5, 20))
    seen.wait_for("standard, …")  # what the first drawings of 80 columns never hold
    termios.tcsetwinsize(keyboard, (24, 80))
    seen.wait_for("standard, executing")
    os.write(keyboard, b"\xe9?")  # a letter of another encoding, then a key
    seen.wait_for("Choose a row")
    os.close(keyboard)
    wait_until(lambda: process.poll() is not None, "the view has ended")
    assert process.returncode == 0


def on_terminal(
    site: Site, screen: int, env: dict[str, str], takes: Callable[[], None] | None = None
) -> subprocess.Popen[str]:
    """Start the view on a terminal, which is closed here."""
    process = site.start(
        "watch",
        env={"TERM": "xterm-256color", **env},
        stdin=screen,
        stdout=screen,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=takes,
    )
    os.close(screen)
    return process


def take_terminal(*, is_told: bool) -> None:
    """Have the terminal tell this process, which is being made, of its sizes and its end."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    if not is_told:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})


class Screen:
    """What a program has written to a terminal."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._text = ""

    def read(self) -> bool:
        """Take what has come; never true."""
        with suppress(BlockingIOError, OSError):
            self._text += os.read(self._descriptor, 1 << 16).decode("utf-8", "replace")
        return False

    def wait_for(self, words: str) -> None:
        """Wait until words have come since the last ones that were waited for."""
        wait_until(lambda: self.read() or words in self._text, f"{words} is on the screen")
        self._text = self._text.partition(words)[2]
