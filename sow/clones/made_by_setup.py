"""What the command line that sets a clone up has made there: no part of any task's change.

Owns that it stays out of commits, and that it is told from work later. Files
that git knows and that it has changed are not told apart from the agent's own
changes.
"""

import os

from sow.clone_mark import MARK_PLACE, CloneMark
from sow.clones.inventory import inner_keys
from sow.clones.make import PlaceTaken
from sow.clones.mark import own_mark, write_mark
from sow.clones.place import Place
from sow.clones.record import SetupMade
from sow.clones.taken_over import keep_out_of_commits
from sow.git.repository import Repository
from sow.git.run import LONG_SECONDS
from sow.git.view import view_of


def keep_apart(place: Place, main: Repository) -> CloneMark:
    """Note the files that are new to git in a clone in which no agent has been; return its mark.

    The caller holds its lock. Raises PlaceTaken, GitRefused, NotWritten.
    """
    mark = own_mark(place)
    if mark is None:
        raise PlaceTaken(place)
    words = ("ls-files", "-z", "--others", "--exclude-standard", "--directory")
    made = view_of(place.path).records(*words, seconds=LONG_SECONDS)
    paths = tuple(dict.fromkeys((*mark.copied, *(path.rstrip("/") for path in made))))
    if paths == mark.copied:
        return mark
    mark = mark._replace(copied=paths)
    write_mark(place.path, mark)
    keep_out_of_commits(place.path, main, paths)
    return mark


def ready_clone(place: Place, main: Repository) -> SetupMade:
    """Return what a clone in which no agent has been holds besides its commit's files.

    The caller holds its lock. Raises GitRefused.
    """
    words = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    ignored = view_of(place.path).records(*words, seconds=LONG_SECONDS)
    inner = inner_keys(place, main)
    mark = place.path / MARK_PLACE
    os.utime(mark, follow_symlinks=False)  # it changes now, by the file system's own clock
    return SetupMade(mark.lstat().st_ctime_ns, tuple(ignored), inner)
