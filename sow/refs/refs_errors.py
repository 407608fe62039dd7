"""What can go wrong with references, in words that name the remedy."""

from pathlib import Path

from sow.errors import StateError


class RefsFolderTaken(StateError):
    """`.sow/refs` is no folder of its own: what is written there would land elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(
            f"{folder} is a link, or no folder: nothing is linked there",
            hint="Look at it, and move it away; sow makes the folder when it needs it.",
        )


class LinkPlaceTaken(StateError):
    """Something that sow has not put there lies where a link should be."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is not of sow's making, and lies where the reference is to be linked",
            hint="Look at it and move it away, then run `sow refs init`.",
        )


class NoSuchRef(StateError):
    """The remote has no such branch or tag."""

    def __init__(self, source: str, ref: str) -> None:
        kind, name = ("tag", ref.removeprefix("refs/tags/"))
        if ref.startswith("refs/heads/"):
            kind, name = ("branch", ref.removeprefix("refs/heads/"))
        what = (
            "has no commit that it names as its own" if ref == "HEAD" else f"has no {kind} {name}"
        )
        super().__init__(
            f"{source} {what}",
            hint="Name one that it has, by --branch or --tag; `git ls-remote` lists them.",
        )


class NoSuchFolder(StateError):
    """A commit of the remote has no such folder."""

    def __init__(self, source: str, path: str, commit: str) -> None:
        super().__init__(
            f"{source} has no folder {path} in {commit[:12]}",
            hint="Name a folder of it by --path, from its root.",
        )


class TooMuch(StateError):
    """A reference holds more than one may."""

    def __init__(self, source: str, what: str) -> None:
        super().__init__(
            f"{source} holds more than {what}",
            hint="Name the folder of it that is needed: sow refs add URL --path FOLDER",
        )


class Unreachable(StateError):
    """The remote gave no answer, or refused. `why` is what git has said."""

    passes = True

    def __init__(self, source: str, why: str) -> None:
        self.why = why
        super().__init__(
            f"{source} cannot be reached: {why}",
            hint="See that `git ls-remote` of that address answers here, and asks nothing; then"
            " call again.",
        )
