"""What a proof asks of tests: all their seeds and rounds, and results that can be kept.

`make proof` names a folder in SOW_PROOF. A test that belongs to it draws its
seeds from `seeds`, is as long as `rounds` says, and hands in what it has come to by `hand_in`;
the report is made from these files (`proof/report.py`). Without the variable
one seed and fewer rounds are enough, and nothing is kept.
"""

import json
import os
from pathlib import Path
from typing import Any

FOLDER = os.environ.get("SOW_PROOF")
"""Read once: a test's own environment has nothing of the user's."""


def seeds(*every: int) -> tuple[int, ...]:
    """Return all seeds for a proof, else the first."""
    return every if FOLDER else every[:1]


def rounds(of_a_proof: int, else_so_many: int) -> int:
    """Return how long a storm is."""
    return of_a_proof if FOLDER else else_so_many


def hand_in(name: str, seed: int, facts: dict[str, Any]) -> None:
    """Keep what a test has come to, for the report of a proof."""
    if FOLDER:
        text = json.dumps({"name": name, "seed": seed, **facts}, indent=2)
        (Path(FOLDER) / f"{name.replace(' ', '-')}-{seed}.json").write_text(text)
