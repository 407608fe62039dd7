"""`.sow/refs/index.yaml`: the references of a repository, shared with everyone who works on it.

Owns what a reference holds and what may stand there. Whoever reads the file may
not have written it, so an address, a branch or a path that could lead git or a
link elsewhere makes the whole file invalid, and no address holds a secret.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

ID_PATTERN = r"^[a-z0-9][a-z0-9-]{0,63}$(?!\n)"
LINK_PATTERN = r"^(?!index\.)[a-z0-9][a-z0-9._-]{0,63}$(?!\n)"
"""One name, so that it lies in `.sow/refs` itself; what begins with `index.` git would commit."""
WORD_PATTERN = r"^[^\x00-\x1f\x7f,]{1,64}$(?!\n)"

ReferenceId = Annotated[
    str, Meta(pattern=ID_PATTERN, description="lower-case letters, digits and dashes")
]
LinkName = Annotated[
    str,
    Meta(
        pattern=LINK_PATTERN,
        description="the name of a link: lower-case letters, digits, dots, dashes, underscores",
    ),
]
Words = Annotated[str, Meta(max_length=4000)]

HELPER = re.compile(r"[A-Za-z0-9+.-]*::")
"""How git is told to run a program of its own for an address (gitremote-helpers(7))."""
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
HOST = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*")
SHORT = re.compile(r"(?:([^@/:\s]+)@)?([A-Za-z0-9_][A-Za-z0-9._-]*):(?!/?-)([^:].*)")
"""`git@host:path`, which is ssh too."""
LONGEST = 2000
NO_SECRETS = (
    "holds a name or a password: the index is committed, and no secret may stand in it; leave it"
    " out, and have git know it by a credential helper (`git config --global credential.helper`)"
)


class ReferenceKind(StrEnum):
    """What a reference is for."""

    KNOWLEDGE = "knowledge"
    """It says how something is to be done: conventions, decisions, documents."""
    CODE = "code"
    """It is code to look at: another repository, an example."""


class Reference(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One outside repository, or a folder of it."""

    id: ReferenceId
    source: Annotated[str, Meta(min_length=1, max_length=LONGEST)]
    """The address: https, ssh or file, or the absolute path of a repository on this machine."""
    kind: ReferenceKind = ReferenceKind.KNOWLEDGE
    link: LinkName
    """Its name in `.sow/refs`."""
    branch: str | UnsetType = UNSET
    """The branch that it follows; without it, and without a tag, the repository's own choice."""
    tag: str | UnsetType = UNSET
    """The tag at which it stands."""
    path: str | UnsetType = UNSET
    """The folder of it that is linked; the whole without."""
    tags: list[Annotated[str, Meta(pattern=WORD_PATTERN)]] = []
    """Words by which it is found."""
    description: Words = ""
    """What it is for; agents are told."""
    summary: Words = ""
    """What stands in it."""

    def __post_init__(self) -> None:
        if fault := source_fault(self.source):
            raise ValueError(f"the source {fault}")
        for name, value in (("branch", self.branch), ("tag", self.tag)):
            if value is not UNSET and (fault := name_fault(value)):
                raise ValueError(f"the {name} {fault}")
        if self.branch is not UNSET and self.tag is not UNSET:
            raise ValueError("it has a branch and a tag; one of the two decides what is linked")
        if self.path is not UNSET and (fault := path_fault(self.path)):
            raise ValueError(f"the path {fault}")

    @property
    def ref(self) -> str:
        """The ref of the remote that it follows."""
        if self.tag is not UNSET:
            return f"refs/tags/{self.tag}"
        return "HEAD" if self.branch is UNSET else f"refs/heads/{self.branch}"

    @property
    def subfolder(self) -> str:
        """The folder of it that is linked; empty for the whole."""
        return "" if self.path is UNSET else self.path


class ReferenceIndex(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of `index.yaml`."""

    references: list[Reference] = []
    version: Annotated[int, Meta(ge=1, description="the form of this file")] | UnsetType = UNSET

    def __post_init__(self) -> None:
        for field in ("id", "link"):
            seen: set[str] = set()
            for reference in self.references:
                value = getattr(reference, field)
                if value in seen:
                    raise ValueError(f"two references have the {field} {value}")
                seen.add(value)


def source_fault(text: str) -> str:
    """Return what is wrong with an address, as the end of a sentence; nothing if it is one.

    Never repeats the address, which may hold a password.
    """
    if not text.strip() or text != text.strip() or re.search(r"[\x00-\x1f\x7f]", text):
        return "is empty, or holds characters that no address has"
    if len(text) > LONGEST:
        return f"is longer than {LONGEST} characters"
    if text.startswith("-"):
        return "begins with a dash, which git would take for an option"
    if HELPER.match(text):
        return "names a program for git to run (`::`): only https, ssh and file are spoken"
    if text.startswith("/"):
        return ""
    if found := SCHEME.fullmatch(text):
        return _url_fault(found[1].lower(), found[2])
    if found := SHORT.fullmatch(text):
        return "" if found[1] is None or USER.fullmatch(found[1]) else "has a user that ssh refuses"
    return "is no address: https://…, ssh://…, git@host:path, file:///… or an absolute path"


def _url_fault(scheme: str, rest: str) -> str:
    if scheme not in ("https", "ssh", "file"):
        return f"speaks {scheme}: only https, ssh and file are spoken; most servers have https"
    authority, slash, path = rest.partition("/")
    if re.search(r"\s", rest):
        return "holds a space; write %20 for it"
    if not slash or not path.strip("/"):
        return "names no repository behind the server"
    if scheme == "file":
        wrong = authority not in ("", "localhost") or "%00" in path
        return "names a server: write file:///path" if wrong else ""
    user, at, host = authority.rpartition("@")
    if at and (scheme == "https" or ":" in user):
        return NO_SECRETS
    if at and not USER.fullmatch(user):
        return "has a user that ssh refuses"
    if not HOST.fullmatch(host):
        return "has no server's name where one should be"
    if scheme == "https" and re.search(r"[?#]", path):
        return NO_SECRETS if "?" in path else "has a part behind `#`, which git does not know"
    return "" if not path.startswith("-") else "has a path that begins with a dash"


def name_fault(name: str) -> str:
    """Return why git has no branch or tag of this name (git-check-ref-format(1)); else nothing."""
    parts = name.split("/")
    bad = (
        re.search(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{", name)
        or name.startswith("-")
        or name.endswith(".")
        or name == "@"
        or len(name.encode("utf-8", "replace")) > 200
        or any(not part or part.startswith(".") or part.endswith(".lock") for part in parts)
    )
    return "is no name that git allows" if bad else ""


def path_fault(path: str) -> str:
    """Return why a path is no folder of a repository, as the end of a sentence; else nothing."""
    parts = path.split("/")
    if path.startswith(("/", "-", "~")) or "\\" in path or re.search(r"[\x00-\x1f\x7f]", path):
        return "is no folder inside the repository: write it from its root, such as docs/style"
    if any(part in ("", ".", "..") or part.lower() == ".git" for part in parts):
        return "leads out of the repository, or has an empty part: write it such as docs/style"
    return "" if len(path) <= 1000 else "is too long"


PREFIX = "ref:"
"""What a task's list of references has before the id of one; its other entries are people's own."""


def named_in(entries: Iterable[object]) -> list[str]:
    """Return the ids of references among the entries of a task's list."""
    texts = (entry for entry in entries if isinstance(entry, str))
    return [text.removeprefix(PREFIX) for text in texts if text.startswith(PREFIX)]


def with_references(entries: Iterable[object], ids: Iterable[str]) -> list[object]:
    """Return a task's list with these references and no others; its other entries stay."""
    own = [each for each in entries if not (isinstance(each, str) and each.startswith(PREFIX))]
    return [*own, *(f"{PREFIX}{each}" for each in dict.fromkeys(ids))]
