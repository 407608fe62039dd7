"""Work of a test that is done in a small process: whoever forks often must not be large.

By the end of a run a process of pytest holds half a gigabyte of collected tests. A fork of it takes
some 50 ms of the kernel's time, of a process that has imported what it needs 2 ms.
"""

import json
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

PROGRAM = """
import json, pickle, sys
from pathlib import Path

_, path, draft = sys.argv
sys.path[:] = json.loads(path)
work = pickle.load(sys.stdin.buffer)
Path(draft).write_bytes(pickle.dumps(work()))
"""


def done_in_small_process(work: Callable[[], T]) -> T:
    """Return what a function returns that is called in an interpreter of its own.

    It and its result can be pickled. What it raises is printed, and `CalledProcessError` raised.
    """
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result"
        words = [sys.executable, "-P", "-c", PROGRAM, json.dumps(sys.path), str(result)]
        subprocess.run(words, input=pickle.dumps(work), check=True)
        done: T = pickle.loads(result.read_bytes())
    return done
