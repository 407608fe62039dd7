"""Make `format-5.tar.gz`: a queue file in the fifth form, as `make_format_1` makes the first.

    python tests/jobs/golden/make_format_5.py TARGET

The code of a commit with that form does all of it (`first_form.FIFTH`). The archive is
never made anew once it is committed.
"""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

from journeys.first_form import FIFTH  # noqa: E402
from make_format_1 import main  # noqa: E402

if __name__ == "__main__":
    main(Path(sys.argv[1]), FIFTH)
