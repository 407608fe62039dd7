"""What the agents of a storm say of themselves: a line a moment, in `lives`."""

from dataclasses import dataclass, field
from pathlib import Path

from journeys.callers import exists


@dataclass
class Life:
    """One run of an agent, by its own words. Times are seconds since the boot."""

    task: str
    attempt: str
    pid: int
    signs: dict[str, float] = field(default_factory=dict)

    @property
    def window(self) -> str | None:
        """What is going on, as long as its supervisor has not written its end down."""
        if "end" in self.signs:
            return None if exists(self.pid) else "tree ending"
        if "interrupted" in self.signs:
            return "tree ending"
        return self.step

    @property
    def step(self) -> str:
        """How far it has come, or had come when it was killed."""
        if "report" in self.signs:
            return "reporting"
        return "opening" if "mute" in self.signs and "spoke" not in self.signs else "running"

    @property
    def last_sign(self) -> float:
        return max(self.signs.values())


class Lives:
    """All runs by their attempts' ids, in the order of their beginnings; read on as they go on."""

    def __init__(self, root: Path) -> None:
        self.path = root / "lives"
        self.known: dict[str, Life] = {}
        self._offset = 0

    def read(self) -> dict[str, Life]:
        """Return what is known by now."""
        if self.path.exists():
            with self.path.open("rb") as file:
                file.seek(self._offset)
                text = file.read()
            whole = text[: text.rfind(b"\n") + 1]
            self._offset += len(whole)
            for line in whole.decode().splitlines():
                what, task, attempt, pid, at = line.split()
                life = self.known.setdefault(attempt, Life(task, attempt, int(pid)))
                life.signs[what] = float(at)
        return self.known
