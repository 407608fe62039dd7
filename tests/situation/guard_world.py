"""A project that may stand in many ways, on the disk, and what each guard's sentence says of it.

The sentences are judged from what was drawn alone: nothing here asks sow how the project
stands. What was approved, judged or checked was so some time ago, and may have changed since.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import yaml

from sow.calls.caller import Caller
from sow.clones.project_work import work_of
from sow.config.checks import hash_of
from sow.lifecycle.stages import STAGES, ProjectType
from sow.lifecycle.types import LIFECYCLES, Event
from sow.paths import Workspace
from sow.schema.project import ProjectCheck
from sow.schema.task import TaskStatus
from sow.state import lifecycle
from sow.state.authors import Author
from sow.state.projects import read_project
from sow.state.tasks import list_tasks
from sow.state.transitions import moment
from sow.state.units import path_of, text_of
from sow.state.workspace_init import init_workspace

NOW = 1_769_860_800.0
AT = "2026-01-31T12:00:00Z"
PROJECT = "3f0c0b5e-1111-4222-8333-444455556667"
PERSON = Author("person")
IDS = ("010", "020", "030")
ENDED = ("completed", "abandoned")
DRAFT = ".sow/project/context/b.md"
PATHS = ("docs/a.md", DRAFT, f"docs/../{DRAFT}", "docs/link.md")
"""One is kept, and three are the project's own: as it is, by a detour, and by a link."""
BRANCHES = ("", "merged", "apart", "squashed", "taken-back", "elsewhere", "gone", "gone-after")
"""Where a task's work lies. `taken-back`: squashed, and then reset away; `elsewhere`: merged into
another branch alone; `gone-after`: merged, and its branch removed."""
IN_PROJECT = ("merged", "squashed", "gone-after")
STATUSES = tuple(status.value for status in TaskStatus)
MOSTLY_NOW = ("now", "now", "now", "once")
LINE, OTHER_LINE = "exit 0", "exit 0 # as it was"


@dataclass(frozen=True)
class Task:
    """A task as it was drawn."""

    id: str
    status: str = "pending"
    phase: str = "implementation"
    name: str = "A"
    role: str = "implementer"
    depends_on: tuple[str, ...] = ()
    words: str | None = "x"
    branch: str = ""
    published: str = ""
    """Its file: `` for none, `now` as it stands, `once` as it stood."""

    @property
    def as_planned(self) -> tuple[object, ...]:
        return (self.id, self.name, self.role, self.depends_on, self.words)


@dataclass(frozen=True)
class Output:
    """A listed document."""

    path: str
    is_there: bool = True
    approved: str = ""
    """`` for never, `now` as it stands, `once` as it stood."""


@dataclass(frozen=True)
class World:
    """A project as it was drawn, with what was so when somebody approved, judged or checked it."""

    kind: ProjectType
    state: str
    tasks: tuple[Task, ...] = ()
    once: tuple[Task, ...] = ()
    """The tasks when the plan and the units were approved."""
    iteration: int = 1
    phases: tuple[str, ...] = ()
    finished: tuple[str, ...] = ()
    outputs: tuple[Output, ...] = ()
    feedback: tuple[str, ...] = ()
    """The status of each note."""
    is_approved: bool = False
    """Whether somebody has approved plan and units at all."""
    verdict: str = ""
    judge: str = "person"
    judged_work: str = "now"
    checks: Mapping[str, Any] = field(default_factory=dict)
    """The section of the settings."""
    checked: tuple[str, ...] = ()
    """The names of the checks that were run last; none where there was no check."""
    passed: bool = True
    checked_work: str = "now"
    checked_line: str = "now"
    """`now` where the command lines are as they were, `once` where not, `` where nobody noted."""
    agents_may: bool = False
    head: str = "trunk"
    """The branch that is checked out; the project's is `trunk`."""

    @property
    def counted(self) -> tuple[Task, ...]:
        return tuple(task for task in self.tasks if task.phase != "project")

    @property
    def units(self) -> tuple[Task, ...]:
        return tuple(task for task in self.counted if task.status != "abandoned")


SENTENCES: Mapping[str, Callable[[World], bool]] = {
    "has_task": lambda now: bool(now.counted),
    "has_work": lambda now: (
        any(task.status not in ENDED for task in now.counted)
        or (now.iteration == 1 and any(task.status == "completed" for task in now.counted))
    ),
    "tasks_ended": lambda now: all(task.status in ENDED for task in now.counted),
    "merged": lambda now: all(
        task.branch in IN_PROJECT
        for task in now.counted
        if task.branch and task.status == "completed"
    ),
    "phases_finished": lambda now: all(
        phase in now.finished
        and all(task.status in ENDED for task in now.counted if task.phase == phase)
        for phase in now.phases
        if phase in ("discovery", "design")
    ),
    "plan_approved": lambda now: (
        now.is_approved
        and _plan(now.once) == _plan(now.tasks)
        and any(task.phase != "project" for task in now.once)
    ),
    "review_accepts": lambda now: (
        now.verdict == "accepted"
        and now.judged_work == "now"
        and (now.judge == "person" or now.agents_may)
    ),
    "review_corrects": lambda now: now.verdict == "corrections",
    "checks_green": lambda now: (
        not _wanted(now)
        or (
            now.passed
            and {*_wanted(now)} <= {*now.checked}
            and (now.checked_work, now.checked_line) == ("now", "now")
        )
    ),
    "has_output": lambda now: bool(now.outputs),
    "outputs_approved": lambda now: all(
        output.is_there and output.approved == "now" for output in now.outputs
    ),
    "outputs_kept": lambda now: all(
        output.is_there and output.path == "docs/a.md" for output in now.outputs
    ),
    "feedback_settled": lambda now: "open" not in now.feedback,
    "no_circle": lambda now: (
        not any(_leads_back(now.counted, task.id, task.id, ()) for task in now.counted)
    ),
    "has_unit": lambda now: bool(now.units),
    "units_approved": lambda now: (
        not now.units
        or (
            now.is_approved
            and all(unit.as_planned in [task.as_planned for task in now.once] for unit in now.units)
        )
    ),
    "units_published": lambda now: all(unit.published == "now" for unit in now.units),
}
"""What each guard's sentence says, by the guard's name."""


def _plan(tasks: tuple[Task, ...]) -> list[tuple[object, ...]]:
    return [
        task.as_planned for task in tasks if task.phase != "project" and task.status != "abandoned"
    ]


def _wanted(now: World) -> tuple[str, ...]:
    """Return the checks that have to pass: the default ones, else all."""
    named = tuple(name for name in now.checks if name != "default")
    return tuple(now.checks.get("default", ())) or named


def _leads_back(tasks: tuple[Task, ...], task: str, to: str, way: tuple[str, ...]) -> bool:
    needs = {found.id: found.depends_on for found in tasks}
    return any(
        other == to or (other not in way and _leads_back(tasks, other, to, (*way, other)))
        for other in needs.get(task, ())
        if other in needs
    )


def random_world(kind: ProjectType, event: Event, chance: Random) -> World:
    """Return a project that stands where an event is asked for; most of it is as it should be."""
    tasks = tuple(_task(kind, task, chance) for task in IDS[: chance.choice((0, 1, 2, 3, 3))])
    names = chance.choice(((), ("unit",), ("unit", "e2e")))
    default = names[:1] if chance.random() < 0.5 else ()
    led = chance.choice(((), ("discovery",), ("design", "discovery")))
    ran = chance.choice(((), ("unit",), ("unit", "e2e"), names))
    return World(
        kind=kind,
        state=event.source,
        tasks=tasks,
        once=tuple(_as_it_was(task, chance) for task in tasks if chance.random() < 0.9),
        iteration=chance.choice((1, 2)),
        phases=(*led, *STAGES[kind].phases),
        finished=tuple(phase for phase in led if chance.random() < 0.8),
        outputs=tuple(_output(path, chance) for path in PATHS if chance.random() < 0.3),
        feedback=chance.choice(((), ("settled",), ("settled", "open"))),
        is_approved=chance.random() < 0.8,
        verdict=chance.choice(("", "accepted", "accepted", "corrections")),
        judge=chance.choice(("person", "person", "reviewer")),
        judged_work=chance.choice(MOSTLY_NOW),
        checks=dict.fromkeys(names, LINE) | ({"default": [*default]} if default else {}),
        checked=tuple(name for name in ran if name in names),
        passed=chance.random() < 0.8,
        checked_work=chance.choice(MOSTLY_NOW),
        checked_line=chance.choice((*MOSTLY_NOW, "")),
        agents_may=chance.random() < 0.3,
        head=chance.choice(("trunk", "trunk", "other")),
    )


def _task(kind: ProjectType, task_id: str, chance: Random) -> Task:
    return Task(
        id=task_id,
        status=chance.choice(("completed", "completed", "completed", *STATUSES)),
        phase=chance.choice((*[STAGES[kind].phases[0]] * 4, "discovery", "project")),
        name=chance.choice(("A", "B")),
        depends_on=tuple(other for other in IDS if chance.random() < 0.12),
        words=chance.choice(("x", "x", "x", None)),
        branch=chance.choice((*[""] * 8, *BRANCHES)),
        published=chance.choice((*MOSTLY_NOW, "")),
    )


def _as_it_was(task: Task, chance: Random) -> Task:
    """Return a task as it was when it was approved: mostly as it is."""
    changes: list[dict[str, Any]] = [
        *[{}] * 12,
        {"name": "C"},
        {"role": "tester"},
        {"words": "y"},
        {"depends_on": (*task.depends_on, "990")},
        {"status": "abandoned"},
        {"status": "pending"},
    ]
    return replace(task, **chance.choice(changes))


def _output(path: str, chance: Random) -> Output:
    return Output(path, chance.random() < 0.8, chance.choice((*MOSTLY_NOW, "")))


def events() -> Iterator[tuple[ProjectType, Event]]:
    """Yield each event that has guards, with its type."""
    for kind, table in LIFECYCLES.items():
        yield from ((kind, event) for event in table.events if event.guards)


@dataclass
class Place:
    """A repository in which projects are put, one after the other."""

    root: Path
    commits: dict[str, str] = field(default_factory=dict)

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.root)

    @property
    def caller(self) -> Caller:
        environ = {"HOME": str(self.root.parent), "SOW_CONFIG": str(self.root.parent / "c.yaml")}
        return Caller(self.workspace, environ, self.root, clock=lambda: NOW)

    def git(self, *words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        argv = ["git", "-C", str(self.root), *who, *words]
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, name: str) -> None:
        self.git("commit", "-q", "--allow-empty", "-m", name)
        self.commits[name] = self.git("rev-parse", "HEAD")

    def put(self, world: World) -> None:
        """Have the project of a world stand here."""
        for folder in ("project", "knowledge"):
            shutil.rmtree(self.root / ".sow" / folder, ignore_errors=True)
        link = self.root / "docs/link.md"
        link.unlink(missing_ok=True)
        link.symlink_to(f"../{DRAFT}")
        (self.root / DRAFT).parent.mkdir(parents=True)
        (self.root / ".git/HEAD").write_text(f"ref: refs/heads/{world.head}\n")
        self._settle(world)
        self._tasks(world, world.once)
        self._approve_plan(world)
        for words in ("once", "now"):
            for output in world.outputs:
                self._write(output.path, words)
            paths = [output.path for output in world.outputs if output.approved == words]
            lifecycle.approve_documents(self.workspace, paths, by=PERSON, now=NOW)
        for output in world.outputs:
            if not output.is_there:
                (self.root / output.path).unlink(missing_ok=True)
        self._tasks(world, world.tasks)
        self._publish(world)
        named = {
            world.judged_work if world.verdict else "",
            world.checked_work if world.checked else "",
        }
        works = {words: self._work(words) for words in ("once", "now") if words in named}
        self._write("work.txt", "now")
        self._judge(world, works)

    def _work(self, words: str) -> str:
        self._write("work.txt", words)
        return work_of(self.root)

    def _write(self, path: str, words: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(words)

    def _settle(self, world: World) -> None:
        settings = {"checks": dict(world.checks)} if world.checks else {}
        self._write(".sow/config.yaml", yaml.safe_dump(settings))
        (self.root.parent / "c.yaml").write_text("approve: agents\n" if world.agents_may else "")
        project: dict[str, Any] = {
            **{"id": PROJECT, "name": "P", "branch": "trunk", "type": world.kind.value},
            **{"state": world.state, "iteration": world.iteration, "phases": [*world.phases]},
            **{"created_at": AT, "updated_at": AT, "metadata": {}},
            "finished_phases": [*world.finished],
            "outputs": [
                {"path": output.path, "type": "design", "by": "person", "at": AT}
                for output in world.outputs
            ],
            "feedback": [
                {"id": f"{number:03d}", "status": status, "by": "person", "at": AT}
                for number, status in enumerate(world.feedback, start=1)
            ],
        }
        self._write(".sow/project/state.yaml", yaml.safe_dump({"project": project, "version": 2}))

    def _tasks(self, world: World, tasks: tuple[Task, ...]) -> None:
        shutil.rmtree(self.root / ".sow/project/phases", ignore_errors=True)
        for phase in world.phases:
            (self.root / f".sow/project/phases/{phase}/tasks").mkdir(parents=True)
        for task in tasks:
            folder = f".sow/project/phases/{task.phase}/tasks/{task.id}"
            self._write(f"{folder}/state.yaml", yaml.safe_dump(self._state(task)))
            if task.words is not None:
                self._write(f"{folder}/description.md", task.words)

    def _state(self, task: Task) -> dict[str, Any]:
        fields: dict[str, Any] = {
            **{"id": task.id, "name": task.name, "phase": task.phase, "status": task.status},
            **{"assigned_agent": task.role, "iteration": 1, "depends_on": [*task.depends_on]},
            **{"created_at": AT, "updated_at": AT, "feedback": [], "metadata": {}},
        }
        if task.branch:
            base = self.commits["base"]
            fields["clone"] = {"path": "/nowhere", "branch": f"sow/p/{task.branch}", "base": base}
        results = {
            "squashed": "squash",
            "taken-back": "lost",
            "gone-after": "merged",
        }
        if task.branch in results:
            known = {"squashed": "squashed", "taken-back": "taken-back", "gone-after": "merged"}
            fields["merged"] = {
                "commit": self.commits[known[task.branch]],
                "into": "trunk",
                "as": self.commits[results[task.branch]],
                "at": AT,
            }
        return {"task": fields, "version": 2}

    def _approve_plan(self, world: World) -> None:
        units = [task for task in list_tasks(self.workspace) if task.phase != "project"]
        if world.is_approved and world.kind is ProjectType.BREAKDOWN:
            lifecycle.approve_units(self.workspace, units, by=PERSON, now=NOW)
        if world.is_approved and world.state == "planning" and units:
            lifecycle.approve_plan(self.workspace, by=PERSON, now=NOW)

    def _judge(self, world: World, work: Mapping[str, str]) -> None:
        by = Author(world.judge)
        if world.verdict == "accepted":
            lifecycle.accept_whole(self.workspace, work[world.judged_work], "", by=by, now=NOW)
        elif world.verdict:
            lifecycle.correct_whole(
                self.workspace, work[world.judged_work], "", b"Not so.", by=by, now=NOW
            )
            self._forget_own_note(world)
        if world.checked:
            lines = {"now": LINE, "once": OTHER_LINE}
            line = lines.get(world.checked_line)
            check = ProjectCheck(
                passed=world.passed,
                at=moment(NOW),
                work=work[world.checked_work],
                names=[*world.checked],
                commands={name: hash_of(line) for name in world.checked} if line else {},
            )
            lifecycle.record_check(self.workspace, check, now=NOW)

    def _publish(self, world: World) -> None:
        project = read_project(self.workspace)
        tasks = {task.id: task for task in list_tasks(self.workspace)}
        for unit in world.units:
            if unit.published:
                task = tasks[unit.id]
                text = text_of(self.workspace, task)
                file = self.root / path_of(project, task)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(text if unit.published == "now" else text + b"once")

    def _forget_own_note(self, world: World) -> None:
        """Take the verdict's own note away: what feedback is open was drawn."""
        path = self.root / ".sow/project/state.yaml"
        state = yaml.safe_load(path.read_text())
        state["project"]["feedback"] = state["project"]["feedback"][: len(world.feedback)]
        del state["project"]["review"]["feedback"]
        path.write_text(yaml.safe_dump(state))


def make_place(root: Path) -> Place:
    """Make a repository whose branches hold the work of tasks in each way that there is."""
    root.mkdir()
    place = Place(root)
    place.git("init", "-q", "-b", "trunk")
    place.git("config", "core.excludesFile", os.devnull)
    place.commit("base")
    for name in ("merged", "apart", "squashed", "taken-back", "elsewhere"):
        place.git("checkout", "-q", "-b", f"sow/p/{name}", place.commits["base"])
        place.commit(name)
    place.git("checkout", "-q", "trunk")
    place.git("merge", "-q", "--ff-only", "sow/p/merged")
    place.commit("squash")
    place.commit("lost")
    place.git("reset", "-q", "--hard", place.commits["squash"])
    place.git("checkout", "-q", "-b", "other")
    for name in ("elsewhere", "apart"):
        place.git("merge", "-q", "-m", "x", f"sow/p/{name}")
    place.git("checkout", "-q", "trunk")
    place.git("update-ref", "refs/heads/sow/p/gone-was", place.commits["merged"])
    place.git("branch", "-q", "-D", "sow/p/gone-was")
    init_workspace(root)
    (root / "docs").mkdir()
    return place
