"""Remotes of a repository inside a clone that go with the clone, or are gone: no kept place.

A remote-tracking ref says that another repository has a commit. Where that one lies in the
clone itself, or at a path where nothing is any more, the word is worth nothing. Reads only.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from sow.git.inert_refs import read_text
from sow.git.inner_view import InnerRepository
from sow.git.named_commits import remote_commits
from sow.git.settings_text import settings_in

CONFIG_LIMIT = 1 << 20
FILE_SCHEME = "file://"
NOT_A_PATH = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://|[^/]*:")
"""How an address begins that leads to a program or another machine: `https://`, `host:`."""
ADDRESS = re.compile(r"remote\.(.+)\.url", re.DOTALL)


def commits_elsewhere(clone: Path, found: InnerRepository) -> set[str]:
    """Return the commits that another repository has, outside of the clone, by a remote's word.

    Raises UnsafeClone, GitRefused.
    """
    return remote_commits(found.common_dir, without=tuple(_passing(clone, found)))


def _passing(clone: Path, found: InnerRepository) -> Iterator[str]:
    text = read_text(found.common_dir, "config", CONFIG_LIMIT) or ""
    for key, address in settings_in(text.encode("utf-8", "surrogateescape")):
        if (remote := ADDRESS.fullmatch(key)) and _goes_with(clone, found, address):
            yield remote[1]


def _goes_with(clone: Path, found: InnerRepository, address: str) -> bool:
    """Whether an address is a path that lies in the clone, or at which nothing is."""
    path = address.removeprefix(FILE_SCHEME)
    if path == address and NOT_A_PATH.match(address):
        return False
    place = os.path.realpath((found.work_tree or found.git_dir) / path)
    return Path(place).is_relative_to(os.path.realpath(clone)) or not os.path.lexists(place)
