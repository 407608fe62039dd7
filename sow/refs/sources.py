"""The address of a reference: taken from a person, compared, and named after.

Owns which addresses mean the same repository. Two that a server might tell apart
(`name` and `name.git`) are two: to fetch one twice is cheap, to mix two is not.
"""

import os
import re
from pathlib import Path
from urllib.parse import unquote

from sow.digest import sha256
from sow.errors import UsageError
from sow.schema.references import SCHEME, SHORT, source_fault

DEFAULT_PORTS = {"https": ":443", "ssh": ":22"}
DIGITS = 32
LONGEST_NAME = 40


class RefusedSource(UsageError):
    """An address that no reference may have. The words never repeat it: it may hold a password."""

    def __init__(self, fault: str) -> None:
        super().__init__(
            f"the address {fault}",
            hint="Addresses are https://host/path, ssh://git@host/path, git@host:path,"
            " file:///path, or a folder of this machine.",
        )


def source_from(text: str, cwd: Path) -> str:
    """Return a person's address as the index keeps it; a folder becomes absolute. RefusedSource."""
    if _is_folder(text, cwd):
        text = os.path.realpath(cwd / os.path.expanduser(text))  # noqa: PTH111 - no error without
    if fault := source_fault(text):
        raise RefusedSource(fault)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RefusedSource("is no UTF-8") from None
    return text


def _is_folder(text: str, cwd: Path) -> bool:
    """Whether an address without a scheme means a folder, as git would take it."""
    if not text or text.startswith("-") or "\0" in text or SCHEME.match(text) or "::" in text:
        return False
    if text.startswith(("/", "./", "../", "~/")) or text in (".", "..", "~"):
        return True
    return ":" not in text.partition("/")[0] and (cwd / text).is_dir()


def normalised(source: str) -> str:
    """Return one form for all the ways to write an address."""
    if source.startswith("/"):
        return "file://" + os.path.normpath("/" + source.strip("/"))
    if found := SCHEME.fullmatch(source):
        scheme, rest = found[1].lower(), found[2]
        authority, _, path = rest.partition("/")
        if scheme == "file":
            return "file://" + os.path.normpath("/" + unquote(path).strip("/"))
        user, at, host = authority.rpartition("@")
        host = host.lower().removesuffix(DEFAULT_PORTS[scheme])
        path = re.sub("/{2,}", "/", path).strip("/")
        return f"{scheme}://{user}{at}{host}/{path}"
    found = SHORT.fullmatch(source)
    if found is None:  # no address: the schema has refused it
        return source
    user = f"{found[1]}@" if found[1] else ""
    return f"{user}{found[2].lower()}:{found[3].rstrip('/')}"


def key_of(source: str) -> str:
    """Return the name of the folder in the cache that an address has: a digest, for people named.

    Nobody who chooses an address chooses the folder of another.
    """
    form = normalised(source)
    digest = sha256(form.encode("utf-8", "surrogateescape")).hexdigest()
    return f"{name_of(source)}-{digest[:DIGITS]}"


def name_of(source: str) -> str:
    """Return the last part of an address as an id: lower-case letters, digits and dashes."""
    last = re.split(r"[/:]", normalised(source).rstrip("/"))[-1]
    plain = re.sub(r"[^a-z0-9]+", "-", unquote(last).lower().removesuffix(".git")).strip("-")
    return plain[:LONGEST_NAME].strip("-") or "reference"


def is_of_this_machine(source: str) -> bool:
    """Whether an address is a folder, which others may not have."""
    return normalised(source).startswith("file://")


def address_for_git(source: str) -> str:
    """Return what git is told to fetch from."""
    return normalised(source).removeprefix("file://") if is_of_this_machine(source) else source
