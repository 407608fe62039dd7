"""From text to values without a YAML library, for the usual file.

That is one that sow itself writes, or a configuration as its template shows it. Owns which texts
those are: block mappings a key a line, with words, numbers, times and plain quoted texts, with
lists and mappings of such on one line, and with comments. Whatever else a text holds, it is
left to the library (`loader`), errors as well. Both give the same
(`tests/yamlfile/test_usual.py`). Imports next to nothing.
"""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

VALUE_WORDS = frozenset(("yes", "no", "true", "false", "on", "off", "null"))
NON_ZERO = frozenset("123456789")
WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+@()")
"""What a word may hold without being taken for anything else, wherever in it."""
KEY = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
LONGEST_KEY = 200
"""Much longer ones are none to a library without a mark before them."""
SHORT = 64
"""Characters of a value that is remembered."""
DEEP = 64
"""With so much indentation a text may be nested too deeply, which the library's reader tells."""


class _Unusual(Exception):
    """A text that is left to the library."""


def usual_data(source: str) -> dict[str, Any] | None:
    """Return what a usual text says; None where a library has to tell, or refuse it."""
    try:
        return _mapping_of(source)
    except (_Unusual, ValueError):
        return None


def _mapping_of(source: str) -> dict[str, Any]:
    """Return what a text says. Raises _Unusual, ValueError."""
    if not source.replace("\n", "").isprintable():
        raise _Unusual
    root: dict[str, Any] = {}
    mapping, column = root, 0
    around: list[tuple[dict[str, Any], int]] = []
    opened = None  # the key whose mapping begins in the next line
    for line in source.split("\n"):
        text = line.lstrip(" ")
        if not text or text[0] == "#":
            continue
        margin = len(line) - len(text)
        if opened is not None and margin > column:
            if margin >= DEEP:
                raise _Unusual
            around.append((mapping, column))
            mapping[opened] = mapping = {}
            column = margin
        opened = None
        while margin < column:
            mapping, column = around.pop()
        key, colon, value = text.partition(":")
        if margin != column or not colon or key in mapping or not _is_key(key):
            raise _Unusual
        if " #" in value:  # a comment, unless within quotes: what is left of those is not usual
            value = value.partition(" #")[0].rstrip(" ")
        if not value:
            opened = key
            mapping[key] = None  # unless the next line is deeper
        elif value[0] == " ":
            mapping[key] = _value_of(value[1:])
        else:
            raise _Unusual
    if not root:
        raise _Unusual
    return root


@lru_cache(maxsize=256)
def _is_key(text: str) -> bool:
    return len(text) <= LONGEST_KEY and KEY.issuperset(text) and _is_word(text)


def _value_of(text: str) -> Any:
    """Return what stands behind a key. Raises _Unusual, ValueError."""
    ends = text[:1] + text[-1:]
    if ends == "[]":
        return [_value_of(item) for item in _parts_of(text)]
    if ends != "{}":
        return _scalar_of(text)
    mapping: dict[str, Any] = {}
    for part in _parts_of(text):
        key, colon, value = part.partition(": ")
        if not colon or key in mapping or not _is_key(key):
            raise _Unusual
        mapping[key] = _value_of(value)
    return mapping


def _parts_of(text: str) -> list[str]:
    """Return the texts between the commas of a list or a mapping. Raises _Unusual.

    Brackets within quotes are counted too: a part that is put together wrongly by that has a quote
    in its middle, which is not usual.
    """
    inner = text[1:-1]
    parts = inner.split(", ") if inner else []
    if "[" not in inner and "{" not in inner:
        return parts
    if inner.count("[") + inner.count("{") > DEEP:
        raise _Unusual
    found: list[str] = []
    depth = 0
    for part in parts:
        if depth:
            found[-1] += f", {part}"
        else:
            found.append(part)
        depth += part.count("[") + part.count("{") - part.count("]") - part.count("}")
    return found


def _scalar_of(text: str) -> Any:
    """Return what a scalar says. Raises _Unusual, ValueError."""
    return _short_scalar(text) if len(text) <= SHORT else _scalar(text)


@lru_cache(maxsize=1024)
def _short_scalar(text: str) -> Any:
    """Return the same of a text as short as words and times are, which come again and again."""
    return _scalar(text)


def _scalar(text: str) -> Any:
    if text[:1] == '"':
        inner = text[1:-1]
        if len(text) < len('""') or text[-1] != '"' or '"' in inner or "\\" in inner:
            raise _Unusual
        return inner
    if is_moment(text):
        return moment(text)
    if not text or not WORD.issuperset(text.replace(" ", "")) or "  " in text:
        raise _Unusual
    if is_number(text):
        return int(text)
    is_path = text[0] == "/"  # nothing but a string begins so
    if text == "." or ((is_path or (text[0].isalnum() and is_string(text))) and text[-1] != " "):
        return text
    if text in ("true", "false"):
        return text == "true"
    raise _Unusual


def is_string(value: str) -> bool:
    """Whether a text without quotes is known to be one: many others are, too."""
    return _is_word(value) or _is_id(value) or _is_hexadecimal(value)


def _is_word(value: str) -> bool:
    """Whether a text begins with a letter and is none of the words that YAML has for values."""
    first = value[:1]
    return first.isalpha() and first.isascii() and value.lower() not in VALUE_WORDS


def is_number(value: str) -> bool:
    """Whether a text is a number above zero, in digits alone."""
    return value[:1] in NON_ZERO and value.isascii() and value.isdecimal()


def _is_id(value: str) -> bool:
    """Whether a text has a dash where neither a number nor a time can have one."""
    return "-" in value[1:] and value[4:5] != "-" and "." not in value


def _is_hexadecimal(value: str) -> bool:
    """Whether a text has digits and letters alone, and not as a number of YAML's may have them."""
    is_plain = value.isalnum() and value.isascii() and not value.isdecimal()
    return is_plain and value[0].isdecimal() and value[:2] not in ("0b", "0x")


def is_moment(value: str) -> bool:
    """Whether a text has the form of 2026-01-31T12:00:00Z, as sow writes a time."""
    digits = value[:4] + value[5::3] + value[6::3]
    return len(value) == 20 and value[4::3] == "--T::Z" and digits.isdecimal() and digits.isascii()


def moment(value: str) -> datetime:
    """Return the time that a text of that form says. Raises ValueError for one that is none."""
    parts = (value[:4], value[5:7], value[8:10], value[11:13], value[14:16], value[17:19])
    year, month, day, hour, minute, second = map(int, parts)
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
