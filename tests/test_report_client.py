"""The agent's side of reports: what it leaves where a report cannot be kept."""

import os
import resource
import sys
from pathlib import Path

from sow.cli import report_client


def test_a_report_that_the_disk_has_no_room_for_leaves_nothing(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        code = 99
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
            sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - until the end
            folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
            code = report_client._keep(folder, ["agent", "log", "x"], b"x" * 1000, "f" * 32)
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert [*tmp_path.iterdir()] == []
