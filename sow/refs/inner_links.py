"""Which links of a tree stay inside it, found out from what they say.

A comparison of texts is not enough: a link may go through another one, and `..` behind that
leads somewhere else than it seems. So each is followed as the system would. Pure.
"""

from collections.abc import Callable, Mapping

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
        if reason := fault_of(path, links.get):
            found[path] = reason
    return found


def fault_of(path: str, text_at: Callable[[str], str | None]) -> str:
    """Return why a link does not stay inside; nothing if it does.

    `text_at` returns what the link at a path from the tree's top says; None for no link.
    """
    *folder, name = path.split("/")
    waiting = [name]
    steps = names = -1  # the link itself counts as neither
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
        text = text_at("/".join((*folder, part)))
        if text is None:
            folder.append(part)
            continue
        steps += 1
        if steps > MOST_STEPS:
            return "leads through too many other links"
        if text.startswith("/"):
            return "leads to a path of the machine"
        waiting = [*_parts(text), *waiting]
    return ""


def _parts(text: str) -> list[str]:
    return [part for part in text.split("/") if part not in ("", ".")]
