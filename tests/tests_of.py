"""Which tests belong to a file: `python tests/tests_of.py sow/calls/wait.py` prints their paths.

`make test-of PATH…` runs them. To a module belong the tests that import it, and
those whose file carries its name (`sow/cli/agent_open.py`: `test_agent_open.py`,
a journey). Where there are none, those of the modules that import it do, and so
on up to a command, which has the tests that run it most. To a text belong the
tests of the repository. Reads files alone; imports no product.
"""

import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from repository.sources import imports_of, text_of

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("sow", "worker", "proof", "bench")
MOST = 12
"""So many tests of a command are enough: every journey runs `sow agent spawn`."""
LEFT_TO_CI = ("tests/real/",)
"""Tests that need the real CLI: only changes of their own files call for them here."""


def belonging_to(path: Path) -> set[Path]:
    """Return the test files that belong to a file or folder. Raises ValueError for none of ours."""
    path = path if path.is_absolute() else ROOT / path
    if not path.exists() or not path.is_relative_to(ROOT):
        raise ValueError(f"{path} is no file of this repository")
    if path.is_dir():
        return {test for file in path.rglob("*.py") for test in belonging_to(file)}
    if path.is_relative_to(ROOT / "tests"):
        return {path} if _is_test(path) else _that_import(_test_module(path)) or _beside(path)
    if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in PRODUCT:
        return _of_module(_module(path), path.stem)
    if path.is_relative_to(ROOT / "sow"):  # a prompt, say
        return _beside(ROOT / "tests" / path.relative_to(ROOT).parts[1] / path.name)
    return set((ROOT / "tests/repository").glob("test_*.py"))


def _of_module(module: str, stem: str) -> set[Path]:
    """Go up from a module to those that import it until tests are found."""
    seen, level = {module}, {module}
    named = {test for test in _tests() if stem in test.stem and _is_whole(stem, test.stem)}
    while level:
        found = {test for each in level for test in _that_import(each)} | named
        kept = {test for test in found if not _name(test).startswith(LEFT_TO_CI)}
        if kept:
            return kept
        level = {above for each in level for above in _importers(each)} - seen
        seen |= level
    return {test for each in seen for test in _that_run(each)} or _beside_module(module)


def _that_run(module: str) -> list[Path]:
    """Return the tests that run a command most often, by its words; none for another module."""
    package, _, stem = module.rpartition(".")
    if package != "sow.cli":
        return []
    words = stem.split("_")
    for argument in (", ".join(f'"{word}"' for word in words), f'"{words[0]}"'):
        counts = {test: text_of(test).count(f"({argument}") for test in _tests()}
        found = sorted((test for test in counts if counts[test]), key=lambda test: -counts[test])
        if found:
            return found[:MOST]
    return []


def _beside_module(module: str) -> set[Path]:
    """Return the tests of the folder that mirrors a module's package, or one above it."""
    parts = module.split(".")
    folder = ROOT / "tests" / Path(*(parts[1:] if parts[0] == "sow" else parts))
    return _beside(folder) or set((ROOT / "tests/repository").glob("test_*.py"))


def _is_whole(stem: str, test: str) -> bool:
    """Whether a test's name holds a module's as whole words: `wait`, but not of `waiters`."""
    return f"_{stem}_" in f"{test}_" and stem not in ("__init__", "__main__", "main", "base")


def _beside(path: Path) -> set[Path]:
    """Return the tests of the nearest folder that has some."""
    for folder in path.parents:
        found = set(folder.glob("test_*.py"))
        if found:
            return found
    return set()


def _that_import(module: str) -> set[Path]:
    return _users("tests").get(module, set())


def _importers(module: str) -> set[str]:
    found = (_users(folder).get(module, set()) for folder in PRODUCT)
    return {_module(path) for paths in found for path in paths}


@cache
def _users(folder: str) -> dict[str, set[Path]]:
    """Return who imports each module: the modules of a folder of the product, or the tests."""
    users: dict[str, set[Path]] = {}
    for path in _tests() if folder == "tests" else (ROOT / folder).rglob("*.py"):
        for module in imports_of(path):
            users.setdefault(module, set()).add(path)
    return users


@cache
def _tests() -> frozenset[Path]:
    return frozenset((ROOT / "tests").rglob("test_*.py"))


def _is_test(path: Path) -> bool:
    return path.name.startswith("test_")


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _test_module(path: Path) -> str:
    """Return the name by which tests import a module of theirs: `tests` is on the path."""
    parts = path.relative_to(ROOT / "tests").with_suffix("").parts
    return parts[-1] if _imported_alone(parts[-1]) else ".".join(parts)


def _imported_alone(name: str) -> bool:
    return any(name in imports_of(test) for test in _tests())


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def main(words: Iterable[str]) -> int:
    """Print the tests of each path, once each; return 2 where a path is none of ours."""
    found: set[Path] = set()
    for word in words:
        try:
            found |= belonging_to(Path(word))
        except ValueError as error:
            sys.stderr.write(f"{error}\n")
            return 2
    if not found:
        sys.stderr.write("Name files: make test-of sow/calls/wait.py\n")
        return 2
    sys.stdout.write("".join(f"{_name(test)}\n" for test in sorted(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
