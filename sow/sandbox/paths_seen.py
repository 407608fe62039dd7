"""The way to a file: the links on it, where it really lies, and what else a program needs.

Owns how the installation of a program is found: its links, its interpreter, and the folder with
its libraries. Reads only.
"""

import os
from collections.abc import Iterator
from pathlib import PurePosixPath

import msgspec

from sow.sandbox.view import Link

MOST_LINKS = 40
"""More on one way are a circle (path_resolution(7))."""
FIRST_BYTES = 256
MODULES = "node_modules"
PREFIX_MARKS = ("lib", "lib64", "pyvenv.cfg")
"""One of them beside a folder `bin` shows that both are of one installation."""


class Way(msgspec.Struct, frozen=True):
    """The way to a path."""

    links: tuple[Link, ...]
    real: str


def way_to(path: str) -> Way:
    """Return the links on the way to an absolute path, and where it leads."""
    links: list[Link] = []
    done, rest = "/", list(PurePosixPath(os.path.normpath(path)).parts[1:])
    while rest:
        name = rest.pop(0)
        if name == "..":
            done = os.path.dirname(done)  # noqa: PTH120
            continue
        here = os.path.join(done, name)  # noqa: PTH118
        try:
            target = os.readlink(here)  # noqa: PTH115
        except OSError:
            done = here
            continue
        if len(links) >= MOST_LINKS:
            return Way(tuple(links), here)
        links.append(Link(here, target))
        parts = PurePosixPath(target).parts
        if target.startswith("/"):
            done, parts = "/", parts[1:]
        rest = [*parts, *rest]
    return Way(tuple(links), done)


def installation_of(program: str, path: str) -> tuple[tuple[str, ...], tuple[Link, ...]]:
    """Return the folders and files that a program consists of, and the links on the way to them.

    `program` is absolute, `path` the PATH by which `env` finds its interpreter.
    """
    parts: list[str] = []
    links: list[Link] = []
    for each in (program, *_interpreters(program, path)):
        way = way_to(each)
        links += way.links
        parts += [_part_around(place) for place in (*(link.path for link in way.links), way.real)]
    known = {link.path for link in links}
    return tuple(dict.fromkeys(part for part in parts if part not in known)), tuple(links)


def _part_around(place: str) -> str:
    """Return what of an installation is around a file: its folder of libraries, or itself."""
    pure = PurePosixPath(place)
    for index, name in enumerate(pure.parts):
        if name == MODULES:
            return str(PurePosixPath(*pure.parts[: index + 1]))
    prefix = pure.parent.parent
    if pure.parent.name == "bin" and any(
        os.path.exists(f"{prefix}/{mark}")  # noqa: PTH110 - may be forbidden
        for mark in PREFIX_MARKS
    ):
        return str(prefix)
    return place


def _interpreters(program: str, path: str) -> Iterator[str]:
    """Yield the programs that run a script: that of its first line, and what `env` finds."""
    try:
        with open(program, "rb") as file:  # noqa: PTH123
            first = file.read(FIRST_BYTES).partition(b"\n")[0]
    except OSError:
        return
    if not first.startswith(b"#!"):
        return
    words = os.fsdecode(first[2:]).split()
    if words:
        yield words[0]
    if len(words) > 1 and words[0].endswith("/env"):
        name = next((word for word in words[1:] if not word.startswith("-")), "")
        for folder in path.split(os.pathsep):
            found = os.path.join(folder, name)  # noqa: PTH118
            if name and folder.startswith("/") and os.access(found, os.X_OK):
                yield found
                return
