"""Which word of a report names a text, and what is sent in its place."""

from pathlib import Path

import pytest

from sow.cli.reported_text import with_text
from sow.commands import row_of

CASES = {
    "review correct 010 --file TEXT": "review correct 010 --file -",
    "review correct --file TEXT 010 --summary no": "review correct --file - 010 --summary no",
    "review correct 010 --file=TEXT": "review correct 010 --file=-",
    "review correct --summary --file 010 --file TEXT": (
        "review correct --summary --file 010 --file -"
    ),
    "task import TEXT": "task import -",
    "task import --priority 3 TEXT --json": "task import --priority 3 - --json",
    "task import --new-phase TEXT": "task import --new-phase -",
    "task add name --agent tester --description-file TEXT": (
        "task add name --agent tester --description-file -"
    ),
}


@pytest.mark.parametrize("line", CASES)
def test_the_text_is_read_here_and_a_dash_is_sent(tmp_path: Path, line: str) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"words\xff")
    words = line.replace("TEXT", str(text)).split()
    row = row_of(words)
    assert row is not None
    sent, stdin = with_text(row, words)
    assert (sent, stdin) == (CASES[line].split(), b"words\xff")


@pytest.mark.parametrize("line", ["task add name --agent tester", "review correct 010 --file"])
def test_without_a_text_the_line_is_sent_as_it_is(line: str) -> None:
    row = row_of(line.split())
    assert row is not None
    assert with_text(row, line.split()) == (line.split(), None)


def test_a_text_that_cannot_be_read_is_told_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["review", "correct", "010", "--file", str(tmp_path / "none")]
    row = row_of(words)
    assert row is not None
    assert with_text(row, words) == (None, None)
    assert "none cannot be read" in capsys.readouterr().err


def test_a_secret_in_a_text_is_replaced_before_it_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "SOW_SECRETS": "KEY",
        "KEY": "sk-0815-4711",
        "SOW_ATTEMPT_ID": "1.1.0",
        "SOW_REPORT_SOCKET": str(tmp_path / "socket"),
    }.items():
        monkeypatch.setenv(name, value)
    text = tmp_path / "text"
    text.write_text("it is sk-0815-4711")
    words = ["review", "correct", "010", "--file", str(text)]
    row = row_of(words)
    assert row is not None
    assert with_text(row, words) == (["review", "correct", "010", "--file", "-"], b"it is [KEY]")
    assert (tmp_path / "blanked").read_text() == "1.1.0 KEY\n"
