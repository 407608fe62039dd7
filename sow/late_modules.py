"""Puts off modules that others import at their top and that a usual command never uses.

click and msgspec import `inspect`, `gettext` and more at their top; importing those takes a third
of a short command's time (docs/performance.md). Here such a module's name stands for a `LateModule`
first: the module itself is imported when something of it is asked for that the importer does not
need at once. What the importer does need is given here, and equals the module's own answer
(tests/test_late_modules.py).
"""

import _thread
import os
import sys
import typing
import urllib
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


class LateModule(ModuleType):
    """Stands for a module that is imported when it is first asked for more than `known`.

    Whoever holds it goes on holding it: each name that it does not know is the module's own.
    """

    def __init__(self, name: str, known: Mapping[str, object]) -> None:
        super().__init__(name)
        vars(self).update(known)

    def __getattr__(self, name: str) -> Any:
        if name == "__path__" and self.__name__ not in PACKAGES:  # `from … import` asks
            raise AttributeError(name)
        return getattr(imported(self.__name__), name)


PACKAGES = frozenset({"multiprocessing"})
"""Those of them that have modules of their own."""

_replacing = _thread.allocate_lock()  # `threading` takes long to import


def imported(name: str) -> ModuleType:
    """Import the module that a `LateModule` may stand for, once, whichever threads ask."""
    with _replacing:
        if isinstance(sys.modules.get(name), LateModule):
            del sys.modules[name]
    return import_module(name)


def put_off(modules: "Mapping[str, Mapping[str, object]] | None" = None) -> None:
    """Put off `modules`, `KNOWN` without any, but for what this process has imported already."""
    for name, known in (KNOWN if modules is None else modules).items():
        if name not in sys.modules:
            late = sys.modules[name] = LateModule(name, known)
            if name == "urllib.parse":
                vars(urllib)["parse"] = late  # as importing it does


def cleandoc(text: str) -> str:
    """Do as `inspect.cleandoc`. A single line, as an option's help is, needs nothing of it."""
    if "\n" in text:
        return str(imported("inspect").cleandoc(text))
    return text.expandtabs().lstrip()


def same(message: str) -> str:
    """Do as `gettext.gettext` where nothing is translated: sow says all in English."""
    return message


def one_or_many(singular: str, plural: str, count: int) -> str:
    """Do as `gettext.ngettext` where nothing is translated."""
    return singular if count == 1 else plural


def _asked_later(module: str, name: str) -> Callable[..., Any]:
    """Return a function that imports its module when it is called."""

    def ask(*arguments: Any, **named: Any) -> Any:
        return getattr(imported(module), name)(*arguments, **named)

    return ask


def _functions(module: str, *names: str) -> dict[str, object]:
    return {name: _asked_later(module, name) for name in names}


KNOWN: Mapping[str, Mapping[str, object]] = {
    "gettext": {"gettext": same, "ngettext": one_or_many},
    "inspect": {"cleandoc": cleandoc},
    "msgspec._json_schema": _functions("msgspec._json_schema", "schema", "schema_components"),
    "msgspec.inspect": {},
    "msgspec.toml": {},
    "msgspec.yaml": {},
    "platform": {"system": lambda: os.uname().sysname},
    "typing_extensions": {
        name: getattr(typing, name) for name in ("NotRequired", "Required", "get_type_hints")
    },
    "urllib.parse": _functions("urllib.parse", "quote", "quote_from_bytes", "unquote"),
}
"""What each module's importer needs at once: click gettext and inspect, uuid (for click) platform,
pathlib urllib.parse, and msgspec the rest. With Python 3.11 and later, what msgspec takes from
`typing_extensions` is `typing`'s own."""

OF_WORKER: Mapping[str, Mapping[str, object]] = {
    "bz2": {},
    "calendar": {},
    "gzip": {},
    "hashlib": {},
    "hmac": {},
    "locale": {},
    "lzma": {},
    "multiprocessing": {},
    "pickle": {"HIGHEST_PROTOCOL": 5},
    "tempfile": {},
    "zlib": {},
}
"""What a worker puts off besides: 2 MB of memory. huey imports most of it at its top, for times,
storages and processes that a worker has none of; `shutil` some for archives, `subprocess` one for
text, and our own modules `tempfile`, for git alone."""
