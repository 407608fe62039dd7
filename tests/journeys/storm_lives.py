"""What the agents of a storm do, and what they say of it: a line a moment, in `lives`."""

from dataclasses import dataclass, field
from pathlib import Path

from journeys.calls import exists

AGENT = r"""
    say() {
        read -r up _ </proc/uptime
        echo "$1 $SOW_TASK_ID $SOW_ATTEMPT_ID $$ $up" >>"$SOW_ROOT/lives"
    }
    say begin
    read -r kind way work <"$SOW_ROOT/kinds/$SOW_TASK_ID"
    mine="$SOW_ROOT/kinds/$SOW_TASK_ID.pid"
    before=$(cat "$mine" 2>/dev/null)
    echo $$ >"$mine"
    if [ -n "$before" ] && grep -qs "SOW_TASK_ID=$SOW_TASK_ID" "/proc/$before/environ"; then
        say met
    fi
    [ "$kind" != cancelled ] || trap 'say interrupted' INT
    sleep "$work"
    case $kind in
        crashing) [ -n "$before" ] || { say end; exit 3; } ;;
        leaving) (trap '' TERM; exec sleep 60) & ;;
        cancelled) while :; do sleep 1; done ;;
    esac
    say report
    if [ "$way" = itself ]; then
        sed -i 's/status: in_progress/status: needs_review/' "$1/state.yaml"
    else
        sow task set status needs_review || say refused
    fi
    say end
"""
"""An agent of a few milliseconds. Its tasks' kinds: plain, crashing, leaving, cancelled."""


@dataclass
class Life:
    """One run of an agent, by its own words. Times are seconds since the boot."""

    task: str
    attempt: str
    pid: int
    said: dict[str, float] = field(default_factory=dict)

    @property
    def window(self) -> str | None:
        """What is going on, as long as its supervisor has not written its end down."""
        if "end" in self.said:
            return None if exists(self.pid) else "tree ending"
        if "interrupted" in self.said:
            return "tree ending"
        return "reporting" if "report" in self.said else "running"


def read_lives(root: Path) -> dict[str, Life]:
    """Return every run by its attempt's id, in the order of their beginnings."""
    path, lives = root / "lives", dict[str, Life]()
    text = path.read_text() if path.exists() else ""
    for line in text[: text.rfind("\n") + 1].splitlines():
        what, task, attempt, pid, at = line.split()
        life = lives.setdefault(attempt, Life(task, attempt, int(pid)))
        life.said[what] = float(at)
    return lives
