"""Whether a text has the form of one of our usual patterns, without `re`.

Owns the patterns that nearly every command meets in the files that it reads: ids, slugs, lengths
of time and texts of state and configuration. Importing `re` and compiling the six that a command
needs is a fortieth of a spawn (docs/performance.md). Each condition gives the pattern's own answer
(tests/test_usual_patterns.py). Imports nothing.
"""

from collections.abc import Callable, Collection, Sequence

DIGITS = frozenset("0123456789")
PART = range(1, 4)
HEXADECIMAL = frozenset("0123456789abcdef")
LOWER = frozenset("abcdefghijklmnopqrstuvwxyz")
SLUG = LOWER | DIGITS | frozenset("-")
UNITS_OF_TIME = ("ms", "s", "m", "h", "d")


def _line(text: str) -> str:
    """Return what `^` and `$` hold of a text: it may end with a line break."""
    return text[:-1] if text[-1:] == "\n" else text


def _has_no_nul(text: str) -> bool:
    return "\0" not in text


def number_and_unit(text: str, units: Sequence[str], longest: int) -> tuple[str, str] | None:
    """Return the two parts of a text such as 1.5h; None for another.

    The number has up to `longest` digits, and up to three behind a point. A unit comes before
    those that it ends with.
    """
    unit = next((unit for unit in units if text.endswith(unit)), "")
    number = text.removesuffix(unit)
    whole, point, part = number.partition(".")
    is_number = 0 < len(whole) <= longest and DIGITS.issuperset(whole + part)
    return (number, unit) if unit and is_number and len(part) in (PART if point else (0,)) else None


def _is_duration(text: str) -> bool:
    return number_and_unit(text, UNITS_OF_TIME, 9) is not None


def _is_duration_or_never(text: str) -> bool:
    return text == "never" or _is_duration(text)


def _is_task_id(text: str) -> bool:
    line = _line(text)
    return len(line) > 2 and DIGITS.issuperset(line)


def _is_slug(text: str) -> bool:
    line = _line(text)
    return line[:1] in LOWER and SLUG.issuperset(line)


def _is_uuid(text: str) -> bool:
    parts = _line(text).split("-")
    return [*map(len, parts)] == [8, 4, 4, 4, 12] and all(map(HEXADECIMAL.issuperset, parts))


def _is_hash(lengths: Collection[int]) -> Callable[[str], bool]:
    def is_hash(text: str) -> bool:
        line = _line(text)
        return len(line) in lengths and HEXADECIMAL.issuperset(line)

    return is_hash


USUAL: dict[str, Callable[[str], bool]] = {
    r"^[^\x00]*$": _has_no_nul,
    r"^[0-9]{1,9}(\.[0-9]{1,3})?(ms|s|m|h|d)$(?!\n)": _is_duration,
    r"^never$(?!\n)|^[0-9]{1,9}(\.[0-9]{1,3})?(ms|s|m|h|d)$(?!\n)": _is_duration_or_never,
    r"^[0-9]{3,}$": _is_task_id,
    r"^[a-z][a-z0-9-]*$": _is_slug,
    r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$": _is_uuid,
    r"^[0-9a-f]{40}([0-9a-f]{24})?$": _is_hash((40, 64)),
    r"^([0-9a-f]{64})?$": _is_hash((0, 64)),
    r"^[0-9a-f]{64}$": _is_hash((64,)),
}
"""By the pattern, as our forms have it, the condition that says the same."""
