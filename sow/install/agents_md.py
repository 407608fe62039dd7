"""`AGENTS.md`, which CLIs other than Claude Code read: sow's text between markers.

Owns the writing. Line ends stay those of the file; a link is followed, as long as it stays in the
repository.
"""

import difflib
import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sow.files import refuse_leading_out
from sow.install.documents import (
    EditedByHand,
    NothingOnRecord,
    UnfitFile,
    Written,
    change_document,
    read_document,
)
from sow.install.places import SKILL

BEGIN = re.compile(r"<!-- sow:begin ([0-9a-f]{12}) ([0-2]) -->\n")
ANY_BEGIN, END = "<!-- sow:begin", "<!-- sow:end -->"
ENDING = re.compile(rf"{END}(?:\n|\Z)")
"""An editor may have taken the file's last line break away."""
FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n+", re.DOTALL)
NAME = "AGENTS.md"


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


def wanted_text() -> str:
    """Return the text that this sow writes."""
    return text_of_skill(SKILL.read_text(encoding="utf-8"))


def write_agents_md(folder: Path, *, force: bool, dry_run: bool) -> Written:
    """Put sow's text into the folder's AGENTS.md, or bring it up to date there.

    Raises EditedByHand without `force`, UnfitFile, and as `change_document` does.
    """
    file = folder / NAME

    def change(data: bytes | None) -> bytes:
        content, is_crlf = _content(file, data)
        block = _block(file, content)
        if block is not None and block.is_edited and not force:
            raise _edited(file, block, "sow install agents-md")
        return _bytes(with_block(content, wanted_text(), block), is_crlf=is_crlf)

    return change_document(
        file, change, dry_run=dry_run, keeps_backup=_is_edited_in(file), root=folder
    )


def remove_from_agents_md(folder: Path, *, force: bool, dry_run: bool) -> Written:
    """Take sow's text out again; a file that has nothing else goes.

    Raises NothingOnRecord, and as `write_agents_md` does.
    """
    file = folder / NAME

    def change(data: bytes | None) -> bytes | None:
        content, is_crlf = _content(file, data)
        block = _block(file, content)
        if block is None:
            raise NothingOnRecord("A text of sow's", file)
        if block.is_edited and not force:
            raise _edited(file, block, "sow uninstall agents-md")
        return _bytes(without_block(content, block), is_crlf=is_crlf) or None

    return change_document(
        file, change, dry_run=dry_run, keeps_backup=_is_edited_in(file), root=folder
    )


def block_in(folder: Path) -> Block | None:
    """Return sow's text in the folder's AGENTS.md. Raises UnfitFile, LeadsOut, NotAFile."""
    file = folder / NAME
    refuse_leading_out(file, root=folder)
    return _block(file, _content(file, read_document(file))[0])


def _is_edited_in(file: Path) -> Callable[[bytes], bool]:
    """Return what says of the file's content whether somebody has edited sow's text in it."""

    def is_edited(data: bytes) -> bool:
        block = _block(file, _content(file, data)[0])
        return block is not None and block.is_edited

    return is_edited


def _content(file: Path, data: bytes | None) -> tuple[str, bool]:
    """Return the text of a file with plain line ends, and whether it had others."""
    try:
        text = (data or b"").decode()
    except UnicodeDecodeError:
        raise UnfitFile(file, "it is no UTF-8 text") from None
    if "\r" not in text:
        return text, False
    plain = text.replace("\r\n", "\n")
    if plain.replace("\n", "\r\n") != text:
        raise UnfitFile(file, "its lines end in two ways")
    return plain, True


def _bytes(text: str, *, is_crlf: bool) -> bytes:
    return (text.replace("\n", "\r\n") if is_crlf else text).encode()


def _block(file: Path, content: str) -> Block | None:
    try:
        return find_block(content)
    except Unclear as error:
        raise UnfitFile(file, str(error)) from error


def _edited(file: Path, block: Block, command: str) -> EditedByHand:
    lines = difflib.unified_diff(
        block.text.splitlines(), wanted_text().splitlines(), "there", "of sow", lineterm=""
    )
    return EditedByHand(file, "The text between sow's markers", command, "\n".join(lines))
