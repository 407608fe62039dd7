"""`sow status` and `sow next`: where the project stands, on one screen, and what to do next.

Owns what an agent is shown that does not lead the project: what it may do itself. Which
one it is, its job's record says, as it does where a command is refused.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from sow import env_vars
from sow.cli import late_click as click
from sow.cli.arguments import this_caller
from sow.cli.confirming import is_at_terminal
from sow.cli.output import echo_json, echo_json_lines, json_option, shown_state, terminal_size
from sow.clock import ago, format_duration, parse_time, utc_now
from sow.errors import StateError
from sow.schema.job import Verb
from sow.schema.kinds import KINDS, SessionUse
from sow.schema.output.hosts import SilentHost
from sow.schema.output.situation import BatchRun, RunningJob, Status, StepView, Wait
from sow.situation.looking import look
from sow.situation.next_steps import next_steps
from sow.situation.situation import Reader, Situation
from sow.situation.step import Step, in_a_line
from sow.situation.view import status_of, step_view
from sow.terminal_text import printable

Paint = Callable[[str], str]
LEAST_ROWS = 3
"""How many rows of each part are shown on the smallest terminal."""
LEAST_WHY = 12
"""A reason of which less fits is left out: the command beside it matters more."""
MORE = "…"
NO_FOLDER = "sow init"
"""What the error names that is raised where there is no `.sow` folder."""


def look_here(*, closely: bool = False) -> Situation:
    """Return how things stand where this command is called, by `look`."""
    if env_vars.JOB_ID in os.environ:
        from sow.calls.recorded_agent import agent_by_record  # of agents alone

        agent_by_record(os.environ)
    try:
        caller = this_caller()
    except StateError as error:
        if NO_FOLDER in (error.hint or ""):
            return Situation(reader=Reader())
        raise
    return look(caller, is_at_terminal=is_at_terminal(), closely=closely)


def steps_here(now: Situation) -> Sequence[Step]:
    """Return what comes next for whoever calls."""
    if env_vars.JOB_ID not in os.environ:
        return next_steps(now)
    from sow.agents.rights import calling_agent  # of agents alone

    agent = calling_agent(os.environ)
    if agent is None or agent.orchestrates:
        return next_steps(now)
    from sow.situation.project_steps import own_steps  # likewise

    own = next((task for task in now.tasks if task.id == agent.task_id), None)
    is_step = agent.role == env_vars.STEP_ROLE
    return [] if own is None or is_step else own_steps(own, reviews=agent.reviews)


@click.command("next")
@json_option
def show_next(as_json: bool) -> None:
    """Print what to do next, one command a line, the most sensible first.

    Run the first command, then run `sow next` again. Replace each <…>; the text
    after # is the reason. A line that begins with # is for a person: ask one to
    run its command in a terminal.
    """
    steps = steps_here(look_here())
    if as_json:
        echo_json_lines(map(step_view, steps))
        return
    for step in steps:
        click.echo(printable(in_a_line(step)))


class Room(Struct, frozen=True):
    """How much fits; None is room for all."""

    columns: int | None
    lines: int | None


class Part(Struct, frozen=True):
    """A part of the screen: its heading, its rows, and the command that has all of them."""

    heading: str
    rows: Sequence[str]
    elsewhere: str


def screen(status: Status, room: Room, *, at: float, paint: Paint) -> Iterator[str]:
    """Yield the lines of the screen. `at` is the time, in seconds since the epoch."""
    head = [_cut(line, room.columns) for line in _head(status, at, paint)]
    parts = [part for part in _parts(status, room, at) if part.rows]
    yield from head
    shares = _shares([len(part.rows) for part in parts], _left(room, head, parts))
    for part, share in zip(parts, shares, strict=True):
        yield ""
        yield part.heading
        yield from fitting(part, share, room.columns)


def _left(room: Room, head: Sequence[str], parts: Sequence[Part]) -> int | None:
    """Return how many rows fit below all headings, with a line left for the shell's prompt."""
    return None if room.lines is None else room.lines - len(head) - 2 * len(parts) - 1


def _shares(wanted: Sequence[int], left: int | None) -> Sequence[int]:
    """Return how many rows each part gets: first a few for each, then what is left in turn."""
    if left is None or sum(wanted) <= left:
        return wanted
    shares = [min(count, LEAST_ROWS) for count in wanted]
    while sum(shares) < left:
        open_parts = [part for part, count in enumerate(wanted) if shares[part] < count]
        shares[min(open_parts, key=lambda part: shares[part])] += 1
    return shares


def fitting(part: Part, share: int, columns: int | None) -> Iterator[str]:
    """Yield the rows of a part that fit; the last of them counts those that do not."""
    cut = len(part.rows) > share
    shown = part.rows[: share - 1] if cut else part.rows
    for row in shown:
        yield _cut(row, columns)
    if cut:
        yield f"  {MORE} and {len(part.rows) - len(shown)} more: {part.elsewhere}"


def _cut(line: str, columns: int | None) -> str:
    """Return a line as far as it fits; it is cut between words unless that costs half of it.

    Colours take no room, and are let through.
    """
    if columns is None or "\x1b" in line or len(line) <= columns:
        return line
    words = line[: columns - 1].rpartition(" ")[0].rstrip(" #")
    return f"{words} {MORE}" if len(words) > columns // 2 else line[: columns - 1] + MORE


def _head(status: Status, at: float, paint: Paint) -> Iterator[str]:
    for fault in status.faults:
        yield f"{paint('error')}: {printable(fault.message)}"
    if status.root is None:
        yield "There is no .sow folder here, nor above."
        return
    if status.project is None:
        yield from _without_project(status, at)
        return
    rounds = f", iteration {status.iteration}" if (status.iteration or 1) > 1 else ""
    branch = f", on {printable(status.branch)}" if status.branch else ""
    name = printable(status.name or "")
    yield f"{name}: {status.type} project, {status.state}{rounds}{branch}"
    if status.description:
        yield printable(status.description.strip().partition("\n")[0])
    if status.end_asked_for:
        yield f"It is to be {status.end_asked_for}; a worker does this."
    way = " > ".join(f"[{word}]" if word == status.state else word for word in status.states)
    yield f"State:    {way}"
    yield from _phases(status)
    yield f"Tasks:    {_counts(status, paint)}"
    yield from _approvals(status, at)
    yield from _event(status)


def _without_project(status: Status, at: float) -> Iterator[str]:
    branch = f" on {printable(status.branch)}" if status.branch else ""
    if not status.faults:
        yield f"There is no project{branch}."
    if status.last_project is not None:
        when = ago(parse_time(status.last_project.at), at)
        name, how = printable(status.last_project.name), status.last_project.how
        yield f"The last one, {name}, was {how} {when} ({printable(status.last_project.folder)})."


def _phases(status: Status) -> Iterator[str]:
    if len(status.phases) < 2:
        return
    words = []
    for phase in status.phases:
        done = sum(phase.tasks_by_status.get(word, 0) for word in ("completed", "abandoned"))
        finished = (
            "finished" if phase.is_finished else f"{done}/{sum(phase.tasks_by_status.values())}"
        )
        words.append(f"{phase.phase} {finished}")
    yield f"Phases:   {', '.join(words)}"


def _counts(status: Status, paint: Paint) -> str:
    whole = sum(count for word, count in status.tasks_by_status.items() if word != "ready")
    if not whole:
        return "none yet"
    ready = status.tasks_by_status.get("ready")
    words = [
        f"{count} {paint(word)}{f' ({ready} ready)' if word == 'pending' and ready else ''}"
        for word, count in status.tasks_by_status.items()
        if word != "ready"
    ]
    return f"{whole}: {', '.join(words)}"


def _approvals(status: Status, at: float) -> Iterator[str]:
    if not status.approvals:
        return
    lacking = [found.what for found in status.approvals if not found.is_approved]
    given = [
        f"{found.what} by {found.by} {ago(parse_time(found.at), at)}"
        for found in status.approvals
        if found.is_approved and found.at
    ]
    missing = f"{'; ' if given else ''}not yet {', '.join(lacking)}" if lacking else ""
    yield f"Approved: {printable(', '.join(given) + missing)}"


def _event(status: Status) -> Iterator[str]:
    """Yield what the next event waits for, a line for each condition."""
    if status.event is None:
        return
    if not status.unmet:
        yield f"To come:  {status.target}: all conditions are met"
    for number, unmet in enumerate(status.unmet):
        label = f"{'':10}and " if number else f"To come:  {status.target}, once "
        yield f"{label}{unmet.sentence}"


def _parts(status: Status, room: Room, at: float) -> Sequence[Part]:
    rows = [*map(_batch, status.batches), *map(run_row, status.runs)]
    return (
        Part("Silent hosts", _silent(status.silent_hosts, at), "sow hosts list"),
        Part("Runs", rows, "sow job list --active"),
        Part("Waits for", _waits(status.waits), "sow status --json"),
        Part("Next", [_step(step, room.columns) for step in status.next], "sow next"),
    )


def _batch(batch: BatchRun) -> str:
    counts = ", ".join(f"{count} {state}" for state, count in batch.counts.items())
    name = f" {printable(batch.name)}" if batch.name else ""
    why = f" ({printable(batch.reason)})" if batch.reason else ""
    return f"  batch {batch.batch}{name}: {batch.state}{why}: {counts}"


def _silent(hosts: Sequence[SilentHost], at: float) -> Sequence[str]:
    """Return the rows of hosts that are not heard any more."""
    if not hosts:
        return ()
    from sow.reports.live_job_words import silence_of  # of queues that several share

    return [f"  {printable(silence_of(host, at))}" for host in hosts]


def run_row(run: RunningJob) -> str:
    """Return the row of a job that runs."""
    about = ", ".join(run.tasks) or "project"
    begins = KINDS[Verb(run.verb)].session is SessionUse.BEGINS  # what goes without saying
    who = " ".join(filter(None, ("" if begins else run.verb, run.agent or "")))
    quiet = f"quiet {format_duration(run.quiet_seconds)}" if run.quiet_seconds is not None else ""
    doing = ", ".join(filter(None, (printable(run.doing), quiet)))
    took = format_duration(run.seconds)
    return f"  {about:<4} {who:<13} {took:>7}  {doing}".rstrip()


def _waits(waits: Sequence[Wait]) -> Sequence[str]:
    return [f"  {wait.on:<10} {wait.what:<5} {printable(wait.why)}".rstrip() for wait in waits]


def _step(step: StepView, columns: int | None) -> str:
    asked = "" if step.by == "you" else "# a person: "
    command = f"  {asked}{printable(step.command)}"
    if columns is not None and len(command) + LEAST_WHY > columns:
        return command
    return f"{command}  # {printable(step.why)}"


@click.command()
@json_option
def status(as_json: bool) -> None:
    """Show where the project stands, what runs, what waits for whom, and what to do next.

    On a terminal it shows as much as fits; `sow task list`, `sow job list` and
    `sow next` show the rest. What cannot be read is named, and the rest is shown.
    """
    now, at = look_here(closely=True), utc_now()
    found = status_of(now, steps_here(now), at=at)
    if as_json:
        echo_json(found)
        return
    for line in screen(found, _room(), at=at, paint=shown_state):
        click.echo(line)


def _room() -> Room:
    """Return how much fits on the terminal; what is no terminal has room for all."""
    size = terminal_size(sys.stdout)
    return Room(columns=size.columns or None, lines=size.lines or None)
