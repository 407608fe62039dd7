"""What to do next, as commands: the most sensible first, each right at the moment it is named.

Pure. Owns their order. What a task needs that stands so, and what the lifecycle
lacks, are `sow.lifecycle`'s; what a batch wants and what runs, `batch_steps` and
`job_steps`.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path

from msgspec import UNSET

from sow.errors import ConfigurationError, QueueError, SowError
from sow.features import FEATURES
from sow.files import NotAFile, read_regular
from sow.ids import TaskId
from sow.lifecycle import guards, merge_ways, task_ways
from sow.lifecycle.lifecycle_facts import Facts, Remedy
from sow.lifecycle.project_verdict import REVIEW
from sow.lifecycle.refusal_steps import renamed_branch
from sow.lifecycle.stages import COMPLETED
from sow.lifecycle.types import Refusal, awaited_event, left_undone, obvious_event, refusals
from sow.schema.config import ApproveRule
from sow.schema.project import Ending, EndingWord
from sow.situation import job_steps
from sow.situation.program_steps import with_programs
from sow.situation.project_steps import (
    answers_about_whole,
    ends_with_job,
    leader,
    of_leader,
    own_report,
)
from sow.situation.refused_now import instead
from sow.situation.situation import Ended, Situation
from sow.situation.step import EDITOR, PERSONS_WORD, RESTORE, Step, addressed
from sow.state.state_errors import MissingState, ProjectWithoutState

MARK = b"<<<<<<< "
"""How git begins what one side has."""
LARGEST = 1 << 20
STATE = "state.yaml"
CONFLICT = "git has left the marks of a conflict in it: `sow validate` says what `--fix` can solve"
ABOUT_TASKS = (guards.TASKS_ENDED, guards.MERGED)
READ_ALL = (*PERSONS_WORD, REVIEW, guards.CHECK)
"""What is refused while a state or the settings cannot be read."""


def repairs(now: Situation) -> Iterator[Remedy]:
    """Yield what repairs each file that cannot be read."""
    if not now.errors:
        return
    from shlex import quote  # nearly always all can be read

    for error in now.errors:
        if isinstance(error, MissingState | ProjectWithoutState):
            yield _without_state(error)
            continue
        path = file_of(error)
        if path is not None:
            why = CONFLICT if _has_marks(path) else in_short(error)
            yield Remedy(f"{EDITOR} {quote(os.path.relpath(path))}", why)
        elif isinstance(error, ConfigurationError):
            yield Remedy("sow config edit", in_short(error))
        elif isinstance(error, QueueError):
            yield Remedy(error.repair or "sow doctor", in_short(error))


def _without_state(error: MissingState | ProjectWithoutState) -> Remedy:
    """Return what brings a missing `state.yaml` back, else what takes its folder out of the way."""
    from shlex import quote  # as above

    is_project = isinstance(error, ProjectWithoutState)
    folder = error.path if is_project else error.path.parent
    state = quote(os.path.relpath(folder / STATE))
    whose = "the project" if is_project else f"task {folder.name}"
    if _is_committed(folder):
        why = f"the state.yaml of {whose} is gone, and the last commit has it"
        return Remedy(f"{RESTORE} {state}", why)
    above = folder.parent if is_project else folder.parents[3] / "context"
    target = _free_name(above / f"{folder.name}-without-state")
    room = "" if above.is_dir() else f"mkdir -p {quote(os.path.relpath(above))} && "
    named = f"{quote(os.path.relpath(folder))} {quote(os.path.relpath(target))}"
    why = f"the state.yaml of {whose} is gone, and no commit has it; what is left stays to be read"
    return Remedy(f"{room}mv {named}", why)


def _is_committed(folder: Path) -> bool:
    """Whether the last commit has the `state.yaml` of a folder."""
    from sow.git.run import git_answer  # as above

    try:
        return git_answer(folder, "cat-file", "-e", f"HEAD:./{STATE}")[0] == 0
    except SowError:
        return False


def _free_name(target: Path) -> Path:
    return next(
        found
        for number in count(1)
        if not os.path.lexists(
            found := target if number == 1 else target.with_name(f"{target.name}-{number}")
        )
    )


def _has_marks(path: Path) -> bool:
    """Whether git has left the marks of a conflict in a file, so that it is no YAML."""
    try:
        return any(line.startswith(MARK) for line in read_regular(path, LARGEST).splitlines())
    except (OSError, NotAFile):
        return False


def file_of(error: SowError) -> Path | None:
    """Return the file that is at fault, where it is one that can be edited."""
    path = getattr(error, "path", None)
    return path if isinstance(path, Path) and path.name.endswith(".yaml") else None


def in_short(error: SowError) -> str:
    """Return what is wrong, in a line."""
    return " ".join(error.message.split())


def next_steps(now: Situation) -> list[Step]:
    """Return the commands that bring the project on."""
    found = _each_once(_steps(now)) or _each_once(job_steps.held(now)) or own_report(now)
    found = _each_once(with_programs(_with_features(found, now), now))
    found = _each_once(step for remedy in found for step in instead(remedy, now.refused))
    steps = [addressed(remedy, now.reader) for remedy in found]
    return [*steps, *job_steps.pause_of_asker(now, steps)]


def _with_features(found: Sequence[Remedy], now: Situation) -> Sequence[Remedy]:
    """Return commands as the features allow them that have settings."""
    for feature in FEATURES:
        if feature.key in now.queue.features:
            allowed = feature.part("steps").allowed
            found = list(allowed(found, now, now.queue.features[feature.key]))
    return found


def _each_once(found: Iterable[Remedy]) -> list[Remedy]:
    """Return commands without those that were named before, for whatever reason."""
    by_command: dict[str, Remedy] = {}
    for remedy in found:
        by_command.setdefault(remedy.command, remedy)
    return list(by_command.values())


def _steps(now: Situation) -> Iterator[Remedy]:
    if now.workspace is None:
        yield Remedy("sow init", "there is no .sow folder here")
        return
    yield from repairs(now)
    if now.queue.is_unreadable:
        return  # whatever starts, stops or judges a job would be refused
    yield from _branch_of(now)
    if now.project is None or now.facts is None:
        if not now.has_project:
            if now.mixed:
                why = f"git has mixed another project into {now.mixed}, an ended one"
                yield Remedy("sow validate", why)
            yield Remedy('sow project new "<name>"', _why_none(now.ended))
            if now.ended is not None and now.ended.units:
                command = f'sow project new "<name>" --from-breakdown {now.ended.units}'
                yield Remedy(command, "or this, and its work units are the first tasks")
    elif now.project.ending is not UNSET:
        yield from _ended(now, now.project.ending)
    elif now.facts.state == COMPLETED:
        yield from _completed(now, now.facts)
    else:
        yield from _in_progress(now, now.facts)


def _branch_of(now: Situation) -> Iterator[Remedy]:
    """Yield what gives a project its branch again, which somebody has renamed or removed."""
    if now.has_lost_branch and now.project is not None and now.project.ending is UNSET:
        yield renamed_branch(str(now.project.branch), now.branch)


def _why_none(ended: Ended | None) -> str:
    """Return why there is no project: there never was any here, or it has ended."""
    if ended is None:
        return "there is no project on this branch"
    commit = "" if ended.is_committed else f": commit {ended.folder}"
    return f"{ended.name} is {ended.how}{commit}; this begins another"


def _ended(now: Situation, ending: Ending) -> Iterator[Remedy]:
    """Yield what follows an end that is on record; whoever was to carry it out may have died."""
    if now.reader.job is not None:
        yield from ends_with_job(now)
    elif now.queue.live:
        yield from job_steps.ended(now)
    else:
        verb = "finish" if ending.how is EndingWord.FINISHED else "abandon"
        remove = " --remove" if ending.remove else ""
        yield Remedy(f"sow project {verb}{remove}", "its end is recorded, and not yet carried out")


def _completed(now: Situation, facts: Facts) -> Iterator[Remedy]:
    if now.queue.live and now.reader.job is None:
        yield from job_steps.ended(now)
    elif undone := left_undone(facts):
        yield from (remedy for refusal in undone for remedy in refusal.remedies)
    else:
        yield Remedy("sow project finish", "the project is completed")
    yield from _left_over(facts)


def _in_progress(now: Situation, facts: Facts) -> Iterator[Remedy]:
    yield from job_steps.unblocked(now)
    yield from job_steps.owed(now)
    if job_steps.is_led_by_agent(now):
        yield from job_steps.waits(now)
        return
    lead = leader(now)
    if lead is not None:
        yield from _approvals(now, facts)
        yield of_leader(lead, now.queue.last.get(TaskId(lead.id)))
        yield from _left_over(facts)
        return
    event = obvious_event(facts)
    if event is not None and not now.errors and not now.queue.live:
        yield from merge_ways.merges(facts.tasks)
        yield Remedy("sow advance", f"all conditions for {event.target} are met")
    unmet = _unmet(facts)
    yield from answers_about_whole(now)
    if job_steps.holds_spawn(now):
        yield from job_steps.unaccepted(now)
    yield from _of_tasks(facts, unmet)
    yield from job_steps.unaccepted(now)
    yield from job_steps.of_batches(now, facts)
    yield from job_steps.waits(now)
    is_broken = any(repairs(now))
    for remedy in _of_guards(now, facts, unmet):
        if not (is_broken and remedy.command.startswith(READ_ALL)):
            yield remedy
    yield from _left_over(facts)
    yield from job_steps.in_doubt(now)


def _approvals(now: Situation, facts: Facts) -> Iterator[Remedy]:
    """Yield what a person has to approve that an orchestrator may be waiting for."""
    if now.configuration is None or now.configuration.approve is not ApproveRule.AGENTS:
        for remedy in _of_guards(now, facts, _unmet(facts)):
            if remedy.command.startswith(PERSONS_WORD):
                yield remedy


def _unmet(facts: Facts) -> Sequence[Refusal]:
    """Return the guards that keep the project from the event that it is on its way to."""
    event = awaited_event(facts)
    return refusals(event, facts) if event is not None else []


def _of_tasks(facts: Facts, unmet: Sequence[Refusal]) -> Iterator[Remedy]:
    """Yield what takes the tasks on, where the project's way leads over their end."""
    if any(refusal.guard in ABOUT_TASKS for refusal in unmet):
        yield from _together(facts)
    else:
        yield from task_ways.answers(facts.tasks)


def _left_over(facts: Facts) -> Iterator[Remedy]:
    """Yield what takes on the tasks that were begun, where the way does not lead over their end.

    They wait for somebody all the same: what was spawned before there was a plan, or a
    task that was reopened.
    """
    yield from task_ways.ways_of_begun(facts.tasks)


def _together(facts: Facts) -> Iterator[Remedy]:
    """Yield what takes the tasks on: where the team works in batches, what is ready as one."""
    ready = task_ways.ready_among(facts.tasks, facts.clones)
    for remedy in task_ways.ways_on(facts.tasks, facts.clones):
        if facts.has_batches and len(ready) > 1 and remedy.command.startswith("sow agent spawn "):
            yield Remedy("sow batch run", f"{len(ready)} tasks are ready; or one by one:")
        yield remedy


def _of_guards(now: Situation, facts: Facts, unmet: Sequence[Refusal]) -> Iterator[Remedy]:
    """Yield what meets the guards of the event that the project is on its way to.

    A plan that will change is not approved yet, and what runs is waited for once.
    """
    passed_over = {guard.name for guard in ABOUT_TASKS}
    if any(refusal.guard is guards.HAS_WORK for refusal in unmet):
        passed_over.add(guards.PLAN_APPROVED.name)
    waited = {remedy.command for remedy in task_ways.waits(facts.tasks)}
    for refusal in _checks_first(unmet):
        for remedy in () if refusal.guard.name in passed_over else refusal.remedies:
            if remedy.command not in waited and not job_steps.is_running(now, remedy.command):
                yield remedy


def _checks_first(unmet: Sequence[Refusal]) -> Sequence[Refusal]:
    """Return refusals with that of the checks before a review by an agent.

    A check costs less, and red work goes back in any case.
    """
    checks = [refusal for refusal in unmet if refusal.guard is guards.CHECKS_GREEN]
    if not any(remedy.command == REVIEW for refusal in unmet for remedy in refusal.remedies):
        return unmet
    return [*checks, *(refusal for refusal in unmet if refusal.guard is not guards.CHECKS_GREEN)]
