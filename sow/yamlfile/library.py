"""PyYAML, imported without the work that its C loader does not need. Imported when YAML is read.

Importing PyYAML compiles ten regular expressions. One of them, over all of Unicode, is its slow
loader's alone and takes 5.5 of 12.6 ms; of the others a usual file needs two or three. Here each
is compiled when it is first asked to match, and matches as ever, for whoever else imports
PyYAML later as well.

Reading by the C loader takes four of PyYAML's modules. So the package's own code, which imports all
of them, runs when something else of the package is asked for: what writes, what tells events,
whoever else imports PyYAML. Until then a `LateClass` stands in the compiled part for each class of
another module. Measured with PyYAML 6.0.4 (docs/performance.md).
"""

import _thread
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from sow.late_modules import LatePattern

__all__ = ["SafeLoader", "yaml"]

READING = ("error", "nodes", "constructor", "resolver")
"""The modules that reading takes, besides the compiled part."""
LATE = (
    *("tokens", "events", "reader", "scanner", "parser", "composer"),
    *("emitter", "serializer", "representer"),
)
"""The modules that the compiled part asks for classes at its top."""


@contextmanager
def _late_patterns() -> Iterator[None]:
    """Have PyYAML's own modules get patterns that are not compiled yet."""
    expressions: Any = sys.modules["re"]  # another one once `re` itself is imported
    compile_now = expressions.compile

    def compile_late(pattern: Any, flags: Any = 0) -> Any:
        asked_by = sys._getframe(1).f_globals.get("__name__", "")
        return (LatePattern if asked_by.startswith("yaml.") else compile_now)(pattern, flags)

    expressions.compile = compile_late
    try:
        yield
    finally:
        expressions.compile = compile_now


class LateClass:
    """Stands for a class: makes things of it, and imports its module for that."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def __call__(self, *given: Any) -> Any:
        return self.real(*given)

    @property
    def real(self) -> Any:
        """The class itself."""
        return getattr(import_module(self._module), self._name)


class _LatePart:
    """Stands for a module of PyYAML's that the compiled part asks for classes alone."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> LateClass:
        return LateClass(self._module, name)


class _LatePackage(ModuleType):
    """PyYAML's package, whose own code runs when more of it is asked for than there is."""

    __spec__: ModuleSpec

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        with _completing:
            _complete(self)
        return getattr(self, name)


_completing = _thread.allocate_lock()  # `threading` takes long to import


def _complete(package: Any) -> None:
    """Run the package's own code, once, and give the compiled part the classes themselves."""
    if type(package) is not _LatePackage:
        return  # another thread has done so
    spec = package.__spec__
    whole = ModuleType("yaml")
    vars(whole).update({name: value for name, value in vars(package).items() if name[:2] == "__"})
    with _late_patterns():
        assert spec.loader is not None  # noqa: S101 - it has a file
        spec.loader.exec_module(whole)
    compiled = sys.modules["yaml._yaml"]
    for name, value in list(vars(compiled).items()):
        if isinstance(value, LateClass):
            setattr(compiled, name, value.real)
    vars(package).update(vars(whole))
    setattr(package, "__class__", ModuleType)  # noqa: B010 - a type to mypy


def _import_yaml() -> Any:
    """Import what reading takes. Where PyYAML is imported already, that is all of it."""
    spec = None if "yaml" in sys.modules else PathFinder.find_spec("yaml")
    with _late_patterns():
        if spec is None or spec.loader is None:
            return import_module("yaml")
        package: Any = _LatePackage("yaml")
        package.__spec__, package.__loader__, package.__package__ = spec, spec.loader, "yaml"
        package.__file__, package.__path__ = spec.origin, spec.submodule_search_locations or []
        sys.modules["yaml"] = package
        for part in READING:
            import_module(f"yaml.{part}")
        vars(package).update({part: _LatePart(f"yaml.{part}") for part in LATE})
        import_module("yaml._yaml")
        for part in LATE:
            delattr(package, part)
        return package


yaml = _import_yaml()


class _Reader(yaml._yaml.CParser, yaml.constructor.SafeConstructor, yaml.resolver.Resolver):  # type: ignore[misc, name-defined]
    """PyYAML's safe C loader, made as it makes its own."""

    def __init__(self, stream: Any) -> None:
        yaml._yaml.CParser.__init__(self, stream)
        yaml.constructor.SafeConstructor.__init__(self)
        yaml.resolver.Resolver.__init__(self)


SafeLoader: Any = _Reader if isinstance(yaml, _LatePackage) else yaml.CSafeLoader
