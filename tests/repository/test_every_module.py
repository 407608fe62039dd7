"""Each module can be imported in a new process, and none of them is warned of."""

import subprocess
import sys

import pytest
from repository.sources import SOURCES

MODULES = [name for name in SOURCES if not name.endswith("__main__")]


@pytest.mark.slow
def test_every_module_is_imported_without_a_warning() -> None:
    program = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]"
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", "-c", program, *MODULES],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
