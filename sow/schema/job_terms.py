"""A job's own parameters, one struct for each kind that has any: the column `terms`.

Owns their shape and the tag that tells them apart. Only additions: a file may hold
jobs that an earlier version of this sow has placed.
"""

import msgspec


class CheckTerms(msgspec.Struct, frozen=True, kw_only=True, tag="check", tag_field="kind"):
    """What a check was asked for."""

    names: tuple[str, ...]
    """The checks to run, in this order; their command lines stand in `.sow/config.yaml`."""


JobTerms = CheckTerms
"""Of any kind; with the second struct it is the union of them all."""
