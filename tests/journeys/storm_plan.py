"""What a storm is made of: the windows in which it kills, its plan, and what it has come to."""

from collections import Counter
from dataclasses import dataclass

BY_ITSELF = {
    "claimed": ("before start", "before write_files", "after write_files"),
    "recorded": ("after record_attempt", "after start"),
    "storing": tuple(
        f"{when} {step}"
        for step in ("record_ending", "change_task", "settle", "requeue")
        for when in ("before", "after")
    ),
    "recovering": ("after take_over", "before adopt", "after adopt"),
}
"""The windows in which a worker dies by itself, and the points there."""
FROM_OUTSIDE = {
    "running": ("worker", "supervisor", "caller"),
    "reporting": ("worker", "supervisor", "caller"),
    "tree ending": ("worker", "supervisor", "supervisor"),
}
"""The windows in which the storm kills, and whom."""
WINDOWS = ("claimed", "recorded", "running", "reporting", "storing", "recovering", "tree ending")
TO_STOP_AT = "before requeue"


@dataclass(frozen=True)
class Plan:
    """How a storm is made."""

    seed: int
    plain: int = 0
    """Tasks whose agent works a moment and reports."""
    crashing: int = 0
    """Tasks whose first agent crashes."""
    leaving: int = 0
    """Tasks whose agent leaves a child behind that ignores TERM."""
    cancelled: int = 0
    """Tasks that are cancelled while their agent works; it ignores INT."""
    callers: int = 2
    workers: int = 2
    kills: int = 6
    """In each window."""
    windows: tuple[str, ...] = WINDOWS
    odds: float = 0.4
    """How likely a worker dies at a point where one is still to die."""
    stops: int = 0
    """Workers that stop, lose their name, and go on when another has done their work."""
    quick_report: bool = False
    """Agents write their state themselves instead of calling `sow task set`."""
    patience: float = 60.0
    """Seconds without any change after which the rest is taken for lost."""
    recovery: bool = True
    fencing: bool = True


@dataclass(frozen=True)
class Verdict:
    """What a storm has come to."""

    kills: Counter[tuple[str, str]]
    """By window and victim."""
    stops: int
    broken: list[str]

    def in_window(self, window: str) -> int:
        return sum(count for (where, _), count in self.kills.items() if where == window)

    def table(self) -> str:
        """Return the kills, a line a window."""
        victims = ("worker", "supervisor", "caller")
        lines = [f"{'window':<13}" + "".join(f"{victim:>12}" for victim in victims)]
        for window in WINDOWS:
            counts = "".join(f"{self.kills[window, victim]:>12}" for victim in victims)
            lines.append(f"{window:<13}{counts}")
        return "\n".join([*lines, f"workers stopped and replaced: {self.stops}"])


def window_of_point(point: str) -> str:
    """Return the window that a point belongs to."""
    return next(window for window, points in BY_ITSELF.items() if point in points)
