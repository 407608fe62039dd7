"""Lines of newline-delimited JSON, read from programs that sometimes garble them.

Owns decoding and salvage; what the objects mean belongs to each executor.
Promises: never raises on any bytes, and costs one pass where the line is sound.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

SALVAGE_LIMIT = 1_000_000
"""Longer broken lines are dropped whole, in bytes."""

SALVAGE_TRIES = 8
"""Each try may read the line to its end: without a bound, crafted noise would take minutes."""

OBJECT_START = '{"type":'
UNDECODABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def decode_line(line: bytes, decoder: msgspec.json.Decoder[T]) -> list[T]:
    """Return the objects on one line: usually one, none for noise.

    Where text was written into the middle of a line, or two objects share one,
    those that are still whole are returned (seen in the field:
    anthropics/claude-code#49640).
    """
    if b"{" not in line:
        return []
    try:
        return [decoder.decode(line)]
    except UNDECODABLE:
        return _salvage(line, decoder.type) if len(line) <= SALVAGE_LIMIT else []


def _salvage(line: bytes, wanted: Any) -> list[Any]:
    """Return the whole objects that start as our events do, outermost first."""
    import json  # only where a line is torn

    text = line.decode("utf-8", "replace")
    scan = json.JSONDecoder().raw_decode
    found: list[Any] = []
    index = text.find(OBJECT_START)
    for _ in range(SALVAGE_TRIES):
        if index < 0:
            break
        end = index + 1
        try:
            value, end = scan(text, index)
            found.append(msgspec.convert(value, wanted))
        except (ValueError, RecursionError):  # json's own error and msgspec's are ValueErrors
            pass
        index = text.find(OBJECT_START, end)
    return found


def excerpt(text: str, limit: int = 4000) -> str:
    """Return `text` for people and records: stripped, at most `limit` characters, always UTF-8.

    It has no NUL: to SQLite, and to many a program, a text would end there.
    """
    shown = text.replace("\0", "").strip()
    if len(shown) > limit:
        shown = shown[: limit - 1] + "…"
    return shown.encode("utf-8", "replace").decode("utf-8")


def target_of(arguments: Any, keys: Sequence[str]) -> str:
    """Return what a tool's call is about: the first of some arguments that has a text."""
    values = (arguments.get(key) for key in keys) if isinstance(arguments, dict) else ()
    return next((excerpt(value, 200) for value in values if isinstance(value, str) and value), "")


def clean_session_id(text: str | None) -> str | None:
    """Return a session id that is fit for `state.yaml` and an argv, else None."""
    if text and len(text) <= 200 and text.isprintable() and not text.startswith("-"):
        return text
    return None


def parse_time(text: object) -> float | None:
    """Return the time that a line names, in seconds since the epoch, or None.

    It is written as `2026-11-22T00:55:31.115Z`.
    """
    if not isinstance(text, str):
        return None
    from datetime import datetime  # only where a line has a time

    try:
        return plausible_time(datetime.fromisoformat(text).timestamp())
    except (ValueError, OverflowError):
        return None


def finite(number: float | None) -> float | None:
    """Return `number`, or None where JSON's loose cousins gave NaN or an infinity."""
    return number if number is not None and abs(number) < 1e15 else None


def money(value: Any) -> float | None:
    """Return an amount of money; None where something else stands there."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return finite(value) if is_number and value >= 0 else None


def http_status(value: Any) -> int | None:
    """Return an HTTP status; None where something else stands there."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 100 <= value < 600 else None


def plausible_time(seconds: float | None) -> float | None:
    """Return a time in epoch seconds, or None where it lies before 2001 or after 5000."""
    return seconds if seconds is not None and 1e9 <= seconds < 1e11 else None
