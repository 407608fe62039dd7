"""Budgets as people write them: `usd=5,tokens=2M,time=3h`, or a table of the same in a file.

Owns that notation in both directions.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import UNSET

from sow.config.durations import parse_duration, write_duration
from sow.config.origin import Key
from sow.config.source import Source
from sow.schema.amounts import Amounts, Measure
from sow.schema.config import BudgetSection

KEY = "budget"
EXAMPLE = "usd=5,tokens=2M,time=3h"
_COUNT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,3})?)([kKMG]?)", re.ASCII)
_MONEY = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?", re.ASCII)
THOUSANDS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9}


def parse_budget(text: str) -> Amounts:
    """Return the budget that an option's words stand for. Raises ValueError, with a sentence."""
    amounts: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = part.strip().partition("=")
        if not equals or name not in list(Measure):
            raise ValueError(f"{part.strip()!r} is none of usd=…, tokens=… and time=…")
        if name in amounts:
            raise ValueError(f"{name} is given twice")
        amounts[name] = _amount(Measure(name), value.strip())
    return Amounts(**amounts)


def _amount(measure: Measure, text: str) -> float:
    """Return one amount; it is more than nothing. Raises ValueError."""
    match measure:
        case Measure.USD:
            if _MONEY.fullmatch(text) is None:
                raise ValueError(f"not an amount of US dollars: {text!r} (such as 5 or 0.25)")
            amount = float(text)
        case Measure.TOKENS:
            amount = parse_count(text)
        case Measure.TIME:
            amount = parse_duration(text)
    if amount <= 0:
        raise ValueError(f"{measure} must be more than nothing")
    return amount


def parse_count(text: str) -> float:
    """Return the number that `200k` or `2M` stands for. Raises ValueError."""
    match = _COUNT.fullmatch(text)
    if match is None:
        raise ValueError(f"not a number of tokens: {text!r} (such as 200k or 2M)")
    return float(round(float(match[1]) * THOUSANDS[match[2]]))


def budget_of(source: Source[Any], section: BudgetSection | None, place: Key) -> Amounts | None:
    """Return the budget that stands at a place of a file. Raises InvalidConfiguration."""
    if section is None:
        return None
    amounts: dict[str, float] = {}
    for measure in Measure:
        value = getattr(section, measure.value)
        if value is UNSET or value is None:
            continue
        try:
            amounts[measure.value] = _amount(measure, _text(value))
        except ValueError as error:
            raise source.fault(*place, measure.value, reason=str(error)) from None
    return Amounts(**amounts) or None


def _text(value: object) -> str:
    """Return a number of YAML as a person would write it."""
    return f"{value:.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def budget_keys(amounts: Amounts | None, place: Key) -> Iterable[Key]:
    """Return where each amount of a budget stands."""
    return [(*place, measure.value) for measure in Measure if (amounts or Amounts()).of(measure)]


def write_amount(measure: Measure, amount: float) -> str:
    """Return an amount for people, in the words of the option's value: `5`, `2M`, `3h`."""
    match measure:
        case Measure.USD:
            return f"{amount:.4f}".rstrip("0").rstrip(".")
        case Measure.TOKENS:
            return write_count(amount)
        case Measure.TIME:
            return write_duration(round(amount))


def write_count(amount: float) -> str:
    """Return a number of tokens: `2M`, `1500k`, `123456`."""
    count = round(amount)
    for unit, size in _UNITS.items():
        if count and count % size == 0:
            return f"{count // size}{unit}"
    return str(count)


_UNITS: Mapping[str, int] = {"G": 10**9, "M": 10**6, "k": 10**3}


def write_budget(amounts: Amounts) -> str:
    """Return a budget as `--budget` takes it."""
    parts = ((measure, amounts.of(measure)) for measure in Measure)
    return ",".join(
        f"{measure}={write_amount(measure, amount)}" for measure, amount in parts if amount
    )
