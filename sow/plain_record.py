"""Records of which each process of ours makes a few: a class whose fields are its annotations.

A named tuple compiles methods of its own at import, which takes five times as long. This is no
tuple, does not compare by its fields, and has nothing but them. Imports next to nothing.
"""

from typing import Any, ClassVar, dataclass_transform


@dataclass_transform(frozen_default=True)
class PlainRecord:
    """Given in the order of the annotations, or by name; what a class has is a default."""

    _names: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()  # one may be generic
        cls._names = (*cls._names, *cls.__annotations__)

    def __init__(self, *given: Any, **named: Any) -> None:
        vars(self).update(zip(self._names, given, strict=False), **named)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._names)
        return f"{type(self).__qualname__}({fields})"
