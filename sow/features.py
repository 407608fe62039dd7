"""The features that plug into sow, one row each. Nothing else knows a feature by its name.

A feature is a package with one module for each place at which it plugs in. What such a place asks
of it is described beside that place (`sow.config.features`, `sow.calls.features`,
`worker.features` and others). A module is imported when its place asks for it.

Plain data: every command imports this module, so it imports nothing of sow.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from sow.plain_record import PlainRecord


class Option(PlainRecord):
    """An option that a feature gives to commands."""

    name: str
    help: str
    metavar: str = ""
    is_flag: bool = False


class Feature(PlainRecord):
    """One feature."""

    key: str
    """What its settings are called, in the user's file and the repository's."""
    package: str
    """Its package in `sow`, with a module for each place."""
    worker: str
    """Its module in `worker`."""
    options: tuple[str, ...]
    """The options that it gives to commands that start agents, by the names of their parameters."""

    def part(self, name: str) -> Any:
        """Return the module with which it plugs in at one place."""
        return import_module(f"sow.{self.package}.{name}")


FEATURES: Sequence[Feature] = (Feature("budget", "budgets", "budgeting", ("budget", "unmetered")),)
OPTIONS: Sequence[str] = [option for feature in FEATURES for option in feature.options]
"""The options of all features."""


def parts(name: str) -> list[Any]:
    """Return the modules with which the features plug in at one place."""
    return [feature.part(name) for feature in FEATURES]
