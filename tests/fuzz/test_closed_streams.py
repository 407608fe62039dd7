"""Every command does its work, and ends with its own exit code, whoever listens to it or not."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from fuzz.streams import ALWAYS, PARTS, STREAMS
from proving import drawn

PROGRAM = Path(__file__).with_name("streams.py")
SECONDS = 600.0
"""How long all commands may take with the streams of one name, and with open ones."""
NOBODY_LISTENS = [name for name in STREAMS if name != "open"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the runner reads /proc")
def test_no_command_needs_anybody_who_listens() -> None:
    names, parts = drawn(*NOBODY_LISTENS), drawn(*PARTS)
    with tempfile.TemporaryDirectory(prefix="sow-fuzz-") as folder:
        done = subprocess.run(
            [sys.executable, "-P", str(PROGRAM), folder, "".join(parts), "open", *names],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS * len(names),
            check=False,
        )
    assert done.returncode == 0, done.stderr
    ran = {tuple(each["argv"]): each["ran"] for each in map(json.loads, done.stdout.splitlines())}
    assert len(ran) > 20 * len(parts)
    assert ran.keys() >= {*ALWAYS}
    assert {words: codes for words, codes in ran.items() if len(set(codes.values())) > 1} == {}
    refused = [words for words, codes in ran.items() if codes["open"] == 2]
    assert refused == [("config", "edit"), ("nonsense",)]  # there is no terminal to edit on
    assert ran["task", "show", "999"]["open"] == 4
