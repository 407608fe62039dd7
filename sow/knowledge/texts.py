"""What the text of a document says of itself: its heading, and how it begins.

Pure functions. All that they return is on one line, and steers no terminal.
"""

import re

from sow.terminal_text import printable

HEAD_LIMIT = 1 << 16
"""The heading and the beginning are looked for in so many bytes."""
LONGEST_SUMMARY = 300
HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*\s*$")
FENCE = "---"
NO_WORDS = ("#", "```", "~~~", "---", "|", "<!--", "===", "![")
"""What begins a line that says nothing of what a text is about."""


def heading_of(text: str) -> str:
    """Return the first heading of a Markdown text; nothing where it has none."""
    for line in _body(text):
        found = HEADING.match(line)
        if found and found[1].strip():
            return printable(found[1]).strip()
    return ""


def summary_of(text: str) -> str:
    """Return the first paragraph of a text, shortened."""
    words: list[str] = []
    for line in _body(text):
        plain = line.strip()
        if plain and not plain.startswith(NO_WORDS):
            words.append(plain)
        elif words:
            break
    return shortened(" ".join(words), LONGEST_SUMMARY)


def shortened(text: str, most: int) -> str:
    """Return a text on one line, and of at most so many characters."""
    line = " ".join(printable(text).split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _body(text: str) -> list[str]:
    """Return the lines behind a frontmatter, where there is one."""
    lines = text.splitlines()
    if lines and lines[0].strip() == FENCE and FENCE in (line.strip() for line in lines[1:]):
        end = next(number for number, line in enumerate(lines[1:], 1) if line.strip() == FENCE)
        return lines[end + 1 :]
    return lines
