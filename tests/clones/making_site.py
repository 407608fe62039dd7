"""A real repository with a workspace, a project and tasks in it, whose tasks get clones."""

from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from clones.clone_site import copy_repository, folder_of_this_process, name_author, plain
from msgspec import structs

from sow.clones.checkout_id import checkout_id
from sow.clones.locks import locked_place
from sow.clones.main_checkout import project_commit
from sow.clones.make import CloneOrder, MadeClone, finish_clone, make_clone
from sow.clones.place import Place, place_of
from sow.config.clones import CloneSettings
from sow.git.repository import Repository, repository_of
from sow.paths import Workspace
from sow.schema.task import TaskStatus
from sow.state.projects import new_project, read_project
from sow.state.tasks import add_task, change_task, read_task
from sow.state.transitions import enter
from sow.state.workspace_init import init_workspace

NOON = 1_769_860_800.0
PROJECT_ID = "0b5f4b7e-2d1a-4b58-9d8e-0e0e0e0e0e0e"


@dataclass(frozen=True)
class Home:
    """A main checkout, and how its clones are made."""

    workspace: Workspace
    settings: CloneSettings = field(default_factory=CloneSettings)

    @property
    def repository(self) -> Repository:
        return repository_of(self.workspace.root)

    @property
    def top(self) -> Path:
        return self.repository.top

    def place(self, task: str = "010") -> Place:
        repository = self.repository
        return place_of(
            self.workspace,
            repository,
            checkout_id(repository),
            read_project(self.workspace),
            read_task(self.workspace, task),
            self.settings,
        )

    def order(self, task: str = "010", **more) -> CloneOrder:
        project = read_project(self.workspace)
        base = project_commit(self.repository, project, self.workspace.project_state)
        place = self.place(task)
        return CloneOrder(
            **{"place": place, "repository": self.repository, "base": base}
            | {"copy": self.settings.copy}
            | more
        )

    def make(self, task: str = "010", *, whole: bool = True, step=None, **more) -> MadeClone:
        order = self.order(task, **more)
        with locked_place(order.place, timeout_seconds=20):
            made = make_clone(order, **({"step": step} if step else {}))
            return structs.replace(made, mark=finish_clone(order.place)) if whole else made

    def with_settings(self, **settings) -> "Home":
        return replace(self, settings=CloneSettings(**settings))


def make_home(folder: Path, *, inside: str = "", tasks: int = 3) -> Home:
    """Copy a repository with files, a workspace `inside` it, and tasks 010, 020, …"""
    top = folder / "A Shop"
    copy_repository(_prepared(inside, tasks), top)
    return Home(Workspace(top / inside))


@cache
def _prepared(inside: str, tasks: int) -> Path:
    """Make such a repository, once in each process."""
    top = folder_of_this_process() / "shop"
    top.mkdir()
    plain(top, "init", "-q", "-b", "main")
    name_author(top)
    workspace = Workspace(top / inside)
    workspace.root.mkdir(parents=True, exist_ok=True)
    init_workspace(workspace.root)
    new_project(workspace, name="Sign in!", project_id=PROJECT_ID, now=NOON, branch="main")
    for number in range(tasks):
        add_task(workspace, name=f"Task {number}", agent="implementer", now=NOON)
    for path, text in {"file": "one\ntwo\nthree\n", "src/code.py": "print(1)\n"}.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text)
    (top / ".gitignore").write_text(".env\n*.local\n")
    plain(top, "add", "-A")
    plain(top, "commit", "-q", "-m", "First")
    return top


def commit(folder: Path, path: str, text: str, message: str = "More") -> str:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text)
    plain(folder, "add", "-f", "--sparse", path)
    plain(folder, "commit", "-q", "-m", message)
    return plain(folder, "rev-parse", "HEAD")


def bring(home: Home, task: str = "010", *, words: tuple[str, ...] = ()) -> str:
    """Fetch a task's branch into the main repository, as git alone does it."""
    place = home.place(task)
    ref = f"refs/heads/{place.branch}"
    plain(home.top, *words, "fetch", "-q", str(place.path), f"+{ref}:{ref}")
    return plain(home.top, "rev-parse", ref)


def abandon(workspace: Workspace, task: str) -> None:
    """Abandon a task, as `sow task abandon` writes it."""
    change_task(
        workspace, task, lambda found: enter(found, TaskStatus.ABANDONED, now=NOON), now=NOON
    )


def beside(place: Place) -> list[str]:
    """Return what lies in the folder of a project's clones."""
    return sorted(path.name for path in place.path.parent.iterdir())
