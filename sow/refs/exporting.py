"""The files of a reference, written as they are stored: a tree that is linked and never changes.

Owns what of a commit becomes a file. Git checks nothing out here: it hands over contents, and no
attribute, filter, line end or hook has a say. What could act or lead elsewhere (submodules, links
to the outside, names that mean something to git) is left out, and told.
"""

import errno
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from sow.files import NotAFile, NotWritten, read_regular
from sow.git.git_errors import GitRefused
from sow.git.own_bare import Contents, OwnBare
from sow.git.run import LONG_SECONDS
from sow.refs.cache import DRAFT, FILES, FOLDER_MODE, Cached, delete_tree, tree_name
from sow.refs.inner_links import fault_of, leading_out
from sow.refs.refs_errors import NoSuchFolder, TooMuch
from sow.refs.repository import bring_contents
from sow.schema.references import Reference

ABOUT_NAMES = (
    errno.EEXIST,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENAMETOOLONG,
    errno.EILSEQ,
    errno.EINVAL,
    errno.ENOENT,
)
GIT_FOLDERS = (".git", "git~1")
"""The second is the first one's short name on some file systems."""
HEAD = "head"
BESIDE_HEAD = frozenset({"objects", "refs"})
ELSEWHERE = "commondir"
"""A file that names another folder for those two (gitrepository-layout(5))."""
MOST_FILES = 300_000
MOST_BYTES = 8 << 30
MOST_NAMES = 64 << 20
"""How long all names may be together: a few folders that hold one another make gigabytes."""
MOST_DEEP = 100
"""How many folders a file may lie below. Some programs of those who read it can go no deeper."""
MOST_TOLD = 50
"""How many of what was left out are named one by one."""
LONGEST_TOLD = 300
LONGEST_LINK = 4096
PIECE = 1 << 20
FACTS = "tree.json"
FACTS_LIMIT = 1 << 20
LISTED = re.compile(rb"([0-7]{6}) ([a-z]+) ([0-9a-f]{40,64})\t(.*)", re.DOTALL)
LINK, SUBMODULE, PROGRAM = "120000", "160000", "100755"


def made_folder(top: Path, path: str, folders: set[Path]) -> Path:
    """Return where a file lies, with the folders above it made and noted. Raises OSError."""
    target = top / path
    if target.parent not in folders:
        target.parent.mkdir(parents=True, exist_ok=True)
        for folder in target.parents:
            if folder == top:
                break
            folders.add(folder)
    return target


def name_error(path: str, error: OSError) -> str:
    """Return why the disk has no such name, or has it already; a full disk is raised anew."""
    if error.errno not in ABOUT_NAMES:
        raise error
    return f"{path}: {(error.strerror or str(error)).lower()}"


def write_links(
    top: Path, links: Mapping[str, str], folders: set[Path], left_out: list[str]
) -> None:
    """Make links, by their paths from the top, once all files are written. Raises OSError."""
    places: dict[str, Path] = {}
    for path in links:
        try:
            places[path] = made_folder(top, path, folders)
        except OSError as error:
            left_out.append(name_error(path, error))
    made = [path for path, place in places.items() if _is_made(place, path, links, left_out)]
    faults = {path: _fault_there(top, path) for path in made}
    for path, fault in faults.items():
        if fault:
            places[path].unlink()
            left_out.append(f"{path}: a link that {fault} on this disk")


def _is_made(place: Path, path: str, links: Mapping[str, str], left_out: list[str]) -> bool:
    try:
        place.symlink_to(links[path])
    except OSError as error:
        left_out.append(name_error(path, error))
        return False
    return True


def _fault_there(top: Path, path: str) -> str:
    """Return why a link does not stay inside, as the disk has the links; nothing if it does."""

    def text_at(further: str) -> str | None:
        with suppress(OSError):
            return str((top / further).readlink())
        return None

    return fault_of(path, text_at)


def is_git_folder(part: str) -> bool:
    """Whether a part of a path is what git looks for, on whichever file system."""
    return part.lower().rstrip(". ") in GIT_FOLDERS


def heads_of_bare(paths: Iterable[str]) -> set[str]:
    """Return the files without which no folder of a tree is a bare repository.

    Git takes a folder for one that holds HEAD, objects and refs (setup.c: is_git_directory),
    whatever its name is; `paths` are all that become files or links.
    """
    heads: dict[str, list[str]] = {}
    beside: dict[str, set[str]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        if name.lower() == HEAD:
            heads.setdefault(folder.lower(), []).append(path)
        _note(beside, path.lower())
    return {
        path
        for folder, found in heads.items()
        if beside[folder] >= BESIDE_HEAD or ELSEWHERE in beside[folder]
        for path in found
    }


def _note(beside: dict[str, set[str]], path: str) -> None:
    """Note what of these names lies in which folder; a folder is there with its first file."""
    above = ""
    for part in path.split("/"):
        if part in BESIDE_HEAD or part in (HEAD, ELSEWHERE):
            beside.setdefault(above, set()).add(part)
        above = f"{above}/{part}" if above else part


class Entry(msgspec.Struct, frozen=True):
    """One file of a commit."""

    mode: str
    oid: str
    path: str


class TreeFacts(msgspec.Struct, frozen=True):
    """What is known of a tree that was written."""

    commit: str
    path: str
    files: int
    size: int
    left_out: tuple[str, ...]
    """What is in the commit, and not in the tree, and why."""


def tree_of(place: Cached, repository: OwnBare, reference: Reference, commit: str) -> TreeFacts:
    """Have the tree of a commit in the cache, and return what is known of it.

    The caller holds the lock. Another process sees the whole of it or nothing. Raises
    NoSuchFolder, TooMuch, Unreachable, GitRefused, NotWritten.
    """
    folder = place.tree(tree_name(commit, reference.subfolder))
    facts = facts_of(folder)
    if facts is not None:
        return facts
    draft = place.trees / f"{DRAFT}{os.urandom(4).hex()}"
    try:
        (draft / FILES).mkdir(mode=FOLDER_MODE, parents=True)
        facts = _write(draft / FILES, repository, reference, commit)
        (draft / FACTS).write_bytes(msgspec.json.encode(facts))
        if os.path.lexists(folder):  # no facts in it: not of ours, or broken
            delete_tree(folder)
        draft.rename(folder)
    except OSError as error:
        _discard(draft)
        raise NotWritten(folder, error) from error
    except BaseException:
        _discard(draft)
        raise
    return facts


def facts_of(tree: Path) -> TreeFacts | None:
    """Return what is known of a tree; None where it is not there whole."""
    with suppress(OSError, NotAFile, msgspec.MsgspecError, UnicodeDecodeError):
        return msgspec.json.decode(read_regular(tree / FACTS, FACTS_LIMIT), type=TreeFacts)
    return None


def _discard(draft: Path) -> None:
    with suppress(NotWritten):
        delete_tree(draft)


def _write(top: Path, repository: OwnBare, reference: Reference, commit: str) -> TreeFacts:
    entries, left_out = _chosen(_entries(repository, reference, commit))
    size = _bring_missing(repository, reference, entries)
    folders: set[Path] = set()
    with repository.contents() as contents:
        links = _links(contents, entries, left_out)
        for entry in entries:
            if entry.mode != LINK:
                _write_file(contents, top, entry, folders, left_out)
    write_links(top, links, folders, left_out)
    for folder in sorted({top, *folders}, reverse=True):
        folder.chmod(0o555)
    return TreeFacts(commit, reference.subfolder, len(entries), size, _in_words(left_out))


def _chosen(found: Iterable[Entry]) -> tuple[list[Entry], list[str]]:
    """Return the entries that may become files, and what is left out for its name or kind."""
    entries: list[Entry] = []
    left_out: list[str] = []
    for entry in found:
        if fault := _fault(entry):
            left_out.append(f"{entry.path}: {fault}")
        else:
            entries.append(entry)
    heads = heads_of_bare(entry.path for entry in entries)
    left_out += [f"{path}: git would take its folder for a repository" for path in sorted(heads)]
    return [entry for entry in entries if entry.path not in heads], left_out


def _in_words(left_out: Sequence[str]) -> tuple[str, ...]:
    """Return what was left out in words fit for a record, the first of them one by one."""
    named = [_fit(text).encode("utf-8", "replace").decode() for text in left_out[:MOST_TOLD]]
    rest = len(left_out) - len(named)
    return (*named, f"and {rest} more") if rest else tuple(named)


def _fit(text: str) -> str:
    """Return a text without its middle where it is long: git has names of any length."""
    half = LONGEST_TOLD // 2
    return text if len(text) <= LONGEST_TOLD else f"{text[:half]} … {text[-half:]}"


def _entries(repository: OwnBare, reference: Reference, commit: str) -> Iterator[Entry]:
    """Yield the files of a commit below the folder that is linked. NoSuchFolder, TooMuch."""
    tree = _tree_object(repository, reference, commit)
    words = ("ls-tree", "-r", "-z", "--full-tree", tree)
    with repository.talking(*words) as output:
        count, size, rest = 0, 0, b""
        while data := output.read(PIECE):
            size += len(data)
            if size > MOST_NAMES:
                raise TooMuch(reference.source, f"{MOST_NAMES >> 20} MiB of names")
            *records, rest = (rest + data).split(b"\0")
            for record in records:
                found = LISTED.fullmatch(record)
                if found is None:
                    raise GitRefused(repository.folder, ("ls-tree",), -1, "its answer is torn")
                count += 1
                if count > MOST_FILES:
                    raise TooMuch(reference.source, f"{MOST_FILES} files")
                path = found[4].decode("utf-8", "surrogateescape")
                yield Entry(found[1].decode(), found[3].decode(), path)


def _tree_object(repository: OwnBare, reference: Reference, commit: str) -> str:
    """Return the object of the folder that is linked. Raises NoSuchFolder."""
    if not reference.subfolder:
        return repository.text("rev-parse", "--verify", f"{commit}^{{tree}}")
    words = ("ls-tree", "-z", "--full-tree", commit, "--", reference.subfolder)
    found = LISTED.fullmatch(repository.text(*words).removesuffix("\0").encode())
    if found is None or found[2] != b"tree":
        raise NoSuchFolder(reference.source, reference.subfolder, commit)
    return found[3].decode()


def _fault(entry: Entry) -> str:
    """Return why an entry becomes no file whatever it holds; nothing if it does."""
    if entry.mode == SUBMODULE:
        return "a submodule, which is not fetched"
    parts = entry.path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "a name that leads elsewhere"
    if len(parts) > MOST_DEEP + 1:
        return f"it lies below more than {MOST_DEEP} folders"
    if any(map(is_git_folder, parts)):
        return "a name that git takes for a repository of its own"
    return ""


def _bring_missing(repository: OwnBare, reference: Reference, entries: Sequence[Entry]) -> int:
    """Have all contents here; return their size as files. Raises Unreachable, TooMuch."""
    wanted = list(dict.fromkeys(entry.oid for entry in entries))
    sizes = _sizes(repository, wanted)
    missing = [oid for oid in wanted if oid not in sizes]
    if missing:
        bring_contents(repository, reference, missing)
        sizes |= _sizes(repository, missing)
    if any(oid not in sizes for oid in wanted):
        raise GitRefused(repository.folder, ("cat-file",), -1, "contents of files are missing")
    size = sum(sizes[entry.oid] for entry in entries)
    if size > MOST_BYTES:
        raise TooMuch(reference.source, f"{MOST_BYTES >> 30} GiB")
    return size


def _sizes(repository: OwnBare, oids: Sequence[str]) -> dict[str, int]:
    """Return the sizes of the objects that are here."""
    stdin = "".join(f"{oid}\n" for oid in oids).encode()
    answer = repository.text("cat-file", "--batch-check", stdin=stdin, seconds=LONG_SECONDS)
    lines = (line.split() for line in answer.splitlines())
    return {words[0]: int(words[2]) for words in lines if len(words) == 3 and words[1] == "blob"}


def _links(contents: Contents, entries: Sequence[Entry], left_out: list[str]) -> dict[str, str]:
    """Return the links that are made, and what each says."""
    links: dict[str, str] = {}
    for entry in entries:
        if entry.mode != LINK:
            continue
        data = contents.whole(entry.oid, LONGEST_LINK)
        if not data or b"\0" in data:
            left_out.append(f"{entry.path}: a link that no system makes")
        else:
            links[entry.path] = data.decode("utf-8", "surrogateescape")
    faults = leading_out(links)
    left_out.extend(f"{path}: a link that {fault}" for path, fault in sorted(faults.items()))
    return {path: text for path, text in links.items() if path not in faults}


def _write_file(
    contents: Contents, top: Path, entry: Entry, folders: set[Path], left_out: list[str]
) -> None:
    left = contents.begin(entry.oid)
    descriptor = None
    try:
        path = made_folder(top, entry.path, folders)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        left_out.append(name_error(entry.path, error))
    try:
        while left:
            data = contents.piece(min(left, PIECE))
            left -= len(data)
            while descriptor is not None and data:
                data = data[os.write(descriptor, data) :]
        if descriptor is not None:
            os.fchmod(descriptor, 0o555 if entry.mode == PROGRAM else 0o444)
    finally:
        if descriptor is not None:
            os.close(descriptor)
    contents.end()
