"""Text of others, made fit for a person's terminal, and for every record.

Owns what may reach a terminal of what agents and files say, and what stands for bytes that are no
text. Knows nothing of what the text means.
"""

import re

STYLE = r"(\x1b\[(?:[0-3]|3[1-6])m)"
"""The only escapes that may pass: the colours and weights of our own styles, and their end."""
CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"
"""All control characters but line end and tab."""
DIRECTION = r"[\u200e\u200f\u2028-\u202e\u2066-\u2069]"
"""What turns the direction of writing, or ends a line where no other program sees an end."""
STEERING = f"{STYLE}|{CONTROL}|{DIRECTION}"  # not compiled: few commands have a terminal
SEQUENCE = r"(?:\x1b\[|\x9b)[0-9;?]*[ -/]*[@-~]|\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])"
"""What colours and moves on a terminal (ECMA-48)."""


def readable(text: str) -> str:
    """Return a text with U+FFFD for each byte of a name or an argument that was no UTF-8.

    No record, no JSON and no state file can hold such bytes; nor half of a surrogate pair, as
    YAML and JSON can name one.
    """
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:
        return re.sub(r"[\ud800-\udfff]", "\ufffd", text)


def without_sequences(text: str) -> str:
    """Return a text without the sequences that colour and move: their letters would stay else."""
    return re.sub(SEQUENCE, "", text)


def printable(text: str) -> str:
    """Return a text on one line, and with nothing in it that steers a terminal."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else " " for letter in text)


def printable_lines(text: str) -> list[str]:
    """Return the lines of a text, each as `printable` gives it; none for an empty one."""
    return [printable(line).rstrip() for line in text.splitlines()]


def cells(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_cells_of, text))


def _cells_of(letter: str) -> int:
    import unicodedata  # most texts need none of its tables

    if unicodedata.category(letter) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def clipped(text: str, width: int) -> str:
    """Return as much of a text's beginning as fits so many columns; no letter is halved."""
    if cells(text) <= width:
        return text
    shown, taken = 0, 0
    for letter in text:
        taken += _cells_of(letter)
        if taken > width:
            break
        shown += 1
    return text[:shown]


def folded(text: str, width: int | None) -> list[str]:
    """Return a text in lines that fit a width, broken between words; a longer word stays whole."""
    if width is None or cells(text) <= width:
        return [text]
    first, *words = text.split(" ")
    lines = [first]
    for word in words:
        if lines[-1].strip() and cells(lines[-1]) + 1 + cells(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}"
    return lines


def without_steering(text: str) -> str:
    """Return a text of any lines without what would steer the terminal that shows it.

    The last fence, whatever a command prints. Colours are let through, because
    our own words have some; so an agent may colour its words, and nothing else.
    """
    return re.sub(STEERING, lambda found: found[1] or " ", text.replace("\r\n", "\n"))
