"""Where a report's facts come from: the queue's file, the tasks' files, their logs and branches.

Changes nothing. What cannot be read is told in a note, and hides nothing else.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import UNSET

from sow.clones.place import inside_of
from sow.errors import SowError
from sow.files import NotAFile
from sow.git.git_errors import NoRepository
from sow.git.repository import repository_of
from sow.git.run import LONG_SECONDS
from sow.git.view import View, named, view_of
from sow.jobs import batches
from sow.jobs.database import Database
from sow.jobs.records import DamagedRecord
from sow.jobs.report_queries import JobRecords, read_records
from sow.paths import Workspace
from sow.schema.batch import Batch
from sow.schema.output.report import LogNote
from sow.schema.project import Project
from sow.schema.task import Task
from sow.state.places import TaskPlace
from sow.state.task_log import read_entries
from sow.terminal_text import printable
from sow.timeline.report_facts import Facts, Log
from sow.timeline.shown_project import ShownProject

MOST_FILES = 40
"""Of a larger change the first so many files are told by name."""
MOST_ENTRIES = 30
"""Of a longer log the last so many entries are told; `sow task log` has them all."""
LONGEST_TEXT = 2000
"""Of a longer text, in characters, the beginning is told."""
MOST_TEXT = 2_000_000
"""When so many characters of logs were told, the other tasks' entries are told without text."""
NOTHING = JobRecords(
    jobs=(), attempts={}, changes=(), used={}, costs={}, total=None, hosts={}, left_out=0
)


def stats_of(workspace: Workspace, project: Project, tasks: Sequence[Task]) -> Mapping[str, str]:
    """Return what the tasks with a branch of their own have changed, a line for each file.

    What a task has in its clone only, and not yet in the repository, is not in it.
    Raises GitRefused, GitMissing.
    """
    apart = {task.id: task.clone for task in tasks if task.clone is not UNSET}
    if not apart:
        return {}
    try:
        repository = repository_of(workspace.root)
    except NoRepository:
        return {}
    view = view_of(repository.top)
    tips = _tips(view)
    branches = {task: f"refs/heads/{clone.branch}" for task, clone in apart.items()}
    known = {task: tips[name] for task, name in branches.items() if name in tips}
    if not known:
        return {}
    branch = repository.branch if project.branch is UNSET else project.branch
    project_tip = tips.get(f"refs/heads/{branch}", "")
    bases = {task: str(apart[task].base) for task in known}
    parents = _parents(view, {*known.values(), project_tip} - {""}, set(bases.values()))
    pairs = {
        task: (tip, own_base(parents, bases[task], tip, project_tip)) for task, tip in known.items()
    }
    state = f"{inside_of(workspace.root, repository.top) or '.'}/.sow/project/"
    return _numbers(view, pairs, state.removeprefix("./"))


def _tips(view: View) -> Mapping[str, str]:
    lines = view.text("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads")
    return {name: commit for commit, _, name in (line.partition(" ") for line in lines.split("\n"))}


def _parents(view: View, tips: Iterable[str], bases: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Return the parents of the commits from the tips back to what all bases have in common."""
    code, common, _ = view.answer("merge-base", "--octopus", *sorted(bases))
    since = [f"^{common.decode().split()[0]}^@"] if code == 0 and common else []
    asked = "".join(f"{tip}\n" for tip in sorted(tips)).encode()
    words = ("rev-list", "--parents", *since, "--stdin")
    lines = view.text(*words, stdin=asked, seconds=LONG_SECONDS).splitlines()
    return {commit: own for commit, *own in (line.split(" ") for line in lines)}


def own_base(parents: Mapping[str, Sequence[str]], base: str, tip: str, project: str) -> str:
    """Return the commit against which a task's change is told.

    That is where its branch began, or the newest commit on the project's own line that the branch
    has taken in since. Where the branch is on that line itself, the base stays.
    """
    inside = _ancestors(parents, tip)
    at: str | None = project
    while at and at not in inside:
        at = next(iter(parents.get(at, ())), None)
    if not at or at == tip or base not in _ancestors(parents, at):
        return base
    return at


def _ancestors(parents: Mapping[str, Sequence[str]], commit: str) -> set[str]:
    found, left = set[str](), [commit]
    while left:
        at = left.pop()
        if at in parents and at not in found:
            found.add(at)
            left += parents[at]
    return found


def _numbers(view: View, pairs: Mapping[str, tuple[str, str]], state: str) -> Mapping[str, str]:
    """Return for each task the lines that its change adds and takes away, file by file.

    What lies below the folder `state` is no task's work.
    """
    asked = "".join(f"{tip} {base}\n" for tip, base in pairs.values()).encode()
    words = ("diff-tree", "--stdin", "--always", "-r", "--numstat", "--no-renames", "--no-ext-diff")
    text = named(view.raw(*words, "--no-textconv", stdin=asked, seconds=LONG_SECONDS))
    changes: list[list[str]] = []
    for line in text.splitlines():
        if "\t" not in line:  # the commit's own line begins the answer to one question
            changes.append([])
        elif not line.split("\t", 2)[2].strip('"').startswith(state):
            changes[-1].append(line)
    return {task: _stat(own) for task, own in zip(pairs, changes, strict=True) if own}


def _stat(lines: Sequence[str]) -> str:
    """Return the change as people read it: a line for each file, and the sum."""
    rows = [line.split("\t", 2) for line in lines if line.count("\t") >= 2]
    added = sum(int(row[0]) for row in rows if row[0].isdecimal())
    removed = sum(int(row[1]) for row in rows if row[1].isdecimal())
    shown = [f"{_count(plus)} {_minus(minus)}  {printable(name)}" for plus, minus, name in rows]
    more = [f"… and {len(rows) - MOST_FILES} more files"] if len(rows) > MOST_FILES else []
    files = "1 file" if len(rows) == 1 else f"{len(rows)} files"
    return "\n".join([*shown[:MOST_FILES], *more, f"{files}, +{added} -{removed}"])


def _count(number: str) -> str:
    return f"{'+' + number if number.isdecimal() else 'binary':>6}"


def _minus(number: str) -> str:
    return f"{'-' + number if number.isdecimal() else '':>6}"


def gather(
    workspace: Workspace,
    database: Database | None,
    shown: ShownProject,
    batch: Batch | None,
    *,
    now: float,
) -> Facts:
    """Return all that a report of a batch or of a project is made of. Raises QueueError."""
    notes: list[str] = []

    def tell(error: DamagedRecord) -> None:
        notes.append(error.message)

    found, items, made = NOTHING, frozenset[str](), dict[int, float]()
    if database is not None:
        made = batches.beginnings(database, shown.id)
        number = batch.id if batch is not None else None
        found = read_records(database, shown.id, number, now=now, on_damaged=tell)
        if batch is not None:
            items = frozenset(item.task_id for item in batches.items_of(database, batch.id))
    notes += [fault.message for fault in shown.faults]
    wanted = [task for task in shown.tasks if batch is None or task.id in items]
    return Facts(
        project_id=shown.id,
        project_name=shown.name,
        batch=batch,
        items=items,
        batches=made,
        tasks=shown.tasks,
        records=found,
        logs=_logs(shown.places, [task.id for task in wanted], notes),
        stats=_stats(workspace, shown, wanted, notes),
        notes=tuple(dict.fromkeys(notes)),
        now=now,
    )


def _logs(
    places: Sequence[TaskPlace], wanted: Sequence[str], notes: list[str]
) -> Mapping[str, Log]:
    """Return the end of each task's log."""
    logs: dict[str, Log] = {}
    asked = set(wanted)
    room = MOST_TEXT
    for place in places:
        if place.task_id not in asked:
            continue
        try:
            entries = read_entries(place.log)
        except NotAFile as error:
            notes.append(error.message)
            continue
        kept = entries[-MOST_ENTRIES:]
        notes_of = []
        for entry in kept:
            text = _cut(entry.text) if room > 0 else ""
            room -= len(text) + len(entry.action)
            notes_of.append(
                LogNote(
                    at=entry.timestamp,
                    agent=entry.agent,
                    action=_cut(entry.action),
                    result=_cut(entry.result),
                    text=text,
                )
            )
        logs[place.task_id] = Log(tuple(notes_of), len(entries) - len(kept))
    return logs


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} …"


def _stats(
    workspace: Workspace, shown: ShownProject, tasks: Sequence[Task], notes: list[str]
) -> Mapping[str, str]:
    """Return what each task has changed, where it has a branch of its own."""
    if shown.project is None:
        return {}
    try:
        return stats_of(workspace, shown.project, tasks)
    except (SowError, OSError) as error:
        notes.append(f"what tasks have changed cannot be told: {error}")
        return {}
