"""YAML: reading it fast and strictly, and changing it with its comments kept.

The only package that knows a YAML library: PyYAML, with its C loader and
emitter. Owns syntax, types and the place of a fault; knows no file of ours and
raises `YamlProblem` for callers to wrap in an error of theirs. Who writes
imports `sow.yamlfile.editing` besides: most commands only read.
"""

from collections.abc import Mapping

from msgspec import UNSET, UnsetType

from sow.yamlfile.problems import YamlProblem
from sow.yamlfile.reading import problem_in, read_shared, read_yaml

__all__ = ["REMOVE", "Changes", "YamlProblem", "problem_in", "read_shared", "read_yaml"]

REMOVE: UnsetType = UNSET
"""As a value of a change: take the key away."""

Keys = tuple[str, ...]

Changes = Mapping[str, object] | Mapping[Keys, object]
"""New values by dotted path, or by a tuple of keys where a key may hold a dot."""
