"""What can go wrong with knowledge, in words that name the remedy."""

from collections.abc import Sequence

from sow.errors import StateError


class UnknownKnowledge(StateError):
    """Nothing of this name is known, or several things whose ids begin so."""

    def __init__(self, name: str, known: Sequence[str], beginning: Sequence[str]) -> None:
        from difflib import get_close_matches  # heavy, and for an error's hint alone

        if beginning:
            message = f"{len(beginning)} entries begin with {name!r}"
            hint = f"Write one of them out: {', '.join(beginning[:5])}."
        else:
            near = get_close_matches(name, known, n=1)
            guess = f"Did you mean {near[0]}? " if near else ""
            message = f"nothing is known by the name {name!r}"
            hint = f"{guess}`sow knowledge list` shows all; `sow knowledge search` looks for words."
        super().__init__(message, hint=hint)
