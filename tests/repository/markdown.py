"""Reads Markdown as far as the tests of the repository's own texts need it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
TEXTS = sorted([*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`+[^`]+`+")
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """One command of a transcript, and the lines that it prints."""

    command: str
    output: tuple[str, ...]


def read(name: str) -> str:
    """Return the text of a file of the repository."""
    return (REPOSITORY / name).read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    """Return the fenced blocks of one language."""
    return [body for found, body in BLOCK.findall(text) if found == language]


def steps(transcript: str) -> Iterator[Step]:
    """Yield what a console block runs, and what each command prints."""
    for part in re.split(r"^\$ ", transcript, flags=re.MULTILINE)[1:]:
        command, *output = part.rstrip("\n").split("\n")
        yield Step(command, tuple(output))


def prose(text: str) -> str:
    """Return a text without its code, which may look like links and headings."""
    return FENCED.sub("", text)


def links(text: str) -> list[str]:
    """Return the targets of the links in a text."""
    return LINK.findall(SPAN.sub("", prose(text)))


def anchors(text: str) -> set[str]:
    """Return the fragments by which the headings of a text can be linked to.

    Lower case, spaces as dashes, all punctuation but dashes and underscores
    gone: the rule of the common renderers.
    """
    headings = (heading.lower() for heading in HEADING.findall(prose(text)))
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in headings}
