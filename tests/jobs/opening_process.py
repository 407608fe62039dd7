"""A process that opens the queue and puts one job into it when told to: ROOT TASK."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from queue_cases import insert

from sow.jobs.database import open_queue
from sow.paths import Workspace

print("ready", flush=True)
sys.stdin.readline()
database = open_queue(Workspace(Path(sys.argv[1])))
print(insert(database, sys.argv[2]).id)
