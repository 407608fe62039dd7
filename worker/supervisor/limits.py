"""The limits of one attempt: what its processes use, whether that is too much, and its end then.

Owns which limits the kernel keeps, in the agent's part of the attempt's control group, and which
are watched: looked at twice a second, and so exceeded for a moment. The kernel keeps memory and
processes where the group was given to us with these controllers. CPU time is read from any group.
Without a group all is summed over the agent's tree, but for its proxy, which is not in its part of
a group either. The disk is always watched. No limit of a process or a user (setrlimit(2)) is set:
docs/decisions.md says why.

A limit ends the attempt, with `limit` and what was seen in `exit.json`. What grows on meanwhile is
killed at once; an agent that has used up its CPU time is ended kindly. Light: the supervisor runs
on it. Imported for an attempt with limits alone.
"""

import os
import time

from sow.processes.cgroup_limits import AgentGroup
from worker.supervisor.agent_process import Agent
from worker.supervisor.disk_use import DiskUse
from worker.supervisor.exit_file import say
from worker.supervisor.own_processes import OwnProcesses, lineage
from worker.supervisor.tree_ending import AT_ONCE, GRACES, end_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sow.processes.tree_use import Use
    from worker.supervisor.agent_process import Start

MEMORY, CPU, PROCESSES, DISK = "memory", "cpu", "processes", "disk"
"""The keys of `agents.executors.NAME.limits`."""
FOLDER = "folder"
"""Names a folder that counts for the disk."""
LOOK_SECONDS = 0.5
LEAST_PAUSES = 50
"""A pause is at least so many times as long as the look at processes before it took."""


def pack_limits(most: "Mapping[str, float]", folders: "Sequence[str]") -> list[str]:
    """Return orders about limits: what may be used, by its key, and what counts for the disk."""
    limits = [f"{name}={number!r}" for name, number in most.items()]
    return [*limits, *(f"{FOLDER}={folder}" for folder in folders)]


class Limits:
    """The limits of the attempt that we supervise."""

    def __init__(self, fields: "Sequence[bytes]", fence: str, own: OwnProcesses) -> None:
        """`fields` are the orders about them, `fence` the group that we have entered, if any."""
        pairs = [os.fsdecode(field).partition("=")[::2] for field in fields]
        self._most = {name: float(value) for name, value in pairs if name != FOLDER}
        folders = [value for name, value in pairs if name == FOLDER]
        self._disk = DiskUse(folders, int(self._most[DISK])) if DISK in self._most else None
        self._own = own
        self._group = group_in(fence)
        self._kept: set[str] = set()
        """The limits that the kernel keeps."""
        self._spent_before = spent_by_children()
        self._left_out: dict[int, str] = {}
        """What runs beside the agent for it and does not count: since when, by pid."""
        self._unseen: tuple[int, ...] = ()
        """The pids of such processes until a look has seen them."""
        self._due = 0.0
        self.pause = LOOK_SECONDS
        """How long to wait for a signal until the next look."""
        self.reached = ""
        self.seen = 0.0
        """What was seen of that, where anything was; in bytes or seconds."""

    def within(self, start: "Start") -> "Start":
        """Return a function that starts the agent by `start` where it is limited."""

        def begin(
            folder: str,
            argv: list[str],
            environ: "Mapping[bytes, bytes]",
            outputs: "Sequence[int]" = (),
        ) -> int:
            group = self._entered()
            if group is None:
                return start(folder, argv, environ, outputs)
            if MEMORY in self._most and group.limit_memory(int(self._most[MEMORY])):
                self._kept.add(MEMORY)
            try:
                pid = start(folder, argv, environ, outputs)
            finally:
                group.leave()
            # Only now: we were one of them.
            if PROCESSES in self._most and group.limit_processes(int(self._most[PROCESSES])):
                self._kept.add(PROCESSES)
            return pid

        return begin

    def _entered(self) -> AgentGroup | None:
        """Enter the agent's group, so that it is born there; None where there is none."""
        if self._group is not None:
            try:
                self._group.enter()
            except OSError as error:
                say(f"cannot enter the agent's control group: {error.strerror}")
                self._group = None
        return self._group

    def leave_out(self, pids: "Sequence[int]") -> None:
        """Have children of ours, and what they start, not count.

        A group of the agent's does not have them; without one they are found in our tree.
        """
        self._unseen = tuple(pids)
        self._targets()

    def are_reached(self) -> bool:
        """Look, if a look is due; return whether a limit is reached."""
        begun = time.monotonic()
        if not self.reached and begun >= self._due:
            self._look_at_kept()
            self._look_at_processes()
            now = time.monotonic()
            self.pause = max(LOOK_SECONDS, (now - begun) * LEAST_PAUSES)
            if not self.reached and self._disk is not None and self._disk.is_over(now):
                self._reach(DISK, self._disk.size)
            self._due = time.monotonic() + self.pause
        return bool(self.reached)

    def look_last(self) -> None:
        """Look why the agent has ended: the kernel may have killed it."""
        if not self.reached:
            self._look_at_kept()

    def end(self, agent: Agent) -> None:
        """End the agent's whole tree for the limit that is reached."""
        say(f"limit reached: {self.reached}")
        if self.reached == CPU:
            end_tree(agent, self._own, GRACES)
            return
        if self._group is not None:
            self._group.kill()
        end_tree(agent, self._own, AT_ONCE)

    def facts(self) -> dict[str, object]:
        """Return what `exit.json` says of a limit that was reached."""
        return {"limit": self.reached, "limit_seen": self.seen} if self.reached else {}

    def _look_at_kept(self) -> None:
        """Ask the kernel what it has done, and what time was spent."""
        if self._group is None:
            return
        if MEMORY in self._kept and self._group.was_out_of_memory():
            self._reach(MEMORY)
        elif PROCESSES in self._kept and self._group.was_refused_processes():
            self._reach(PROCESSES)
        elif CPU in self._most and (spent := self._group.cpu_seconds()) > self._most[CPU]:
            self._reach(CPU, spent)

    def _look_at_processes(self) -> None:
        """Sum up what nobody else counts."""
        watched = self._most.keys() - self._kept - {DISK}
        if self._group is not None:
            watched -= {CPU}
        if self.reached or not watched:
            return
        try:
            pids = self._group.members() if self._group is not None else [*self._targets()]
            use: Use = self._own.tree.use_of(pids)
            if MEMORY in watched and use.memory_bytes > self._most[MEMORY]:
                use = self._own.tree.use_of(pids, exactly=True)
        except OSError:  # short of descriptors or memory: the next look will do
            return
        spent = use.cpu_seconds + spent_by_children() - self._spent_before
        if MEMORY in watched and use.memory_bytes > self._most[MEMORY]:
            self._reach(MEMORY, use.memory_bytes)
        elif PROCESSES in watched and use.tasks > self._most[PROCESSES]:
            self._reach(PROCESSES, use.tasks)
        elif CPU in watched and spent > self._most[CPU]:
            self._reach(CPU, spent)

    def _targets(self) -> "Collection[int]":
        targets = self._own.look().targets
        if self._unseen and targets:  # nothing is seen where nobody can look now
            seen = [pid for pid in self._unseen if pid in targets]
            self._left_out = {pid: targets[pid].start_ticks for pid in seen}
            self._unseen = ()
        if not self._left_out:
            return targets
        left_out = {
            pid
            for pid, start in self._left_out.items()
            if pid in targets and targets[pid].start_ticks == start
        }
        return [pid for pid in targets if not left_out & lineage(pid, targets)]

    def _reach(self, name: str, seen: float = 0.0) -> None:
        self.reached, self.seen = name, seen


def group_in(fence: str) -> AgentGroup | None:
    """Return the agent's part of a group; None where there can be none."""
    try:
        return AgentGroup(fence) if fence else None
    except OSError as error:
        say(f"no control group for the agent: {error.strerror}")
        return None


def spent_by_children() -> float:
    """Return the CPU time of our children that have ended, and of theirs (times(2))."""
    times = os.times()
    return times.children_user + times.children_system
