"""How long an answer may be: what of it a client gets where it would be longer.

Owns the limits. Whole results are left out first; of one that is too long by itself the texts and
the lists are cut, and whoever reads it is told by how much. Changes are cut so that their cursor
goes on with the first that is missing.
"""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

MOST_CHARACTERS = 45_000
"""Of one answer. Claude Code 2.1.330 shows its model 49,000 whole, and of more a preview."""
MOST_NOTES = 4_000
"""Characters in all the notes."""
MOST_QUOTED = 200
"""Of what a client has said, where it is told that this is nothing."""


class Most(NamedTuple):
    """How long the parts of a result may be."""

    characters: int
    """Of a text."""
    items: int
    """Of a list."""


MOST_KEYS = 60
"""More than any object of ours has, but where its keys are names of somebody else's."""
HALF_A_PAIR = "\\ud"
"""How JSON begins the escape of half a surrogate pair."""
STEPS = (
    *(Most(20_000, 2_000), Most(4_000, 400), Most(800, 80)),
    *(Most(200, 20), Most(60, 5), Most(20, 1)),
)
"""The first of them that is enough is taken, for a result that is too long by itself."""

Json = dict[str, Any]


class Fitting(NamedTuple):
    """What an answer has room for."""

    results: list[Json]
    left_out: Sequence[Json]
    """The whole results that there is no room for."""
    missing: list[str]
    """What is missing in those that are there, in words."""
    goes_on: bool
    """Whether the cursor in it leads to changes that there was no room for."""


def fit_results(results: Sequence[Json], *, keeps_last: bool) -> Fitting:
    """Return as much of the results as an answer may hold: at least one of them."""
    fit = [_as_far_as_there_is_room(result) for result in results]
    goes_on = any(cut is not whole for cut, whole in zip(fit, results, strict=True))
    room, kept = MOST_CHARACTERS, 0
    for result in reversed(fit) if keeps_last else fit:
        room -= _length(result) + 2
        if room < 0 and kept:
            break
        kept += 1
    first = len(fit) - kept if keeps_last else 0
    chosen = fit[first : first + kept]
    in_room, dropped = _in_room(chosen)
    missing = [
        f"Of `{name}` {count} more are left out." for name, count in dropped.items() if count
    ]
    if goes_on:
        missing.append("More has changed than there is room for: the cursor leads to the rest.")
    left = [*results[:first], *results[first + kept :]]
    return Fitting(in_room, left, missing, goes_on)


def fit_notes(notes: Sequence[str]) -> list[str]:
    """Return the first notes, as far as there is room for them, and how many others there are."""
    room = MOST_NOTES
    kept: list[str] = []
    for note in notes:
        room -= len(note)
        if room < 0:
            left = len(notes) - len(kept)
            more = [f"{left - 1} more notes"] * (left > 1)
            return [*kept, cut_text(note, MOST_NOTES // 4), *more]
        kept.append(note)
    return kept


def fit_lines(text: str, *, keeps_last: bool) -> str:
    """Return what a command has printed, an object a line, as far as an answer has room for it.

    Commands write what is no UTF-8 in a name as an escape that many a client does not read.
    """
    if len(text) <= MOST_CHARACTERS and HALF_A_PAIR not in text:
        return text
    objects = [json.loads(line) for line in filter(None, text.split("\n"))]
    fit = fit_results(objects, keeps_last=keeps_last)
    notes = list(fit.missing)
    if fit.left_out:
        notes.append(left_out(len(fit.left_out), keeps_last=keeps_last))
    lines = [{"notes": fit_notes(notes)}] if notes else []
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in [*lines, *fit.results])


def left_out(count: int, *, keeps_last: bool) -> str:
    """Return how a client is told of the results that it does not get."""
    kept = "last" if keeps_last else "first"
    return (
        f"{count} more results are left out, for the answer would be too long: these are the"
        f" {kept}. Ask for less at once."
    )


def cut_text(text: str, most: int = MOST_QUOTED) -> str:
    """Return a text, or its beginning and by how much it is longer."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most} more characters)"


def _as_far_as_there_is_room(result: Json) -> Json:
    """Return changes up to the one that there is room for; their cursor is that one's then."""
    changes = result.get("changes")
    if "cursor" not in result or not isinstance(changes, list) or not changes:
        return result
    room, kept = MOST_CHARACTERS - MOST_NOTES, 0
    for change in changes:
        room -= _length(change) + 2
        if room < 0 and kept:
            break
        kept += 1
    if kept == len(changes):
        return result
    return {**result, "changes": changes[:kept], "cursor": changes[kept - 1]["cursor"]}


def _in_room(results: Sequence[Json]) -> tuple[list[Json], Counter[str]]:
    """Return results cut as far as an answer has no room for them, and what of their lists went."""
    fit, dropped = list(results), Counter[str]()
    for most in STEPS:
        if _length(fit) <= MOST_CHARACTERS:
            break
        dropped = Counter()
        fit = [_cut(result, most, dropped, "results") for result in results]
    return fit, dropped


def _cut(value: Any, most: Most, dropped: Counter[str], name: str) -> Any:
    match value:
        case str():
            return cut_text(value, most.characters)
        case dict():
            kept = dict(list(value.items())[: max(most.items, MOST_KEYS)])
            dropped[name] += len(value) - len(kept)
            return {key: _cut(each, most, dropped, key) for key, each in kept.items()}
        case list():
            dropped[name] += max(0, len(value) - most.items)
            return [_cut(each, most, dropped, name) for each in value[: most.items]]
    return value


def _length(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False))
