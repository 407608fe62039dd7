"""The links of a change that lead out of the repository: after a merge they lie in the checkout.

Whatever reads or writes through such a link there reads or writes a file of the user's. A patch
shows it as a new file with one line, which is easily overlooked. Told by the link's own words
alone: where other links on the way lead is not asked.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from sow.clones.clone_facts import CloneFacts
from sow.git.run import LONG_SECONDS
from sow.git.view import View

LINK = "120000"
"""The mode of a link in git's trees."""


class LinkOut(Struct, frozen=True):
    """A link that leads out of the repository."""

    path: str
    target: str
    """As it stands in the link."""


def links_out(view: View, facts: CloneFacts, base: str, commit: str) -> tuple[LinkOut, ...]:
    """Return those that a change adds, or leads elsewhere. Raises GitRefused.

    What is sow's own is no part of a change.
    """
    words = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", base, commit)
    fields = view.records(*words, seconds=LONG_SECONDS)
    blobs = {}
    for about, path in zip(fields[::2], fields[1::2], strict=True):
        _, mode, _, blob, _ = about.split(" ")
        if mode == LINK and not facts.is_own(path):
            blobs[path] = blob
    targets = _contents(view, list(blobs.values()))
    return _leading_out(map(LinkOut, blobs, targets))


def _contents(view: View, blobs: Sequence[str]) -> Iterator[str]:
    """Yield what some blobs contain, by one process: a change may have any number of links.

    One that the clone lacks counts as empty: no merge brings such a commit.
    """
    if not blobs:
        return
    asked = "".join(f"{blob}\n" for blob in blobs).encode()
    answer = view.raw("cat-file", "--batch", stdin=asked, seconds=LONG_SECONDS)
    at = 0
    for _ in blobs:
        begin = answer.index(b"\n", at) + 1
        _, kind, *size = answer[at:begin].split()
        if kind == b"missing":
            yield ""
            at = begin
            continue
        end = begin + int(size[0])
        yield os.fsdecode(answer[begin:end])
        at = end + 1  # a line break follows


def links_out_of_tree(top: Path, files: Iterable[str]) -> tuple[LinkOut, ...]:
    """Return those among some files of a working tree."""
    links = [path for path in files if os.path.islink(top / path)]  # noqa: PTH114 - any bytes
    return _leading_out(LinkOut(path, os.readlink(top / path)) for path in links)  # noqa: PTH115


def _leading_out(links: Iterable[LinkOut]) -> tuple[LinkOut, ...]:
    return tuple(link for link in links if leads_out(link.path, link.target))


def leads_out(path: str, target: str) -> bool:
    """Whether a link at a path of a repository leads out of that by its own words."""
    if target.startswith("/"):
        return True
    depth = path.count("/")
    for part in target.split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
        if depth < 0:
            return True
    return False
