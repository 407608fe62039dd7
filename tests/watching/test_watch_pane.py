"""What the pane holds of outputs and texts of any size, and of what others have put into them."""

import json
from pathlib import Path

import pytest
from reports.job_cases import make_job
from watching.rows_cases import live

from sow.ids import JobId
from sow.paths import Workspace
from sow.watching.commands import Ran
from sow.watching.contents import MOST_LETTERS, MOST_LINES, Look, Tab, harmless, read_tab
from sow.watching.pane import LAST_EVENTS, LATEST_EVENTS, Following, title_of

HOSTILE = "\x1b[31mred\x1b[2J\x1b]0;title\x07 [b]bold[/b] \u202eback\u202c \x9b31m"


def says(words: str) -> bytes:
    """Return a line of Claude Code's in which it says something."""
    content = [{"type": "text", "text": words}]
    line = {"type": "assistant", "message": {"id": "m", "content": content}}
    return json.dumps(line).encode() + b"\n"


@pytest.fixture
def output(tmp_path: Path) -> Path:
    path = Workspace(tmp_path).attempt(JobId(1), 1).output
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    return path


@pytest.fixture
def following(tmp_path: Path) -> Following:
    return Following(Workspace(tmp_path), make_job())


def test_what_comes_faster_than_anybody_reads_is_passed_over(
    output: Path, following: Following
) -> None:
    output.write_bytes(b"".join(says(f"word {n}") for n in range(1000)))
    pieces = following.read(0.0)
    assert [piece.text for piece in pieces[1:]] == [f"word {n}" for n in range(800, 1000)]
    assert len(pieces) == 1 + LAST_EVENTS
    with output.open("ab") as file:
        file.write(b"".join(says(f"more {n}") for n in range(10_000)))
    note, *pieces = following.read(0.0)
    assert note.look is Look.NOTE
    assert [piece.text for piece in pieces] == [
        f"more {n}" for n in range(10_000 - LATEST_EVENTS, 10_000)
    ]
    with output.open("ab") as file:
        file.write(says("a few") + says("words"))
    assert [piece.text for piece in following.read(0.0)] == ["a few", "words"]


def test_what_an_agent_prints_steers_no_terminal(output: Path, following: Following) -> None:
    output.write_bytes(says(HOSTILE) + bytes(range(256)) * 4000 + b"\n" + says("x" * 1_000_000))
    texts = [piece.text for piece in following.read(0.0)]
    assert all(line.isprintable() for text in texts for line in text.split("\n"))
    assert texts[1].startswith("red [b]bold[/b]  back")
    assert max(map(len, texts)) < MOST_LETTERS


def test_a_text_is_cut_at_so_many_letters() -> None:
    assert harmless(HOSTILE).startswith("red [b]bold[/b]  back")
    assert harmless("x" * MOST_LETTERS) == "x" * MOST_LETTERS
    assert harmless("x" * (MOST_LETTERS + 1)) == "x" * MOST_LETTERS + "\n…"


def test_a_long_difference_is_shown_from_its_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"+{n}" for n in range(MOST_LINES + 1)]
    monkeypatch.setattr("sow.watching.contents.run_command", lambda argv, *_: Ran(argv, 0, lines))
    *pieces, last = read_tab(Workspace(tmp_path), Tab.DIFF, "010", {})
    assert [piece.text for piece in pieces] == lines[:-1]
    assert {piece.look for piece in pieces} == {Look.GOOD}
    assert last.text == "… and more: the command shows all of it."


@pytest.mark.parametrize(
    ("width", "name"),
    [(120, "010 implementer, 2k tokens  "), (95, "010 implementer  "), (80, "010  ")],
)
def test_where_there_is_little_room_the_command_stays_whole(width: int, name: str) -> None:
    title = title_of(live(tokens=2000), Tab.AGENT, width)
    assert title.plain.startswith(f"{name} 1 agent ")
    assert title.plain.endswith("  sow job logs 17 --follow")
    assert title.cell_len <= width
