"""Which links of a tree stay inside it, found out from their texts alone.

A comparison of texts is not enough: a link may go through another one, and `..` behind that
leads somewhere else than it seems. So each is followed as the system would. Pure.
"""

from collections.abc import Mapping

MOST_STEPS = 40
"""How many links may lead to one another: the system's own limit."""
MOST_NAMES = 256
"""Through how many names a link may lead in all. A few links that name one another, and thousands
of folders, would else keep whoever follows them for hours."""


def leading_out(links: Mapping[str, str]) -> dict[str, str]:
    """Return the links that do not stay inside, by their paths, each with the reason.

    `links` are all links of a tree: what each says, by its path from the tree's top.
    """
    found: dict[str, str] = {}
    for path in links:
        if reason := _fault(path, links):
            found[path] = reason
    return found


def _fault(path: str, links: Mapping[str, str]) -> str:
    folder: list[str] = path.split("/")[:-1]
    waiting = _parts(links[path])
    if links[path].startswith("/"):
        return "leads to a path of the machine"
    steps = names = 0
    while waiting:
        names += 1
        if names + len(waiting) > MOST_NAMES:
            return "leads through too many names"
        part = waiting.pop(0)
        if part == "..":
            if not folder:
                return "leads out of the reference"
            folder.pop()
            continue
        further = "/".join((*folder, part))
        if further not in links:
            folder.append(part)
            continue
        steps += 1
        if steps > MOST_STEPS:
            return "leads through too many other links"
        if links[further].startswith("/"):
            return "leads to a path of the machine"
        waiting = [*_parts(links[further]), *waiting]
    return ""


def _parts(text: str) -> list[str]:
    return [part for part in text.split("/") if part not in ("", ".")]
