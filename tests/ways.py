"""How a reader follows the code: which modules are opened, in which order, and the turns back."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from inspect import CO_OPTIMIZED
from types import CodeType, FrameType

from sow.features import FEATURES
from worker.context import logger

PROGRAMS = ("worker.supervisor.",)
"""Programs of their own: how they are called is read, not what they do."""
OF_FEATURES = tuple(f"worker.{feature.worker}" for feature in FEATURES)
"""What plugs in: a reader opens the page of its hooks, and no feature."""


class Way:
    """The modules of a way, in the order in which a reader opens them.

    A module is opened for its functions; the values that a function is given are known by then.
    """

    def __init__(self, layers: tuple[str, ...]) -> None:
        self.layers = layers
        self.modules: list[str] = []
        self.turns: list[str] = []
        self._read: set[CodeType] = set()

    def enter(self, frame: FrameType, event: str, _: object) -> None:
        """Take note of a function that is called for the first time."""
        code = frame.f_code
        name = module_of(frame)
        if event != "call" or code in self._read or not self._is_followed(name):
            return
        if self._is_import(frame):
            return
        self._read.add(code)
        if name not in self.modules and not is_given(frame):
            self.modules.append(name)
        caller = next(self._callers(frame), name)
        if self._is_above(name, caller) and not is_value(code):
            self.turns.append(f"{caller} calls {name}.{code.co_name}")

    def _is_import(self, frame: FrameType) -> bool:
        """Whether a frame is part of an import: which those are depends on what ran before."""
        at: FrameType | None = frame
        while at is not None:
            if self._is_followed(module_of(at)) and not at.f_code.co_flags & CO_OPTIMIZED:
                return True
            at = at.f_back
        return False

    def _callers(self, frame: FrameType) -> Iterator[str]:
        """Yield the modules that a call came through, the nearest first."""
        above = frame.f_back
        while above is not None:
            if self._is_followed(module_of(above)):
                yield module_of(above)
            above = above.f_back

    def _is_followed(self, name: str) -> bool:
        return name.startswith(self.layers) and not name.startswith(PROGRAMS + OF_FEATURES)

    def _is_above(self, name: str, caller: str) -> bool:
        order = self.modules
        return caller in order and name in order and order.index(name) < order.index(caller)


def is_given(frame: FrameType) -> bool:
    """Whether a function makes a value, or is read as one: a reader opens no module for it."""
    name = frame.f_code.co_name
    owner = type(frame.f_locals.get("self"))
    return name == "__init__" or isinstance(getattr(owner, name, None), property | cached_property)


def is_value(code: CodeType) -> bool:
    """Whether a function is part of what is handed on: a method, or a function within another."""
    return "." in code.co_qualname


def module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


@contextmanager
def followed(*layers: str) -> Iterator[Way]:
    """Follow what this thread does in some layers, and the threads that it starts."""
    way = Way(layers)
    # A worker that ran in this process before has left its way of writing lines.
    left, logger.handlers = logger.handlers, []
    threading.setprofile(way.enter)
    sys.setprofile(way.enter)
    try:
        yield way
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        logger.handlers = left
