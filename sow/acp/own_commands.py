"""Whether a line of a shell is one command of sow and nothing else.

Owns that one rule. A line that any shell could take for more is none: a list, a pipe, a
redirection, a substitution, a pattern, a variable. Inside quotes such characters are text. Pure.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+:,./-")
"""What may stand outside of quotes; `=` besides, but not at the beginning of a word, where a shell
may take it for a path."""
ESCAPED = frozenset('"\\$`')
"""What a backslash may stand before inside double quotes: every shell takes both for that one."""


LONGEST = 128 << 10
"""No command may be longer, in characters: Linux gives a program no longer word."""


def is_own_command(line: str, allowed: "Sequence[str]", denied: "Sequence[str]" = ()) -> bool:
    """Whether `line` runs one of the commands `allowed`, each given by its words: `task show`.

    The longest command counts that the words begin with, so one of `denied` may be longer.
    """
    words = words_of(line)
    if words is None or words[:1] != ["sow"]:
        return False
    rest = words[1:]
    known = [command.split() for command in (*allowed, *denied)]
    fitting = [command for command in known if rest[: len(command)] == command]
    longest = max(fitting, key=len, default=None)
    return longest is not None and " ".join(longest) in allowed


def words_of(line: str) -> list[str] | None:
    """Return the words of a line that is one plain command; None where it may be more."""
    if len(line) > LONGEST:
        return None
    words: list[str] = []
    word: str | None = None
    place, line = 0, line.strip(" \t\n")
    while place < len(line):
        character = line[place]
        place += 1
        if character in " \t":
            words += [] if word is None else [word]
            word = None
        elif character in "'\"":
            found = _quoted(line, place, character)
            if found is None:
                return None
            text, place = found
            word = (word or "") + text
        elif character in BARE or (character == "=" and word is not None):
            word = (word or "") + character
        else:
            return None
    return words + ([] if word is None else [word])


def _quoted(line: str, place: int, quote: str) -> tuple[str, int] | None:
    """Return the text of a quotation that begins at `place`, and where it has ended.

    None where there is no end, or where something in it is more than text to some shell.
    """
    text = ""
    while place < len(line):
        character = line[place]
        if character == quote:
            return text, place + 1
        if character == "\\":
            # Inside single quotes shells differ in what it is.
            if quote == "'" or line[place + 1 : place + 2] not in ESCAPED:
                return None
            place += 1
            character = line[place]
        elif character in "\0\r" or (quote == '"' and character in "$`"):
            return None
        text += character
        place += 1
    return None
