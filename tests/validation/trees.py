"""Random trees of `.sow` that are valid: made by the functions that the commands use."""

from pathlib import Path
from random import Random

from sow.lifecycle.stages import COMPLETED, ProjectType
from sow.lifecycle.types import LIFECYCLES
from sow.paths import Workspace
from sow.schema.task import TaskStatus
from sow.state.artifacts import Side, add_artifact
from sow.state.authors import SOW, Author
from sow.state.lifecycle import approve_documents, approve_units, finish_phase
from sow.state.log_writing import LogEntry
from sow.state.project_feedback import add_feedback, settle_feedback
from sow.state.projects import add_phase, change_project, new_project, read_project
from sow.state.task_log import append_entry
from sow.state.tasks import add_task, change_task, find_task, list_tasks
from sow.state.transitions import enter
from sow.state.verdicts import Judgement, correct
from sow.state.workspace_init import init_workspace

NOON = 1_769_860_800.0
PERSON = Author("person")
CONFIG = "checks:\n  unit: make test\n  lint: make lint\n  default: [unit]\nreviews: optional\n"
MARKS = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> theirs\n"
TEXTS = (
    *("", "One line.", "---", "# Notes\n\n---\n\nMore.", "id: 0123456789ab", "a: b\n---\nc"),
    *("timestamp: 2026-01-31T12:00:00Z", MARKS, "☃\t\u00a0", "x " * 200),
)
WAYS = {
    TaskStatus.PENDING: (),
    TaskStatus.ABANDONED: (TaskStatus.ABANDONED,),
    **{
        status: (TaskStatus.IN_PROGRESS, status)
        for status in (TaskStatus.PAUSED, TaskStatus.NEEDS_REVIEW, TaskStatus.FAILED)
    },
    TaskStatus.COMPLETED: (TaskStatus.IN_PROGRESS, TaskStatus.NEEDS_REVIEW, TaskStatus.COMPLETED),
}
"""How a task comes to each status."""


def make_tree(root: Path, seed: int) -> Workspace:
    """Make a workspace below `root`, drawn from a seed."""
    dice = Random(seed)
    init_workspace(root)
    workspace = Workspace(root)
    if dice.random() < 0.5:
        workspace.repository_config.write_text(CONFIG)
    if dice.random() < 0.3:
        _prompts(workspace, dice)
    for number in range(dice.randint(0, 1)):
        _archived(workspace, dice, number)
    if dice.random() < 0.95:
        _project(workspace, dice, uuid(dice))
    return workspace


def uuid(dice: Random) -> str:
    digits = f"{dice.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _prompts(workspace: Workspace, dice: Random) -> None:
    folder = workspace.prompts / "guidance" / "implementer"
    folder.mkdir(parents=True)
    name = dice.choice(["base.md", "base.add.md"])
    folder.joinpath(name).write_text("Tell {{role}} by `sow task set status needs_review`.\n")


def _project(workspace: Workspace, dice: Random, project_id: str) -> None:
    kind = dice.choice([None, *ProjectType])
    new_project(workspace, name="A project", project_id=project_id, now=NOON, kind=kind)
    for phase in dice.sample(["discovery", "review", "later-2"], dice.randint(0, 2)):
        add_phase(workspace, phase, now=NOON + 1)
    _tasks(workspace, dice)
    _files(workspace, dice)
    for number in range(dice.randint(0, 3)):
        note = add_feedback(workspace, f"Words {number}\n".encode(), by=PERSON, now=NOON + 2)
        if dice.random() < 0.5:
            settle_feedback(workspace, [note.id], by=PERSON, now=NOON + 3)
    _stand(workspace, dice, kind)
    for _ in range(dice.randint(0, 3)):
        _log(workspace.project, dice)


def _tasks(workspace: Workspace, dice: Random) -> None:
    phases = read_project(workspace).phases
    ids: list[str] = []
    for number in range(dice.randint(0, 5)):
        depends_on = dice.sample(ids, dice.randint(0, min(2, len(ids))))
        task = add_task(
            workspace,
            name=f"Task {number}",
            agent=dice.choice(["implementer", "tester", "orchestrator"]),
            now=NOON + number,
            phase=dice.choice(phases),
            description=dice.choice(["", "Do it.\n", f"```\n{MARKS}```\n"]),
            depends_on=depends_on,
            checks=["lint"] if workspace.repository_config.read_text() == CONFIG else [],
        )
        ids.append(task.id)
        _life(workspace, dice, task.id)


def _life(workspace: Workspace, dice: Random, task_id: str) -> None:
    """Take a task to some status, with what lies on the way."""
    status = dice.choice(list(WAYS))
    for step, next_status in enumerate(WAYS[status]):
        if next_status is TaskStatus.COMPLETED and dice.random() < 0.5:
            findings = f"Correct {step}\n".encode()
            correct(workspace, task_id, Judgement("person"), findings, now=NOON + 9)
        change_task(
            workspace,
            task_id,
            lambda task, to=next_status: enter(task, to, now=NOON + 10),
            now=NOON + 10,
        )
    changes: dict[str, object] = {}
    if dice.random() < 0.3:
        changes["metadata.note"] = dice.choice(TEXTS)
    if dice.random() < 0.3:
        changes["references"] = dice.sample(
            [".sow/config.yaml", "https://a.example/b.md", "GH-12", "see the wiki", "a/b#12", 7], 2
        )
    if dice.random() < 0.2:
        changes["feedback"] = [*current(workspace, task_id), "a word of an older sow"]
    if dice.random() < 0.3 and status is TaskStatus.PAUSED:
        changes |= {"session_id": "s-1", "session": {"executor": "claude-code", "started": True}}
    change_task(workspace, task_id, lambda _: changes, now=NOON + 11)
    for _ in range(dice.randint(0, 2)):
        _log(find_task(workspace, task_id).folder, dice)


def current(workspace: Workspace, task_id: str) -> list[object]:
    """Return a task's feedback as its file holds it."""
    (task,) = [task for task in list_tasks(workspace) if task.id == task_id]
    return list(task.feedback)


def _log(folder: Path, dice: Random) -> None:
    entry = LogEntry(
        timestamp="2026-01-31T12:00:00Z",
        agent=dice.choice(["implementer", "person", "sow"]),
        action=dice.choice(["Did it", 'yes: it\'s "done"', "true", "☃ #1"]),
        text=dice.choice(TEXTS),
        files=tuple(dice.sample(["a.py", "b c.py"], dice.randint(0, 2))),
    )
    append_entry(folder, entry)


def _files(workspace: Workspace, dice: Random) -> None:
    context = workspace.project / "context"
    for number in range(dice.randint(0, 3)):
        path = context / f"draft {number}.md"
        path.write_text(f"Draft {number}\n\n```\n{MARKS}```\n")
        inside = path.relative_to(workspace.root).as_posix()
        side = dice.choice(list(Side))
        add_artifact(workspace, side, inside, "design", by=PERSON, now=NOON)
        if dice.random() < 0.5:
            approve_documents(workspace, [inside], by=PERSON, now=NOON)


def _stand(workspace: Workspace, dice: Random, kind: ProjectType | None) -> None:
    if kind is None:
        return
    states = [name for name in LIFECYCLES[kind].states if name != COMPLETED]
    change_project(workspace, lambda _: {"state": dice.choice(states)}, now=NOON + 4)
    tasks = list_tasks(workspace)
    if kind is ProjectType.BREAKDOWN and tasks:
        units = dice.sample(tasks, dice.randint(1, len(tasks)))
        approve_units(workspace, units, by=PERSON, now=NOON + 5)
    if dice.random() < 0.3:
        phase = dice.choice(read_project(workspace).phases)
        finish_phase(workspace, phase, is_finished=True, by=SOW, now=NOON + 6)


def _archived(workspace: Workspace, dice: Random, number: int) -> None:
    """Make a project, end it and move it to the archive."""
    _project(workspace, dice, uuid(dice))
    ending = {"how": "abandoned", "by": "person", "at": "2026-01-31T12:00:00Z", "remove": False}
    change_project(workspace, lambda _: {"ending": ending}, now=NOON + 20)
    workspace.archive.mkdir(parents=True, exist_ok=True)
    workspace.project.rename(workspace.archive / f"2026-01-31-a-project-{number}")
