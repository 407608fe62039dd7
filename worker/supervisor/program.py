"""The tiny process that runs one attempt, and outlives the worker that started it.

    python -I -S program.py [--packages FOLDER] [--open-files NUMBER]

It starts in a session of its own and waits for its orders on standard input
(`instructions`): the attempt's folder, the agent's folder, argv and environment. It
leaves when that closes without any. It holds `alive.lock` together with the
agent, gives the agent files (never a pipe to the worker), waits, ends whatever
the agent left behind, and writes `exit.json` by rename. SIGINT, SIGTERM and
SIGHUP ask it to end the whole tree: interrupt, terminate, kill, with a grace
after each.

It must start fast and stay small (`-S`: no site-packages; few imports), so it
reads no configuration, opens no database and knows nothing of tasks or jobs.
`--packages` names the folder in which psutil lies, and so chooses the portable
process back end; `--open-files` is the soft limit that the agent gets. This file
is compiled at every start; what it runs is not, and lies in `supervise`.
"""

import os
import sys

PROGRAM = os.path.abspath(__file__)  # noqa: PTH100
sys.path.append(PROGRAM.rsplit("/", 3)[0])

if __name__ == "__main__":
    from worker.supervisor.supervise import main

    sys.exit(main(sys.argv[1:]))
