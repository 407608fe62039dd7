"""Finds the modules of this package at once, without asking each folder for six kinds of files.

A command imports some 150 of our modules. For each of them Python asks four finders, looks
whether its folder has changed, and tries three kinds of compiled extensions first; that is a
seventh of what such an import takes. A module of ours is a file `.py`, or a folder with an
`__init__.py`, in the folder of its package. What is not found so, as in a zip archive, is found
as ever. A compiled file that is of the usual kind and as old as its source is read at once, with
four system calls for some nine; any other, and none, is left to Python's own loader, which
compiles, writes and refuses as ever.
"""

import _imp
import marshal
import os
import sys
from collections.abc import Sequence
from importlib._bootstrap_external import MAGIC_NUMBER
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType

OURS = "sow."
BY_TIME = MAGIC_NUMBER + bytes(4)
"""What a compiled file begins with that goes by its source's time and size, which follow."""


class ModuleFinder:
    """A finder for `sys.meta_path`."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module of ours lies; None for others', and for what is no plain file."""
        if not name.startswith(OURS) or not path:
            return None
        folder = f"{path[0]}/{name.rpartition('.')[2]}"
        facts = _facts_of(f"{folder}.py")
        if facts is not None:
            return _spec(name, f"{folder}.py", facts)
        facts = _facts_of(f"{folder}/__init__.py")
        if facts is not None:
            spec = _spec(name, f"{folder}/__init__.py", facts, is_package=True)
            spec.submodule_search_locations = [folder]
            return spec
        return None


class Loader(SourceFileLoader):
    """Python's own loader, which reads the usual compiled file at once."""

    facts: os.stat_result
    """Of the source, when the module was found."""
    compiled: str
    """Where its compiled file lies; empty where Python has to tell."""

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of a module as Python's own loader does."""
        data = _bytes_of(self.compiled) if self.compiled else b""
        if data[:16] != _header(self.facts):
            return super().get_code(fullname)
        try:
            code = marshal.loads(memoryview(data)[16:])  # noqa: S302 - as Python does
        except (EOFError, ValueError, TypeError):  # it was cut off
            return super().get_code(fullname)
        if not isinstance(code, CodeType):
            return super().get_code(fullname)
        _imp._fix_co_filename(code, self.path)  # type: ignore[attr-defined]
        return code


def _is_elsewhere() -> bool:
    """Whether compiled files may lie elsewhere, or have another name."""
    return sys.pycache_prefix is not None or sys.flags.optimize > 0


def _header(facts: os.stat_result) -> bytes:
    """Return what a compiled file of this source begins with (PEP 552)."""
    time, size = int(facts.st_mtime) & 0xFFFFFFFF, facts.st_size & 0xFFFFFFFF
    return BY_TIME + (time | size << 32).to_bytes(8, "little")


def _bytes_of(path: str) -> bytes:
    """Return what a file holds; nothing where that cannot be told."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(file, os.fstat(file).st_size)
    except OSError:
        return b""
    finally:
        os.close(file)


def install() -> None:
    """Have the modules of this package found so, for as long as this process lives."""
    sys.meta_path.insert(0, ModuleFinder)


def _facts_of(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - asked of every module
    except OSError:
        return None


def _spec(name: str, path: str, facts: os.stat_result, *, is_package: bool = False) -> ModuleSpec:
    loader = Loader(name, path)
    loader.facts, loader.compiled = facts, ""
    spec = ModuleSpec(name, loader, origin=path, is_package=is_package)
    spec.has_location = True
    if not _is_elsewhere():
        folder, _, file = path.rpartition("/")
        tag = sys.implementation.cache_tag
        # Otherwise Python works it out for the module's `__cached__`, a quarter of the import.
        spec.cached = loader.compiled = f"{folder}/__pycache__/{file[:-3]}.{tag}.pyc"
    return spec
