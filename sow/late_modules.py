"""Puts off modules that others import at their top and that a usual command never uses.

click and msgspec import `inspect`, `gettext` and more at their top, Python's own `typing` and
`pathlib` as well; importing those takes a third of a short command's time (docs/performance.md).
Here such a module's name stands for a `LateModule` first: the module itself is imported when
something of it is asked for that the importer does not need at once. What the importer does need
is given here, and equals the module's own answer (tests/test_late_modules.py). Imports nothing
that imports one of them.
"""

import _sre  # type: ignore[import-not-found]  # no stub has it
import _thread
import os
import sys
import urllib
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType

from sow.usual_patterns import USUAL

TYPE_CHECKING = False  # as `typing` has it
if TYPE_CHECKING:
    from typing import Any

Known = Callable[[], Mapping[str, object]]
"""Asked once, when a module is first asked for anything: what its importers need of it."""


class LatePattern:
    """A regular expression that is compiled when it is first used.

    `search` by a usual pattern tells only whether it matches, as msgspec asks.
    """

    def __init__(self, pattern: "Any", flags: int = 0) -> None:
        self._arguments = pattern, flags
        usual = None if flags else USUAL.get(pattern)
        if usual is not None:
            self.search = lambda text: usual(text) or None

    def __getattr__(self, name: str) -> "Any":
        found = getattr(imported("re").compile(*self._arguments), name)
        setattr(self, name, found)
        return found


class LateModule(ModuleType):
    """Stands for a module that is imported when it is first asked for more than `known`.

    Whoever holds it goes on holding it: each name that it does not know is the module's own.
    """

    def __init__(self, name: str, known: Known) -> None:
        super().__init__(name)
        self._known = known

    def __getattr__(self, name: str) -> "Any":
        real = vars(self).get("_real")
        if real is not None:
            return getattr(real, name)
        if name == "__path__" and self.__name__ not in PACKAGES:  # `from … import` asks
            raise AttributeError(name)
        known = vars(self).pop("_known", dict)
        vars(self).update(known())
        if name in vars(self):
            return vars(self)[name]
        vars(self)["_real"] = real = imported(self.__name__)
        return getattr(real, name)


PACKAGES = frozenset({"multiprocessing", "psycopg", "re"})
"""Those of them that have modules of their own."""

_replacing = _thread.allocate_lock()  # `threading` takes long to import


def imported(name: str) -> ModuleType:
    """Import the module that a `LateModule` may stand for, once, whichever threads ask."""
    with _replacing:
        if isinstance(sys.modules.get(name), LateModule):
            del sys.modules[name]
    return import_module(name)


def put_off(modules: "Mapping[str, Known] | None" = None) -> None:
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


UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")


def quote(text: "Any", safe: str = "/", *more: "Any", **named: "Any") -> str:
    """Do as `urllib.parse.quote`. A text of ASCII alone, as a branch is, needs nothing of it."""
    if more or named or not isinstance(text, str) or not f"{text}{safe}".isascii():
        return str(imported("urllib.parse").quote(text, safe, *more, **named))
    return "".join(c if c in UNRESERVED or c in safe else f"%{ord(c):02X}" for c in text)


def _asked_later(module: str, name: str) -> "Callable[..., Any]":
    """Return a function that imports its module when it is called."""

    def ask(*arguments: "Any", **named: "Any") -> "Any":
        return getattr(imported(module), name)(*arguments, **named)

    return ask


def _functions(module: str, *names: str) -> Known:
    return lambda: {name: _asked_later(module, name) for name in names}


MAGICS = (20220615, 20221023, 20230612)
"""The forms of compiled patterns in Python 3.11, 3.12 and 3.13, of which `_of_re` makes one."""


VERBOSE = 64
"""`re.X`, with which PyYAML compiles its patterns: asked for the flag, `re` would be imported."""


def _of_re() -> Mapping[str, object]:
    """Return the two types that `typing` names, of a pattern that is made as `re` makes one.

    msgspec compiles the pattern of each field of each form, few of which a command reads.
    """
    pattern = _sre.compile("", 0, [1], 0, {}, ())  # 1: it has matched
    types = {"Pattern": type(pattern), "Match": type(pattern.match(""))}
    return {**types, "compile": LatePattern, "X": VERBOSE}


def _of_msgspec_utils() -> Mapping[str, object]:
    """Return all of `msgspec._utils`, imported without the sample that it tries.

    It asks whether ForwardRef takes `is_class`, as since Python 3.11 it does. An answer of typing's
    own compiles a text, and the first time Python makes a class for each word of its grammar for
    that: a twentieth of a short command's time.
    """
    import typing

    real = typing.ForwardRef
    setattr(typing, "ForwardRef", lambda *_text, **_options: None)  # noqa: B010 - a class to mypy
    try:
        return vars(imported("msgspec._utils"))
    finally:
        setattr(typing, "ForwardRef", real)  # noqa: B010


def _of_msgspec_core() -> Mapping[str, object]:
    """Return all of `msgspec._core`, imported without `decimal` and `uuid`.

    It asks these for three types, whose values it reads and writes. No form of ours has such a
    value, so types without values do as well. Whoever else imports the two gets them whole.
    """
    return _imported_without("msgspec._core", OF_VALUES)


def _of_psycopg() -> Mapping[str, object]:
    """Return all of `psycopg`, imported without what no queue of ours needs of it.

    That is its asynchronous half; `ssl`, which it imports to keep two of an old OpenSSL apart, and
    its own is linked into it; `ctypes`, by which it finds a library where it has none of its own;
    its version; and the types of values that no row of ours has.
    """
    types = {f"psycopg.types.{name}": _without_adapters for name in UNUSED_TYPES}
    others: dict[str, Known] = {
        "asyncio": _of_asyncio,
        "ctypes": lambda: {"util": LateModule("ctypes.util", dict)},
        "ctypes.util": dict,
        "importlib.metadata": _without_versions,
        "ssl": dict,
    }
    return _imported_without("psycopg", {**others, **types})


UNUSED_TYPES = ("composite", "datetime", "enum", "multirange", "net", "numpy", "range", "uuid")


def _without_adapters() -> Mapping[str, object]:
    return {"register_default_adapters": lambda _context: None}


def _without_versions() -> Mapping[str, object]:
    """Return what knows the version of no package: psycopg does without its own."""

    def version(name: str) -> str:
        raise LookupError(name)

    return {"version": version, "PackageNotFoundError": LookupError}


def _imported_without(name: str, others: Mapping[str, Known]) -> Mapping[str, object]:
    """Return all of a module that is imported while stand-ins are there for `others`."""
    stand_ins = {module: LateModule(module, known) for module, known in others.items()}
    added = [module for module in stand_ins if module not in sys.modules]
    sys.modules.update((module, stand_ins[module]) for module in added)
    try:
        return vars(imported(name))
    finally:
        for module in added:
            if sys.modules.get(module) is stand_ins[module]:  # it asked for nothing else
                del sys.modules[module]


def _of_asyncio() -> Mapping[str, object]:
    """Return what psycopg derives from, or names: none of it is ever used."""
    return {
        **{name: type(name, (NoValue,), {}) for name in ("Future", "Lock", "Queue", "Task")},
        "CancelledError": type("CancelledError", (BaseException,), {}),
        **_functions("asyncio", "get_running_loop", "sleep")(),
    }


class NoValue:
    """A type that no value is of."""

    unknown = None  # what msgspec asks SafeUUID for

    def __class_getitem__(cls, _: object) -> type:
        return cls


OF_VALUES: dict[str, Known] = {
    "decimal": lambda: {"Decimal": type("Decimal", (NoValue,), {})},
    "uuid": lambda: {name: type(name, (NoValue,), {}) for name in ("UUID", "SafeUUID")},
}
"""What stands in for these while msgspec is imported."""


def _of_datetime() -> Mapping[str, object]:
    """Return all that `datetime` is: before Python 3.12 it makes each class in Python first."""
    import _datetime  # type: ignore[import-not-found]  # as above

    return {name: value for name, value in vars(_datetime).items() if name[:2] != "__"}


def _of_typing() -> Mapping[str, object]:
    import typing

    return {name: getattr(typing, name) for name in ("NotRequired", "Required", "get_type_hints")}


KNOWN: dict[str, Known] = {
    "base64": dict,
    "bz2": dict,
    "datetime": _of_datetime,
    "gettext": lambda: {"gettext": same, "ngettext": one_or_many},
    "inspect": lambda: {"cleandoc": cleandoc},
    "locale": dict,
    "lzma": dict,
    "msgspec._core": _of_msgspec_core,
    "msgspec._json_schema": _functions("msgspec._json_schema", "schema", "schema_components"),
    "msgspec._utils": _of_msgspec_utils,
    "msgspec.inspect": dict,
    "msgspec.toml": dict,
    "msgspec.yaml": dict,
    "ntpath": dict,
    "platform": lambda: {"system": lambda: os.uname().sysname},
    "psycopg": _of_psycopg,
    "re": _of_re,
    "shlex": _functions("shlex", "quote"),
    "typing_extensions": _of_typing,
    "urllib.parse": lambda: {
        "quote": quote,
        **_functions("urllib.parse", "quote_from_bytes", "unquote")(),
    },
    "zlib": dict,
}
"""What each module's importer needs at once: click gettext and inspect, uuid (for click) platform,
pathlib ntpath and urllib.parse, PyYAML base64, shutil three for archives, subprocess locale for
text, sow itself shlex, typing and msgspec re, huey psycopg (wherever it is installed: 137 ms that
a queue in a file has no use for), and msgspec the rest. With Python 3.11 and later,
what msgspec takes from `typing_extensions` is `typing`'s own, and what it takes from `datetime` is
that module's compiled part."""
if _sre.MAGIC not in MAGICS:  # of a later Python: it may have another form of patterns
    del KNOWN["re"]

OF_WORKER: Mapping[str, Known] = {
    "calendar": dict,
    "gzip": dict,
    "hashlib": dict,
    "hmac": dict,
    "multiprocessing": dict,
    "pickle": lambda: {"HIGHEST_PROTOCOL": 5},
    "tempfile": dict,
}
"""What a worker puts off besides: 2 MB of memory. huey imports most of it at its top, for times,
storages and processes that a worker has none of, and our own modules `tempfile`, for notices."""
