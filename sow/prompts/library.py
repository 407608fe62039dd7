"""The guidance that agents load with `sow prompt PATH`.

Owns the texts below `guidance/` and their names. Knows nothing of tasks,
agents' processes or configuration, and imports only what finding a file needs.
"""

from pathlib import Path

from sow.errors import UsageError

FOLDER = Path(__file__).parent
SUFFIX = ".md"


class UnknownPrompt(UsageError):
    """A prompt was asked for that does not exist."""

    def __init__(self, name: str, known: list[str]) -> None:
        from difflib import get_close_matches  # heavy, and for an error's hint alone

        self.name = name
        below = [path for path in known if path.startswith(f"{name.rstrip('/')}/")]
        self.nearest = below or get_close_matches(name, known, n=3, cutoff=0.5)
        guess = "".join(f"\n  - {near}" for near in self.nearest)
        heading = "There are" if below else "The nearest are"
        near = f"{heading}:{guess}\n\n" if self.nearest else ""
        super().__init__(
            f"unknown prompt: {name}", hint=f"{near}Run `sow prompt --list` to see them all."
        )


def list_prompts() -> list[str]:
    """Return the names of all prompts, such as `guidance/implementer/base`, sorted."""
    files = (FOLDER / "guidance").rglob(f"*{SUFFIX}")
    return sorted(file.relative_to(FOLDER).with_suffix("").as_posix() for file in files)


def load_prompt(name: str) -> str:
    """Return the text of one prompt.

    Only a name that `list_prompts` gives is opened, so no path leads out of
    the package. Raises UnknownPrompt.
    """
    known = list_prompts()
    if name not in known:
        raise UnknownPrompt(name, known)
    return (FOLDER / f"{name}{SUFFIX}").read_text(encoding="utf-8")
