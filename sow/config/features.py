"""What the settings of features say: the one place where files are read for them.

Owns when a feature is asked. Its module `settings` is imported only if its key stands in a file,
and has these functions:

* `read(user, repository)` returns its settings, None if there are none, and the origin of each key;
* `of_user(configuration, settings)` and `of_repository(configuration, settings)` yield what
  `sow config show` prints of them;
* `with_policy(policy, source, asked)` returns a batch's policy with what the repository says of it,
  and what a call has asked for;
* `EXAMPLE` is the line of an executor in the template: a value and a comment.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from sow.config.configuration import Configuration
from sow.config.origin import Key, Origin, Setting
from sow.config.source import Source
from sow.features import FEATURES
from sow.schema.batch_policy import BatchPolicy
from sow.schema.config import RepositoryConfigFile, UserConfigFile


def read_features(
    user: Source[UserConfigFile] | None, repository: Source[RepositoryConfigFile]
) -> tuple[dict[str, Any], dict[Key, Origin]]:
    """Return each feature's settings by its key, without those that have none, and the origins.

    Raises InvalidConfiguration.
    """
    settings: dict[str, Any] = {}
    origins: dict[Key, Origin] = {}
    for feature in FEATURES:
        if _stands_in(feature.key, repository) or (user and _stands_in(feature.key, user)):
            found, its_origins = feature.part("settings").read(user, repository)
            if found is not None:
                settings[feature.key] = found
                origins |= its_origins
    return settings, origins


def _stands_in(key: str, source: Source[Any]) -> bool:
    """Whether a file may say something for a feature: the module is not imported for others."""
    return key.encode() in source.text or b"\\" in source.text  # an escape may spell it


def with_policy(
    policy: BatchPolicy, source: Source[RepositoryConfigFile], asked: Mapping[str, Any]
) -> BatchPolicy:
    """Return a batch's policy with what features add to it. Raises InvalidConfiguration."""
    for feature in FEATURES:
        if asked or _stands_in(feature.key, source):
            policy = feature.part("settings").with_policy(policy, source, asked)
    return policy


def of_user(configuration: Configuration) -> Iterator[Setting]:
    """Yield the settings of features that stand in the user's file."""
    return _shown(configuration, "of_user")


def of_repository(configuration: Configuration) -> Iterator[Setting]:
    """Yield the settings of features that stand in the repository's file."""
    return _shown(configuration, "of_repository")


def _shown(configuration: Configuration, function: str) -> Iterator[Setting]:
    for feature in FEATURES:
        found = configuration.features.get(feature.key)
        if found is not None:
            yield from getattr(feature.part("settings"), function)(configuration, found)


def executor_examples() -> dict[str, tuple[str, str]]:
    """Return an example of each feature's key of an executor, for the template."""
    return {feature.key: feature.part("settings").EXAMPLE for feature in FEATURES}
