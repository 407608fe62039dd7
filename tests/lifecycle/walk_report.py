"""Prints how often each guard has refused: `python tests/lifecycle/walk_report.py`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lifecycle.test_random_walks import WALKS, lines_of, report

if __name__ == "__main__":
    print("\n".join(lines_of(report(20 * WALKS))))
