"""What a batch does with its tasks where its call does not say: `batch` in `.sow/config.yaml`.

Owns the merging of that section with what a call has given.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from sow.config.features import with_policy
from sow.config.origin import DEFAULT, REPOSITORY, Key, Origin
from sow.config.source import Source, given
from sow.features import FEATURES
from sow.schema.batch_policy import BatchPolicy
from sow.schema.config import BatchSection, RepositoryConfigFile

SECTION = "batch"
OF_FEATURES = {feature.key for feature in FEATURES}
"""What a feature reads itself."""


def policy_of(
    source: Source[RepositoryConfigFile],
    of_call: Mapping[str, Any],
    asked: Mapping[str, Any] | None = None,
) -> BatchPolicy:
    """Return a batch's policy: what a call has given, else the repository's, else the defaults.

    `asked` is what the call asks of features. Raises InvalidConfiguration.
    """
    fields = {name: value for name, value in _given(source).items() if name not in OF_FEATURES}
    policy = msgspec.convert({**fields, **of_call}, BatchPolicy)
    return with_policy(policy, source, asked or {})


def in_clones(section: BatchSection | None) -> bool:
    """Whether the tasks of a repository's batches are done in clones, so that a merge has them."""
    if section is None or section.clone is False:
        return False
    return section.clone is True or section.merge is True


def batch_origins(source: Source[RepositoryConfigFile]) -> dict[Key, Origin]:
    """Return the origin of each key of the section."""
    found = _given(source)
    return {
        (SECTION, name): REPOSITORY if name in found else DEFAULT
        for name in BatchSection.__struct_fields__
    }


def _given(source: Source[RepositoryConfigFile]) -> dict[str, Any]:
    section = source.content.batch or BatchSection()
    return given({name: getattr(section, name) for name in BatchSection.__struct_fields__})
