"""What a change of a YAML file is made of. Apart from `editing`, which only a writer needs."""

from collections.abc import Mapping

from msgspec import UNSET, UnsetType

REMOVE: UnsetType = UNSET
"""As a value of a change: take the key away."""

Keys = tuple[str, ...]

Changes = Mapping[str, object] | Mapping[Keys, object]
"""New values by dotted path, or by a tuple of keys where a key may hold a dot."""
