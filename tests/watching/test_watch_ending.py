"""How the view ends by an error, where it is drawn at all, and a terminal that goes away."""

import asyncio
import os
import pty
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from in_process import Ended, run_in_process

from sow.cli import watch
from sow.errors import StateError
from sow.state.workspace_init import init_workspace
from sow.watching.app import WatchApp
from sow.watching.looking import Looks
from sow.watching.terminal import Lenient, is_closed

Run = Callable[[], Ended]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return what runs `sow watch` as on a terminal, but for the terminal."""
    init_workspace(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(watch, "_has_screen", lambda: True)
    monkeypatch.setattr(WatchApp, "run", lambda app: asyncio.run(app.run_async(headless=True)))
    return lambda: run_in_process("watch", env={}, cwd=tmp_path)


def broken(monkeypatch: pytest.MonkeyPatch, where: object, name: str, error: Exception) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(where, name, fail)


@pytest.mark.parametrize(
    ("where", "name"),
    [
        (Looks, "look"),  # beside the drawing
        (WatchApp, "_show"),
        (WatchApp, "on_listing_chosen"),  # while a message is handled
        (WatchApp, "compose"),
    ],
)
def test_an_error_of_its_own_is_told_as_that_of_any_command(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: object, name: str
) -> None:
    broken(monkeypatch, where, name, ZeroDivisionError("[b]by zero"))
    ended = run()
    (story,) = tmp_path.glob("sow-error-*.txt")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        f"Error: sow itself failed: [b]by zero\n\nThis is a bug. Details are in {story}\n"
    )
    assert "in fail" in story.read_text()


def test_an_error_of_the_system_is_not_said_to_be_one_of_standard_output(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch, Looks, "look", OSError(24, "Too many open files"))
    ended = run()
    assert ended.code == 1
    assert "sow itself failed: the view: [Errno 24]" in ended.err


def test_an_expected_error_has_its_words_and_its_exit_code(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch, Looks, "look", StateError("no such thing", hint="Look for it."))
    ended = run()
    assert (ended.code, ended.err) == (4, "Error: no such thing\n\nLook for it.\n")


@pytest.mark.parametrize("term", ["", "dumb", "unknown"])
def test_nothing_is_drawn_on_a_terminal_that_cannot(
    term: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Screen:
        def isatty(self) -> bool:
            return True

    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(f"sys.{name}", Screen())
    monkeypatch.setenv("TERM", "vt100")
    assert watch._has_screen()
    monkeypatch.setenv("TERM", term)
    assert not watch._has_screen()


@pytest.mark.parametrize("name", ["stdin", "stdout", "stderr"])
def test_nothing_is_drawn_where_one_stream_is_no_terminal(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyboard, screen = pty.openpty()
    with os.fdopen(keyboard), os.fdopen(screen, "r") as terminal:
        for each in ("stdin", "stdout", "stderr"):
            monkeypatch.setattr(f"sys.{each}", terminal)
        monkeypatch.setenv("TERM", "xterm")
        assert watch._has_screen()
        with Path(os.devnull).open() as nothing:
            monkeypatch.setattr(f"sys.{name}", nothing)
            assert not watch._has_screen()


def test_what_a_closed_terminal_no_longer_shows_is_dropped() -> None:
    keyboard, screen = pty.openpty()
    was_dropped = False
    with suppress(OSError), os.fdopen(screen, "w") as stream:  # it is closed with words in it
        lenient = Lenient(stream)
        lenient.write("seen\n")
        lenient.flush()
        assert os.read(keyboard, 100).strip() == b"seen"
        assert not is_closed(lenient.fileno())
        os.close(keyboard)
        assert is_closed(lenient.fileno())
        with pytest.raises(OSError, match="Input/output error"):
            os.write(screen, b"x")
        lenient.write("lost\n")
        lenient.flush()
        was_dropped = True
    assert was_dropped
