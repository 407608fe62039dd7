"""What others take for a comparable thing: task-spooler (`tsp`), where it is installed, and xargs.

They keep no record that survives a machine, no session and no state, so their
figures are a floor and no rival.
"""

import itertools
import shutil
import subprocess
import tempfile
from collections.abc import Callable

from bench.place import Place
from bench.timing import Figure, interleave, time_process

BATCH = 200
AT_ONCE = 4


def measure(place: Place, rounds: int) -> list[Figure]:
    """Return one submit-and-wait, and a batch of 200, by each program that is installed."""
    ids = itertools.count(10_000, 10)

    def batch() -> float:
        tasks = [f"{next(ids):06}" for _ in range(BATCH)]
        for task in tasks:
            place.add_task(task)
        words = place.sow("agent", "spawn", "implementer", *tasks)
        return time_process(words, place.root, place.env)

    with tempfile.TemporaryDirectory() as folder:
        env = {**place.env, "TMPDIR": folder, "TS_SOCKET": f"{folder}/socket"}
        actions: dict[str, Callable[[], float]] = {f"{BATCH} agents, one sow call": batch}
        if shutil.which("tsp"):
            subprocess.run(["tsp", "-S", str(AT_ONCE)], env=env, check=True)
            actions["tsp: submit a script and wait"] = lambda: time_process(
                ["tsp", "-f", str(place.script)], place.root, {**env, **_task(place)}
            )
            actions[f"tsp: {BATCH} × true"] = lambda: time_process(
                ["sh", "-c", f"for i in $(seq {BATCH}); do tsp -n true; done >/dev/null; tsp -w"],
                place.root,
                env,
            )
        actions[f"xargs -P {AT_ONCE}: {BATCH} × true"] = lambda: time_process(
            ["sh", "-c", f"seq {BATCH} | xargs -P {AT_ONCE} -n 1 true"], place.root, env
        )
        try:
            return interleave(actions, rounds)
        finally:
            if shutil.which("tsp"):
                subprocess.run(["tsp", "-K"], env=env, check=False)


def _task(place: Place) -> dict[str, str]:
    """Return what the agents' script needs to know where sow does not tell it."""
    return {"SOW_ROOT": place.root, "SOW_TASK_ID": "900"}
