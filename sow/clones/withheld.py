"""The files that sow itself has put into a clone: no work of its agent, and never committed.

Reads only. An update passes through here, so it imports little.
"""

import os

from sow.clones.copying import files_to_copy
from sow.clones.main_checkout import Checkout, MainCheckout
from sow.clones.mark import own_mark
from sow.clones.place import Place
from sow.clones.record import noted_clone


def copied_to(main: MainCheckout, place: Place) -> list[str]:
    """Return the files that sow has copied into a clone, or would copy now, from its top."""
    files, _ = files_to_copy(place.workspace, main.settings.copy)
    copied = [os.path.join(place.inside, path) for path in files]  # noqa: PTH118 - text for git
    return [*copied, *put_there(main, place)]


def put_there(here: Checkout, place: Place) -> tuple[str, ...]:
    """Return the files that sow has on record as copied into a clone; else those of its mark."""
    noted, mark = noted_clone(here.repository, place.project, place.task), own_mark(place)
    if noted is not None:
        return noted.made_by_sow
    return mark.copied if mark is not None else ()
