"""What a storm is made of: the windows in which it kills, its plan, and what it has come to."""

from collections import Counter
from collections.abc import Mapping
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
BY_ITSELF_WITH_EXECUTORS = {
    "preparing": tuple(
        f"{when} {step}"
        for step in ("prepare_home", "fill_home", "link_login", "warm_home", "move_on")
        for when in ("before", "after")
    ),
    "returning": tuple(
        f"{when} {step}" for step in ("return_login", "bring_back") for when in ("before", "after")
    ),
}
"""The same where each agent's CLI has a home of its own and others take its place."""
FROM_OUTSIDE: Mapping[str, tuple[str, ...]] = {
    "running": ("worker", "supervisor", "caller"),
    "reporting": ("worker", "supervisor", "caller"),
    "tree ending": ("worker", "supervisor", "supervisor"),
}
"""The windows in which the storm kills, and whom. `both`: an agent and its supervisor."""
FROM_OUTSIDE_WITH_SESSIONS: Mapping[str, tuple[str, ...]] = {
    "starting": ("agent", "agent", "supervisor", "worker"),
    "opening": ("agent", "agent", "supervisor", "both", "worker", "caller"),
    "running": ("agent", "supervisor", "both", "worker", "caller"),
    "reporting": ("agent", "supervisor", "both", "worker", "caller"),
    "tree ending": ("worker", "supervisor"),
}
"""The same where agents have sessions: `starting` before an agent has done anything,
`opening` before it has said a word, so that nobody has seen that its session exists."""
WINDOWS = ("claimed", "recorded", "running", "reporting", "storing", "recovering", "tree ending")
WINDOWS_WITH_SESSIONS = (*BY_ITSELF, *FROM_OUTSIDE_WITH_SESSIONS)
WINDOWS_WITH_EXECUTORS = (*BY_ITSELF_WITH_EXECUTORS, *WINDOWS_WITH_SESSIONS)
FORKING = "forking"
"""The window in which a worker's fork server dies, or a supervisor that it has forked ahead."""
AT_ONCE = "all at once"
"""The window of the moments in which everybody dies together, wherever each of them is."""
VICTIMS = ("worker", "supervisor", "agent", "caller")
FORKED = "fork server"
TO_STOP_AT = "before change_task"
"""Outside of any transaction: who stops inside one keeps the queue from everybody."""


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
    mute: int = 0
    """With sessions: tasks whose first two agents crash before they have said a word."""
    late: int = 0
    """With sessions: tasks whose agent keeps its session only when it is about to report."""
    moving: int = 0
    """With executors: tasks whose first agent is not logged in, so that another one begins."""
    limited: int = 0
    """With executors: tasks whose first agent meets a usage limit of a few seconds."""
    renewing: int = 0
    """With executors: tasks whose agent puts a renewed login in the place of the one it has."""
    executors: bool = False
    """Each role is played by several CLIs, in homes of their own; they have `sessions` as well."""
    forks: int = 0
    """Fork servers that die."""
    sessions: bool = False
    """Agents speak the dialect of Claude Code and have sessions; else they are shell scripts."""
    callers: int = 2
    workers: int = 2
    kills: int = 6
    """Most in each window."""
    fewest: int = 5
    """In each window, or `kills` if that is less: until then, more work is called for."""
    fewest_in_all: int = 0
    """The same for all windows together."""
    rate: float = 0.25
    """How likely the storm strikes at each of its steps."""
    moments: int = 0
    """In which everybody dies at once."""
    windows: tuple[str, ...] = WINDOWS
    odds: float = 0.4
    """How likely a worker dies at a point where one is still to die."""
    stops: int = 0
    """Workers that stop, lose their name, and go on when another has done their work."""
    quick_report: bool = False
    """Agents write their state themselves instead of calling `sow task set`."""
    patience: float = 240.0
    """Seconds without any change after which the rest is taken for lost."""
    recovery: bool = True
    fencing: bool = True
    session_law: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether nothing is switched off."""
        return self.recovery and self.fencing and self.session_law

    def is_met_by(self, kills: Counter[tuple[str, str]]) -> bool:
        """Whether a storm has killed as much as it must."""
        by_window = Counter[str]()
        for (window, _), count in kills.items():
            by_window[window] += count
        fewest = min(self.fewest, self.kills)
        enough = all(by_window[window] >= fewest for window in self.windows)
        return enough and kills.total() >= self.fewest_in_all

    @property
    def from_outside(self) -> Mapping[str, tuple[str, ...]]:
        """The windows in which the storm itself kills, and whom."""
        return FROM_OUTSIDE_WITH_SESSIONS if self.sessions else FROM_OUTSIDE


@dataclass(frozen=True)
class Verdict:
    """What a storm has come to."""

    plan: Plan
    kills: Counter[tuple[str, str]]
    """By window and victim."""
    moments: int
    """In which everybody died at once."""
    stops: int
    jobs: int
    agents: int
    """How many were run, all attempts together."""
    broken: list[str]
    """Broken promises, a sentence each."""

    @property
    def windows(self) -> tuple[str, ...]:
        more = ([FORKING] if self.plan.forks else []) + ([AT_ONCE] if self.plan.moments else [])
        return (*self.plan.windows, *more)

    @property
    def victims(self) -> tuple[str, ...]:
        return (*VICTIMS, *([FORKED] if self.plan.forks else []))

    def table(self) -> str:
        """Return the kills, a line a window."""
        lines = [f"{'window':<13}" + "".join(f"{victim:>12}" for victim in self.victims)]
        for window in self.windows:
            counts = "".join(f"{self.kills[window, victim]:>12}" for victim in self.victims)
            lines.append(f"{window:<13}{counts}")
        lines.append(f"{self.jobs} jobs, {self.agents} agents, {self.kills.total()} kills")
        if self.plan.moments:
            lines.append(f"moments in which everybody died: {self.moments}")
        if self.plan.stops:
            lines.append(f"workers stopped and replaced: {self.stops}")
        return "\n".join(lines)


def window_of_point(point: str) -> str:
    """Return the window that a point belongs to."""
    every = {**BY_ITSELF, **BY_ITSELF_WITH_EXECUTORS}
    return next(window for window, points in every.items() if point in points)
