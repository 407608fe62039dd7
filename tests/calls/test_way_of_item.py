"""How a reader follows an item of a batch through the code: which modules, in which order."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from types import CodeType, FrameType

import pytest
from calls.batch_desk import begin, placed
from calls.desk import WORKER, Desk

from sow.schema.task import TaskStatus
from worker.batch_driver import BatchDriver
from worker.context import WorkerContext

LAYERS = ("worker.", "sow.calls.", "sow.batches.")
"""Where it is decided what happens to an item; what lies below is read, not followed."""
MOST_MODULES = 20
MOST_TURNS = 2


class Way:
    """The modules of a way, in the order in which a reader opens them.

    A module is opened for its functions; the values that a function is given are known by then.
    """

    def __init__(self) -> None:
        self.modules: list[str] = []
        self.turns: list[str] = []
        self._read: set[CodeType] = set()

    def enter(self, frame: FrameType, event: str, _: object) -> None:
        """Take note of a function that is called for the first time."""
        code = frame.f_code
        name = module_of(frame)
        if event != "call" or code in self._read or not name.startswith(LAYERS):
            return
        self._read.add(code)
        if name not in self.modules and not is_given(frame):
            self.modules.append(name)
        caller = next(callers(frame), name)
        if self._is_above(name, caller) and not is_value(code):
            self.turns.append(f"{caller} calls {name}.{code.co_name}")

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


def callers(frame: FrameType) -> Iterator[str]:
    """Yield the modules that a call came through, the nearest first."""
    above = frame.f_back
    while above is not None:
        if module_of(above).startswith(LAYERS):
            yield module_of(above)
        above = above.f_back


@contextmanager
def followed() -> Iterator[Way]:
    way = Way()
    sys.setprofile(way.enter)
    try:
        yield way
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize(
    ("status", "action"), [(TaskStatus.PENDING, "spawn"), (TaskStatus.NEEDS_REVIEW, "review")]
)
def test_an_item_is_followed_in_order_from_the_worker_to_its_job(
    desk: Desk, status: TaskStatus, action: str
) -> None:
    desk.staff()
    desk.task("010", status)
    work = begin(desk, review=True)
    context = WorkerContext(desk.workspace, desk.database, WORKER, desk.config, desk.caller.environ)
    driver = BatchDriver(context)
    with followed() as way:
        driver.drive()
    assert placed(work) == [("010", action, 1)]
    assert len(way.modules) <= MOST_MODULES, way.modules
    assert len(way.turns) <= MOST_TURNS, way.turns
