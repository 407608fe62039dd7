"""The text between markers in an AGENTS.md, and whether it is still what sow has written.

Pure. The marker holds a hash of the text and how many line breaks were put before it, so that a
teammate's sow knows without a record whether anybody has edited it, and takes away just that.
"""

import hashlib
import re
from typing import NamedTuple

BEGIN = re.compile(r"<!-- sow:begin ([0-9a-f]{12}) ([0-2]) -->\n")
ANY_BEGIN, END = "<!-- sow:begin", "<!-- sow:end -->"
ENDING = re.compile(rf"{END}(?:\n|\Z)")
"""An editor may have taken the file's last line break away."""
FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n+", re.DOTALL)


class Unclear(ValueError):
    """The markers do not say where the text is; the words say why."""


class Block(NamedTuple):
    """Where the text stands in a file: `start` and `end` take in the markers and line breaks."""

    start: int
    end: int
    text: str
    is_edited: bool


def text_of_skill(skill: str) -> str:
    """Return the plugin's skill as a text for other CLIs: without what only a plugin's has."""
    return FRONT_MATTER.sub("", skill)


def find_block(content: str) -> Block | None:
    """Return sow's text in a file; None where there is none. Raises Unclear."""
    if ANY_BEGIN not in content and END not in content:
        return None
    found = list(BEGIN.finditer(content))
    if len(found) != 1 or content.count(ANY_BEGIN) != 1 or content.count(END) != 1:
        raise Unclear("the markers `<!-- sow:begin … -->` and `<!-- sow:end -->` are not one pair")
    begin = found[0]
    end = ENDING.search(content, begin.end())
    if end is None:
        raise Unclear("`<!-- sow:end -->` does not end a line below `<!-- sow:begin … -->`")
    text, breaks = content[begin.end() : end.start()], int(begin[2])
    start = begin.start()
    for _ in range(breaks):
        if start and content[start - 1] == "\n":
            start -= 1
    return Block(start, end.end(), text, is_edited=_hash(text) != begin[1])


def with_block(content: str, text: str, block: Block | None) -> str:
    """Return a file's content with sow's text: at its end, or where it stands already."""
    if block is not None:
        before, after = content[: block.start], content[block.end :]
        breaks = len(content[block.start :]) - len(content[block.start :].lstrip("\n"))
    else:
        before, after = content, ""
        breaks = 0 if not content else 1 if content.endswith("\n") else 2
    marker = f"<!-- sow:begin {_hash(text)} {breaks} -->\n"
    is_last = block is not None and not content[: block.end].endswith("\n")
    return before + "\n" * breaks + marker + text + END + ("" if is_last else "\n") + after


def without_block(content: str, block: Block) -> str:
    """Return a file's content as it was before sow's text came."""
    return content[: block.start] + content[block.end :]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
