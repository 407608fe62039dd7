"""The price table of the user's file: what models cost whose CLI tells tokens and no price.

Owns what a price means that is left out. What is counted by it is
`sow.attempts.run_usage`, and marked there as an estimate.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from sow.config.origin import Key
from sow.config.source import read_source
from sow.errors import ConfigurationError
from sow.schema.config import PriceSection, UserConfigFile

if TYPE_CHECKING:
    from sow.schema.usage import Price, Prices

SECTION = "prices"
PRICED = ("input", "output", "cache_read", "cache_write")
"""The kinds of tokens, as they are named there."""


def prices_of(content: UserConfigFile) -> "Prices":
    """Return the prices that a file gives, by the model's name."""
    given = content.prices or {}
    return {model: _price(section) for model, section in given.items() if section is not None}


def read_prices(path: Path) -> "Prices":
    """Return the prices of the file at `path` as it stands now; none where it cannot be read."""
    try:
        return prices_of(read_source(path, UserConfigFile).content)
    except ConfigurationError:
        return {}


def price_keys(prices: "Prices") -> list[Key]:
    """Return where each price stands in the file."""
    return [(SECTION, model, kind) for model in prices for kind in PRICED]


def _price(section: PriceSection) -> "Price":
    """Return a price. A cached token whose price is left out costs what one read anew does."""
    from sow.schema.usage import Price  # few users name prices

    return Price(
        input=section.input,
        output=section.output,
        cache_read=_given(section.cache_read, section.input),
        cache_write=_given(section.cache_write, section.input),
    )


def _given(value: object, otherwise: float) -> float:
    return float(value) if isinstance(value, int | float) else otherwise
