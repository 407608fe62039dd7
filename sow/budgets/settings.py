"""Budgets as people write them: `usd=5,tokens=2M,time=3h`, or a table of the same in a file.

Owns that notation in both directions, and what the files say with it (`sow.config.features`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from sow.config.configuration import Configuration
from sow.config.origin import FILE, REPOSITORY, Key, Origin, Setting
from sow.config.source import Source
from sow.config.units import parse_duration, write_duration
from sow.schema.amounts import Amounts, Measure
from sow.schema.batch_policy import BatchPolicy
from sow.schema.config import (
    AgentsSection,
    BatchSection,
    BudgetSection,
    RepositoryConfigFile,
    UserConfigFile,
)

KEY = "budget"
EXAMPLE = ("{usd: 20}", "What its agents may spend in a repository")
OPTION_EXAMPLE = "usd=5,tokens=2M,time=3h"
_COUNT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,3})?)([kKMG]?)", re.ASCII)
_MONEY = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?", re.ASCII)
THOUSANDS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9}


class BudgetSettings(Struct, frozen=True):
    """The budgets that stand in files."""

    executors: Mapping[str, Amounts] = {}
    """By executor, what its agents may spend in a repository; without those that have none."""
    project: Amounts | None = None
    """What all agents may spend for the repository's project."""


def settings_in(configuration: Configuration) -> BudgetSettings:
    """Return the budgets in effect that stand in files."""
    found: BudgetSettings = configuration.features.get(KEY) or BudgetSettings()
    return found


def read(
    user: Source[UserConfigFile] | None, repository: Source[RepositoryConfigFile]
) -> tuple[BudgetSettings | None, dict[Key, Origin]]:
    """Return each executor's budget and the project's, with origins."""
    agents = (user.content.agents if user is not None else None) or AgentsSection()
    executors: dict[str, Amounts] = {}
    origins: dict[Key, Origin] = {}
    for name, section in (agents.executors or {}).items():
        place = ("agents", "executors", name, KEY)
        budget = budget_of(user, section.budget, place) if user and section else None
        if budget is not None:
            executors[name] = budget
            origins |= dict.fromkeys(budget_keys(budget, place), FILE)
    project = budget_of(repository, repository.content.budget, (KEY,))
    origins |= dict.fromkeys(budget_keys(project, (KEY,)), REPOSITORY)
    return BudgetSettings(executors, project) if executors or project else None, origins


def of_user(configuration: Configuration, settings: BudgetSettings) -> Iterator[Setting]:
    """Yield the budgets of executors."""
    for name, budget in settings.executors.items():
        yield from _shown(configuration, ("agents", "executors", name, KEY), budget)


def of_repository(configuration: Configuration, settings: BudgetSettings) -> Iterator[Setting]:
    """Yield the project's budget."""
    if settings.project is not None:
        yield from _shown(configuration, (KEY,), settings.project)


def _shown(configuration: Configuration, place: Key, budget: Amounts) -> Iterator[Setting]:
    for measure in Measure:
        amount = budget.of(measure)
        if amount is not None:
            key = (*place, measure.value)
            value = amount if measure is Measure.USD else write_amount(measure, amount)
            yield Setting(key, value, configuration.origin(*key))


def with_policy(
    policy: BatchPolicy, source: Source[RepositoryConfigFile], asked: Mapping[str, Any]
) -> BatchPolicy:
    """Return a batch's policy with the budget that a call gives it, else the repository's."""
    section = source.content.batch or BatchSection()
    budget = asked.get(KEY) or budget_of(source, section.budget, ("batch", KEY))
    return replace(policy, budget=budget, unmetered=bool(asked.get("unmetered")))


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
