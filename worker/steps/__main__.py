"""`python -m worker.steps KIND`: how such a process begins and ends. Its frame is `frame`."""

import sys

from sow import quick_start

if __name__ == "__main__":
    quick_start.begin()
    from worker.steps.frame import main  # what this imports is to be cheap already

    main(sys.argv[1])
    quick_start.leave(0)
