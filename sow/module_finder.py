"""Finds the modules of this package at once, without asking each folder for six kinds of files.

A command imports some 150 of our modules. For each of them Python asks four finders, looks
whether its folder has changed, and tries three kinds of compiled extensions first; that is a
seventh of what such an import takes. A module of ours is a file `.py`, or a folder with an
`__init__.py`, in the folder of its package. What is not found so, as in a zip archive, is found
as ever. Loading is Python's own: compiled files, their age, and where they lie.
"""

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType

OURS = "sow."


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
        if _is_there(f"{folder}.py"):
            return _spec(name, f"{folder}.py")
        if _is_there(f"{folder}/__init__.py"):
            spec = _spec(name, f"{folder}/__init__.py", is_package=True)
            spec.submodule_search_locations = [folder]
            return spec
        return None


def install() -> None:
    """Have the modules of this package found so, for as long as this process lives."""
    sys.meta_path.insert(0, ModuleFinder)


def _is_there(path: str) -> bool:
    try:
        os.stat(path)  # noqa: PTH116 - asked of every module
    except OSError:
        return False
    return True


def _spec(name: str, path: str, *, is_package: bool = False) -> ModuleSpec:
    loader = SourceFileLoader(name, path)
    spec = ModuleSpec(name, loader, origin=path, is_package=is_package)
    spec.has_location = True
    return spec
