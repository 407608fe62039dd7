"""The texts that agents get: the template that begins a role's prompts, guidance, greetings.

Owns their names, how a team's own text takes the place of one or is added to it, and how one text
includes another. Knows nothing of tasks, agents' processes or configuration, and imports only what
finding a file needs.
"""

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sow.errors import ConfigurationError, UsageError
from sow.files import NotAFile, read_regular
from sow.prompts.variables import Facts, fill, includes_of

FOLDER = Path(__file__).parent
TEMPLATES = FOLDER.parent / "agents" / "templates"
"""The folder of the texts that begin each role's prompt."""
SUFFIX = ".md"
ADDED = ".add.md"
TEMPLATE = "templates/"
"""What the name of a role's template begins with."""
NAME = re.compile(r"[a-z0-9-]+(?:/[a-z0-9-]+)+")
"""What a name may look like: no path leads out of the package."""
LONGEST = 256 * 1024
"""How many bytes a team's text may have."""


class Part(NamedTuple):
    """A file that a prompt is made of."""

    name: str
    """The prompt that the file belongs to: the one asked for, or one that it includes."""
    path: Path
    is_teams: bool
    text: str


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


class BadPromptFile(ConfigurationError):
    """A team's text cannot be used as it stands."""

    def __init__(self, path: Path, why: str) -> None:
        self.path = path
        self.why = why
        super().__init__(
            f"{path} {why}", hint="Mend it, or take it away: sow's own text is used then."
        )


def list_prompts() -> list[str]:
    """Return the names of all texts but the templates, such as `states/design/drafting`, sorted."""
    files = FOLDER.rglob(f"*{SUFFIX}")
    return sorted(file.relative_to(FOLDER).with_suffix("").as_posix() for file in files)


def list_templates() -> list[str]:
    """Return the names of the texts that begin a role's prompts, such as `templates/tester`."""
    return sorted(f"{TEMPLATE}{file.stem}" for file in TEMPLATES.glob(f"*{SUFFIX}"))


def is_prompt(name: str) -> bool:
    """Whether there is a text of this name."""
    return NAME.fullmatch(name) is not None and _own_path(name).is_file()


def parts_of(name: str, team: Path | None = None) -> list[Part]:
    """Return the files that one prompt is made of, in their order, without what they include.

    `team` is the folder of the team's own texts (`.sow/prompts`): `NAME.md` there takes the place
    of sow's own, `NAME.add.md` comes after it. Raises UnknownPrompt, BadPromptFile.
    """
    if not is_prompt(name):
        raise UnknownPrompt(name, [*list_prompts(), *list_templates()])
    replaced = _read(team, name, SUFFIX)
    added = _read(team, name, ADDED)
    return [replaced or _own(name), *([added] if added else [])]


def all_parts(name: str, team: Path | None = None) -> list[Part]:
    """Return the files that one prompt is made of, followed by those of each text it includes.

    What includes itself, or what there is not, is left out here: `load_prompt` refuses it. Raises
    UnknownPrompt, BadPromptFile.
    """
    return list(_walk(name, team, set()))


def load_prompt(name: str, team: Path | None = None, facts: Facts | None = None) -> str:
    """Return the text of one prompt, with what it includes, its variables filled in.

    Raises UnknownPrompt, BadPromptFile, UnfilledPrompt.
    """
    # Each variable is asked for once, and each text read once, however often texts name them.
    once = {each: cache(value) for each, value in (facts or {}).items()}
    return _load(name, team, once, (), {})


def team_files(team: Path) -> list[Path]:
    """Return every file of a team's folder, whether or not it has an effect."""
    return sorted(Path(folder, file) for folder, _, files in os.walk(team) for file in files)


def name_of(file: Path, team: Path) -> str | None:
    """Return the prompt that a team's file replaces or adds to; None where there is none."""
    inner = file.relative_to(team).as_posix()
    for suffix in (ADDED, SUFFIX):
        if inner.endswith(suffix):
            name = inner.removesuffix(suffix)
            return name if is_prompt(name) else None
    return None


def why_not_included(name: str, above: tuple[str, ...]) -> tuple[str, str] | None:
    """Return why a text cannot include another, and the remedy; None where it can.

    `above` are the texts that are being read: the one that includes, and those that include it.
    """
    if not is_prompt(name):
        return "names no prompt", "`sow prompt --list` names them all."
    if name in above:
        way = " includes ".join((*above[above.index(name) :], name))
        return f"leads round in a circle: {way}", f"To add to a text, call yours {name}{ADDED}."
    return None


def _load(
    name: str, team: Path | None, facts: Facts, above: tuple[str, ...], loaded: dict[str, str]
) -> str:
    """Return a text, filled in; `loaded` are those that were read before."""

    def include(inner: str) -> str:
        if why := why_not_included(inner, (*above, name)):
            raise ValueError(*why)
        if inner not in loaded:
            loaded[inner] = _load(inner, team, facts, (*above, name), loaded)
        return loaded[inner]

    return "\n".join(
        fill(part.text, facts, str(part.path), include) for part in parts_of(name, team)
    )


def _walk(name: str, team: Path | None, seen: set[str]) -> Iterator[Part]:
    seen.add(name)
    parts = parts_of(name, team)
    yield from parts
    for part in parts:
        for _, inner in includes_of(part.text):
            if inner not in seen and is_prompt(inner):
                yield from _walk(inner, team, seen)


@cache
def _own(name: str) -> Part:
    """Return sow's own text: a worker reads it once, as it imports its code once."""
    path = _own_path(name)
    return Part(name, path, False, path.read_text(encoding="utf-8"))


def _own_path(name: str) -> Path:
    is_template = name.startswith(TEMPLATE)
    folder, inner = (TEMPLATES, name.removeprefix(TEMPLATE)) if is_template else (FOLDER, name)
    return folder / f"{inner}{SUFFIX}"


def _read(team: Path | None, name: str, suffix: str) -> Part | None:
    if team is None:
        return None
    path = team / f"{name}{suffix}"
    try:
        text = read_regular(path, LONGEST).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except NotAFile as error:
        raise BadPromptFile(path, f"cannot be read: {error}") from error
    except UnicodeDecodeError as error:
        raise BadPromptFile(path, f"is not UTF-8 (byte {error.start})") from error
    if not text.strip():
        raise BadPromptFile(path, "is empty")
    if _leads_out(path, team):
        raise BadPromptFile(path, "leads out of the repository")
    return Part(name, path, True, text.rstrip() + "\n")


def _leads_out(path: Path, team: Path) -> bool:
    """Whether a file of a team is a link to somewhere outside of the repository and the folder.

    What it leads to would be sent to an agent's CLI: a repository chooses none of its user's files.
    """
    real = Path(os.path.realpath(path))
    inside = (team, team.parent.parent)
    return not any(real.is_relative_to(os.path.realpath(folder)) for folder in inside)
