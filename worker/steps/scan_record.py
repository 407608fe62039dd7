"""`found.json`: what the look for secrets in an agent's work has come to. Owns its form."""

import msgspec


class Found(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Names of variables and files; no value."""

    attempt: str = ""
    """The id of the attempt (`sow.evidence`)."""
    places: tuple[tuple[str, str], ...] = ()
    """The name of a variable, and the file that has its value."""
    fault: str = ""
    """Why not all could be looked at."""
