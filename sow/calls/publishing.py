"""The work units of a breakdown as issues of GitHub, each once.

Owns the order: what is on record, what GitHub has already, then what is missing, each put on
record before the next is made. Whoever is killed between an issue and its record finds the issue
again by the marker at its end, if somebody has opened it who may. Whoever publishes from another
checkout at the same moment is found behind one's own issue: the first of the two stays.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from sow.clock import format_time
from sow.errors import StateError
from sow.files import NotWritten, read_regular
from sow.files.flock import open_lock_file, try_lock
from sow.github.answers import Issue, User
from sow.github.quoting import LONGEST_BODY, fitting, inert_markdown
from sow.github.requests import Place, create_issue, issues_since, own_login, withdraw_issue
from sow.jobs.private_folders import make_private
from sow.paths import Workspace
from sow.schema.project import Project
from sow.schema.task import Task
from sow.state.artifacts import LARGEST
from sow.state.places import find_task
from sow.state.tasks import change_task
from sow.state.units import ISSUE, path_of

MARK = re.compile(r"<!-- sow:unit (?P<project>[0-9a-f-]{36})/(?P<task>[0-9]{3,}) -->")
TRUSTED = ("OWNER", "MEMBER", "COLLABORATOR")
"""Whose issues may be taken for ours, besides those of the account that asks."""
COMES_AFTER = "Comes after "
LOCK = "publishing.lock"
DAY_SECONDS = 86_400.0
"""So far may this machine's clock be ahead of GitHub's."""


class UnitIssue(msgspec.Struct, frozen=True):
    """A unit, and the issue that it is."""

    unit: str
    number: int
    url: str
    is_new: bool


def publish_issues(
    workspace: Workspace,
    place: Place,
    project: Project,
    units: Sequence[Task],
    *,
    labels: Sequence[str],
    now: float,
) -> Iterator[UnitIssue]:
    """Have an issue for each unit, and yield them; a unit comes after those it depends on.

    Raises StateError, and what `gh` raises; what was yielded stands.
    """
    with _alone(workspace) as held:
        known = {unit.id: number for unit in units if (number := number_on_record(unit, place))}
        missing = [unit for unit in units if unit.id not in known]
        there = _made_since(place, project, project.created_at.timestamp()) if missing else {}
        numbers: dict[str, int] = dict(known)
        for unit in _in_order(units):
            if unit.id in known:
                address = issue_address(place, known[unit.id])
                yield UnitIssue(unit.id, known[unit.id], address, is_new=False)
                continue
            found, made = there.get(unit.id, ()), None
            if not found:
                body = _body(workspace, project, unit, numbers)
                made = create_issue(place, unit.name, body, labels, held)
                there = {**there, **_made_since(place, project, now)}
                found = _with(there.get(unit.id, ()), made)
            issue = found[0]
            _withdraw(place, found, made)
            is_new = made is not None and issue.number == made.number
            address = issue_address(place, issue.number)
            _record(workspace, unit, address, now=now)
            numbers[unit.id] = issue.number
            yield UnitIssue(unit.id, issue.number, address, is_new=is_new)


def number_on_record(task: Task | Project, place: Place) -> int | None:
    """Return the number of the issue that a task, or a project, is said to be in a repository."""
    found = re.fullmatch(
        rf"{re.escape(place.url)}/issues/([1-9][0-9]*)", str(task.metadata.get(ISSUE, ""))
    )
    return int(found[1]) if found else None


def _record(workspace: Workspace, unit: Task, address: str, *, now: float) -> None:
    change_task(workspace, unit.id, lambda _: {f"metadata.{ISSUE}": address}, now=now)


def issue_address(place: Place, number: int) -> str:
    """Return the address of an issue, as it is put on record."""
    return f"{place.url}/issues/{number}"


def _with(found: Sequence[Issue], made: Issue) -> Sequence[Issue]:
    """Return the issues of a unit by their numbers, our new one among them."""
    others = [issue for issue in found if issue.number != made.number]
    return sorted([*others, made], key=lambda issue: issue.number)


def _withdraw(place: Place, found: Sequence[Issue], made: Issue | None) -> None:
    """Close what is one too many of a unit's issues, for the first of them stays.

    Whoever publishes from another checkout looks behind an issue of its own too, so that the later
    one sees the other. Besides our new one it is what a killed call of this account has left:
    nobody has touched it, and it says what the first one says.
    """
    if len(found) < 2:
        return
    first, login = found[0], own_login(place)
    for issue in found[1:]:
        is_new = made is not None and issue.number == made.number
        if is_new or (_is_left(issue, first) and issue.user == User(login or "")):
            words = f"Opened at the same time as #{first.number}, which stays."
            withdraw_issue(place, issue.number, words)


def _is_left(issue: Issue, first: Issue) -> bool:
    is_same = issue.title == first.title and _words(issue) == _words(first)
    return is_same and issue.state == "open" and issue.comments == 0


def _words(issue: Issue) -> list[str]:
    """Return the text of an issue but for the numbers that it comes after."""
    lines = (issue.body or "").splitlines()
    return [line.strip() for line in lines if not line.startswith(COMES_AFTER)]


def _made_since(place: Place, project: Project, at: float) -> Mapping[str, Sequence[Issue]]:
    """Return the issues of this project that have changed since a time, by their units.

    Anybody may copy a marker: an issue counts that somebody has opened who may write to the
    repository, or the account that asks. Those of a unit come by their numbers.
    """
    since = format_time(at - DAY_SECONDS)
    found = sorted(issues_since(place, since), key=lambda issue: issue.number)
    marked = [(issue, mark) for issue in found if (mark := _mark_of(issue)) is not None]
    ours = [(issue, mark["task"]) for issue, mark in marked if mark["project"] == project.id]
    if not ours:
        return {}
    is_asked = any(issue.author_association not in TRUSTED for issue, _ in ours)
    login = own_login(place) if is_asked else None
    result: dict[str, list[Issue]] = {}
    for issue, task in ours:
        is_own = issue.user is not None and issue.user.login == login
        if issue.author_association in TRUSTED or is_own:
            result.setdefault(task, []).append(issue)
    return result


def _mark_of(issue: Issue) -> "re.Match[str] | None":
    """Return the marker that an issue ends with; one within its text was quoted by somebody."""
    lines = (issue.body or "").rstrip().splitlines()
    return MARK.fullmatch(lines[-1].strip()) if lines else None


def _body(workspace: Workspace, project: Project, unit: Task, numbers: Mapping[str, int]) -> str:
    """Return what an issue says: the unit's description, what comes first, and the marker."""
    try:
        words = read_regular(find_task(workspace, unit.id).description, LARGEST)
    except FileNotFoundError:
        words = b""
    first = ", ".join(f"#{numbers[other]}" for other in unit.depends_on if other in numbers)
    end = [
        "---",
        *([f"{COMES_AFTER}{first}."] if first else []),
        f"Unit {unit.id}, for the role {unit.assigned_agent}; `{path_of(project, unit)}`",
        "",
        f"<!-- sow:unit {project.id}/{unit.id} -->",
    ]
    behind = "\n".join(end)
    text = inert_markdown(words.decode("utf-8", "replace").strip())
    text = fitting(text, LONGEST_BODY - len(behind) - 2)
    return f"{text}\n\n{behind}"


def _in_order(units: Sequence[Task]) -> list[Task]:
    """Return the units so that each comes after those it depends on; there is no circle."""
    by_id = {unit.id: unit for unit in units}
    placed: dict[str, Task] = {}

    def visit(unit: Task, above: frozenset[str]) -> None:
        for other in unit.depends_on:
            if other in by_id and other not in placed and other not in above:
                visit(by_id[other], above | {unit.id})
        placed.setdefault(unit.id, unit)

    for unit in units:
        visit(unit, frozenset())
    return list(placed.values())


@contextmanager
def _alone(workspace: Workspace) -> Iterator[int]:
    """Be the only one who publishes from this workspace, and yield what holds that.

    Whoever is killed while `gh` makes an issue leaves the lock to that `gh`: the next one would
    not find the issue yet. Raises StateError, NotWritten.
    """
    path: Path = workspace.run / LOCK
    try:
        make_private(workspace.run, below=workspace.sow)
        descriptor = open_lock_file(path)
    except OSError as error:
        raise NotWritten(path, error) from error
    try:
        if not try_lock(descriptor):
            raise StateError(
                "another process is publishing from this folder",
                hint="Wait until it has ended, then run the command again. sow publishes"
                " nothing twice.",
                passes=True,
            )
        yield descriptor
    finally:
        os.close(descriptor)
