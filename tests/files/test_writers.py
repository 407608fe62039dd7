"""A file that somebody writes to is known as such, whoever that is."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sow.files.writers import is_written_to

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")


def test_one_that_a_process_has_open_to_write_is_written_to_until_it_has_ended(
    tmp_path: Path,
) -> None:
    path = tmp_path / "output"
    with path.open("a") as output:
        writer = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=output)
    assert is_written_to(path) is True
    writer.communicate()
    assert is_written_to(path) is False


def test_a_reader_is_no_writer_and_what_is_not_there_has_none(tmp_path: Path) -> None:
    assert is_written_to(tmp_path / "none") is False
    path = tmp_path / "output"
    path.touch()
    with path.open():
        assert is_written_to(path) is False


def test_of_what_is_no_file_nobody_can_tell(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("output")
    for name in (".", "pipe", "link"):
        assert is_written_to(tmp_path / name) is None, name


def test_whoever_opens_the_file_meanwhile_is_let_in_and_ends_nobody(tmp_path: Path) -> None:
    path = tmp_path / "output"
    path.touch()
    code = "import sys\nfor _ in range(2000): open(sys.argv[1], 'a').close()"
    writer = subprocess.Popen([sys.executable, "-S", "-c", code, str(path)])
    answers = set()
    while writer.poll() is None:
        answers.add(is_written_to(path))
    assert writer.returncode == 0
    assert answers <= {True, False}
    assert signal.getsignal(signal.SIGIO) is signal.SIG_DFL
