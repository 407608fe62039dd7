"""The program of a worker's fork server, and of the supervisors that it forks.

    python -I -S program.py [--packages FOLDER] [--open-files NUMBER]

A supervisor runs one attempt and outlives the worker that started it. It must start fast and stay
small (`-S`: no site-packages; few imports), so it reads no configuration, opens no database and
knows nothing of tasks or jobs. `--packages` names the folder in which psutil lies, and so chooses
the portable process back end; `--open-files` is the soft limit that the agents get. This file is
compiled at every start; what it runs is not, and lies in `forking` and `supervise`.
"""

import os
import sys

PROGRAM = os.path.abspath(__file__)  # noqa: PTH100
sys.path.append(PROGRAM.rsplit("/", 3)[0])

if __name__ == "__main__":
    from worker.supervisor.forking import main

    sys.exit(main(sys.argv[1:]))
