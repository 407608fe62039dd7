"""What a batch does with its tasks where its call does not say: `batch` in `.sow/config.yaml`.

Owns the merging of that section with what a call has given.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from sow.budgets.settings import KEY as BUDGET
from sow.budgets.settings import budget_of
from sow.config.origin import DEFAULT, REPOSITORY, Key, Origin
from sow.config.source import Source
from sow.schema.amounts import Amounts
from sow.schema.batch import BatchPolicy
from sow.schema.config import BatchSection, RepositoryConfigFile

SECTION = "batch"


def policy_of(
    source: Source[RepositoryConfigFile], given: Mapping[str, Any], budget: Amounts | None = None
) -> BatchPolicy:
    """Return a batch's policy: what a call has given, else the repository's, else the defaults."""
    fields = {name: value for name, value in _given(source).items() if name != BUDGET}
    policy = msgspec.convert({**fields, **given}, BatchPolicy)
    section = source.content.batch or BatchSection()
    budget = budget or budget_of(source, section.budget, (SECTION, BUDGET))
    return msgspec.structs.replace(policy, budget=budget)


def in_clones(section: BatchSection | None) -> bool:
    """Whether the tasks of a repository's batches are done in clones, so that a merge has them."""
    if section is None or section.clone is False:
        return False
    return section.clone is True or section.merge is True


def batch_origins(source: Source[RepositoryConfigFile]) -> dict[Key, Origin]:
    """Return the origin of each key of the section."""
    given = _given(source)
    return {
        (SECTION, name): REPOSITORY if name in given else DEFAULT
        for name in BatchSection.__struct_fields__
    }


def _given(source: Source[RepositoryConfigFile]) -> dict[str, Any]:
    section = source.content.batch or BatchSection()
    fields = {name: getattr(section, name) for name in BatchSection.__struct_fields__}
    return {name: value for name, value in fields.items() if value not in (UNSET, None)}
