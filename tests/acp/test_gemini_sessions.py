"""What keeps gemini from losing a session: a wait, and the end of what it would take for empty."""

import os
from pathlib import Path
from threading import Thread

import pytest

from sow.acp.gemini_sessions import began_in, remove_empty_copies, wait_for_minute

SESSION = "b7ea0016-76ec-4917-b348-4a885b71503b"
AT = 1_795_970_980.25  # 2026-11-29 16:49:40 UTC


def waited(environ: dict[str, str], at: float = AT) -> list[float]:
    slept: list[float] = []
    wait_for_minute(SESSION, environ, lambda: at, slept.append)
    return slept


def keep(home: Path, minute: str, digits: str = SESSION[:8]) -> None:
    folder = home / ".gemini/tmp/a-repository/chats"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"session-{minute}-{digits}.jsonl").touch()


def test_a_session_of_this_minute_waits_for_the_next(tmp_path: Path) -> None:
    keep(tmp_path, "2026-11-29T16-49")
    assert waited({"HOME": str(tmp_path)}) == [pytest.approx(60 - 40.25 + 0.5)]
    assert waited({"HOME": str(tmp_path)}, AT + 20.0) == []


def test_an_older_session_does_not_wait(tmp_path: Path) -> None:
    keep(tmp_path, "2026-11-29T16-48")
    assert waited({"HOME": str(tmp_path)}) == []


def test_the_newest_file_of_a_session_counts(tmp_path: Path) -> None:
    keep(tmp_path, "2026-11-29T16-48")
    keep(tmp_path, "2026-11-29T16-49")
    assert began_in(SESSION, {"HOME": str(tmp_path)}) == "2026-11-29T16-49"


def test_where_nothing_is_known_of_a_session_it_waits(tmp_path: Path) -> None:
    keep(tmp_path, "2026-11-29T16-48", "another1")
    assert len(waited({"HOME": str(tmp_path)})) == 1
    assert len(waited({})) == 1


def test_another_home_of_gemini_counts(tmp_path: Path) -> None:
    keep(tmp_path, "2026-11-29T16-48")
    assert waited({"HOME": "/nowhere", "GEMINI_CLI_HOME": str(tmp_path)}) == []


def test_an_empty_copy_of_a_session_is_removed_and_nothing_else(tmp_path: Path) -> None:
    for minute in ("16-48", "16-49", "16-50"):
        keep(tmp_path, f"2026-11-29T{minute}")
    keep(tmp_path, "2026-11-29T16-51", "another1")
    folder = tmp_path / ".gemini/tmp/a-repository/chats"
    continued = folder / f"session-2026-11-29T16-49-{SESSION[:8]}.jsonl"
    continued.write_text('{"id":"1","type":"gemini","content":"Hello"}\n')
    remove_empty_copies(SESSION, {"HOME": str(tmp_path)})
    left = sorted(path.name.removeprefix("session-2026-11-29T") for path in folder.iterdir())
    assert left == ["16-48-b7ea0016.jsonl", "16-49-b7ea0016.jsonl", "16-51-another1.jsonl"]
    remove_empty_copies("*", {"HOME": str(tmp_path)})
    remove_empty_copies("..", {})
    assert len(list(folder.iterdir())) == 3


def test_what_is_no_file_holds_nobody_up(tmp_path: Path) -> None:
    keep(tmp_path, "2026-11-29T16-48")
    pipe = tmp_path / f".gemini/tmp/a-repository/chats/session-2026-11-29T16-49-{SESSION[:8]}.jsonl"
    os.mkfifo(pipe)
    environ = {"HOME": str(tmp_path)}
    looking = Thread(target=remove_empty_copies, args=(SESSION, environ), daemon=True)
    looking.start()
    looking.join(20)
    assert not looking.is_alive()
    assert pipe.exists()
