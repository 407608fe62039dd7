"""Tasks with work in clones of their own, or on branches alone, to be merged."""

from dataclasses import dataclass
from pathlib import Path

from clones.clone_site import plain
from clones.making_site import NOON, Home, commit, make_home

from sow.clones.main_checkout import MainCheckout, main_checkout
from sow.clones.merge_tasks import Merged, merge_tasks
from sow.clones.record import record_clone
from sow.clones.steps import no_step
from sow.schema.job_terms import MergeWay
from sow.schema.task import Task, TaskStatus
from sow.state.tasks import change_task, read_task
from sow.state.verdicts import Judgement, accept


@dataclass(frozen=True)
class MergeSite:
    home: Home

    @property
    def main(self) -> MainCheckout:
        return main_checkout(self.home.workspace, self.home.settings)

    @property
    def top(self) -> Path:
        return self.home.top

    def tip(self, branch: str = "main") -> str:
        return plain(self.top, "rev-parse", f"refs/heads/{branch}")

    def task(self, task: str = "010") -> Task:
        return read_task(self.home.workspace, task)

    def change(self, task: str = "010", **changes) -> None:
        change_task(self.home.workspace, task, lambda _: changes, now=NOON)

    def branch(self, task: str = "010") -> str:
        return self.home.place(task).branch

    def clone(self, task: str = "010") -> Path:
        """Make the clone of a task, on record."""
        made = self.home.make(task)
        record_clone(self.home.workspace, made.mark, now=NOON)
        return self.home.place(task).path

    def work(self, path: str, text: str, task: str = "010", **changes) -> str:
        """Commit work in the clone of a task, made if it has none, and complete the task."""
        place = self.home.place(task)
        if not place.path.exists():
            self.clone(task)
        made = commit(place.path, path, text, f"Work on {task}")
        self.change(task, **({"status": TaskStatus.COMPLETED} | changes))
        return made

    def accept(self, at: str, task: str = "010") -> None:
        """Have the work of a task accepted at a commit."""
        self.change(task, status=TaskStatus.NEEDS_REVIEW)
        judgement = Judgement(by="person", commit=at)
        accept(self.home.workspace, task, judgement, complete=False, now=NOON)

    def merge(self, *tasks: str, way=MergeWay.MERGE, check=lambda *_: None, step=no_step) -> Merged:
        named = tasks or ("010",)
        return merge_tasks(self.main, named, way=way, check=check, now=NOON, step=step)

    def subjects(self) -> list[str]:
        """Return the first lines of the project's own commits, the newest first."""
        return plain(self.top, "log", "--first-parent", "--format=%s", "main").splitlines()


def make_merge_site(folder: Path, tasks: int = 3) -> MergeSite:
    return MergeSite(make_home(folder, tasks=tasks))
