"""Writes docs/reference.md: `python tests/repository/reference.py`.

Every line of it is taken from the code: the commands from click's own objects,
the keys of `--json` from what `sow schema` prints, the columns from the
statements that make the queue's file. `test_reference.py` fails where the
committed page differs.
"""

import ast
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from inspect import cleandoc
from itertools import pairwise
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))

import click
import msgspec
from command_tree import COMMANDS

from sow.jobs.migrations import take_step
from sow.jobs.queue_form import FIRST_FORMAT, FORMAT
from sow.schema import job as records
from sow.schema.catalogue import ErrorView, outputs, printed_by
from sow.schema.job import JobState

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference.md"

INTRODUCTION = """# Reference

Commands, what they print for programs, the states of a job and the columns of the
queue's file. This page is written by `python tests/repository/reference.py` from the
code itself, and a test fails where it is not up to date. What the commands are for is
told in the [guide](guide.md).

- [Commands](#commands)
- [What `--json` prints](#what---json-prints)
- [Job states](#job-states)
- [The queue's file](#the-queues-file)
"""
JSON_INTRODUCTION = """Each command prints one object, or one a line. Every object of one name has
the same keys, and a key without a value is null, save where it says that it may be left out. Keys
may be added; none goes or changes its meaning. `sow schema` with the command's words
prints the same as JSON Schema.

Where a command fails it prints an `ErrorView`, in place of its result or after it, and
the words on standard error as without `--json`. Of several tasks, each that is refused
has such a line with its id.
"""
COLUMNS_INTRODUCTION = """`.sow/run/queue.db` is SQLite. It may be read at any time
(`sqlite3 -readonly`); only sow may write it. Times are seconds since
the epoch, and lists and objects are JSON. Besides these tables there are huey's own. The
file's form is {format} (`pragma user_version`).
"""
COLUMNS = {
    "job": {
        "id": "The job's number.",
        "project_id": "The project's id.",
        "task_id": "The task's id.",
        "phase": "The phase of the task.",
        "verb": "What was asked for.",
        "agent": "The role.",
        "executor_name": "The executor's name; the limit of each is counted by it.",
        "max_parallel": "How many jobs of the executor may run at once; null is no limit.",
        "executor": "The executor's settings, as they were when the job was placed.",
        "fresh": "Whether a new session was asked for.",
        "priority": "Jobs of a higher one start first.",
        "state": "Where the job stands (above).",
        "cause": "Why its last attempt ended.",
        "retry_at": "When it may go on; 0 where it waits for no time.",
        "warnings": "What a person should look at.",
        "denied_tools": "The tools that the agent asked for and did not get.",
        "cost_usd": "US dollars: the sum of what is known of its attempts (`spending`).",
        "cancel_requested_at": "When its end was asked for.",
        "caller": "The process that placed it.",
        "created_at": "When it was placed.",
        "queued_at": "When it was queued.",
        "started_at": "When a worker first took it.",
        "ended_at": "When it ended.",
        "queue_row": "Its row in huey's table, while it waits there.",
    },
    "job_history": {
        "job_id": "The job's number.",
        "project_id": "The project's id.",
        "task_id": "The task's id; empty for the project as a whole.",
        "batch": "The batch; null for none.",
        "verb": "What was asked for.",
        "agent": "The role; empty of a job without an agent.",
        "executor": "The executor's name; empty likewise.",
        "state": "Where the job stands, or how it ended.",
        "cause": "Why its last attempt ended.",
        "status": "The task's status when it ended.",
        "iteration": "The task's iteration, as it stood then.",
        "created_at": "When it was placed.",
        "ended_at": "When it ended; null before.",
        "since": "Since when it is in its state.",
        **{
            state: f"How many seconds it was {state}."
            for state in ("preparing", "queued", "running", "backoff", "parked", "held")
        },
    },
    "attempt": {
        "job_id": "The job's number.",
        "number": "Its number within the job, from 1.",
        "id": "Its id, the value of SOW_ATTEMPT_ID.",
        "worker_id": "The worker that started it.",
        "argv": "The command that was run.",
        "supervisor": "The process that runs it.",
        "session_id": "The session, as its CLI knows it.",
        "cause": "Why it ended.",
        "reason": "That in words.",
        "exit_code": "The exit code of the agent's own process.",
        "exit_signal": "The signal that ended that process.",
        "cpu_seconds": "Processor time.",
        "max_rss_kb": "The most memory that a process of it used, in KiB.",
        "created_at": "When it was put on record.",
        "started_at": "When its agent was started.",
        "ended_at": "When its end was judged.",
    },
    "lease": {
        "job_id": "The job that is held.",
        "worker_id": "The worker that holds it.",
        "token": "The fencing token: a write with an older one changes nothing.",
        "executor": "The executor's name; its limit counts these rows.",
        "taken_at": "When the worker took it.",
    },
    "fence": {"id": "Always 1.", "token": "The last fencing token that was given out."},
    "aside": {
        "id": "Its number.",
        "data": "A message of the queue that no job of ours belongs to.",
        "reason": "Why it was set aside.",
        "set_aside_at": "When.",
    },
    "control": {"name": "What is told, such as `paused_since`.", "value": "What is told of it."},
    "worker": {
        "id": "The worker's id: its lock and its log are named by it.",
        "process": "The worker's process.",
        "concurrency": "How many agents it may run at once.",
        "version": "The version of sow that it runs.",
        "background": "Whether it runs without a terminal.",
        "started_at": "When it was started.",
    },
    "notification": {
        "seq": "The change that it tells of.",
        "worker_id": "The worker that tells it.",
        "event": "The event that a command of the user's was told of.",
        "project": "The project's id; empty for none.",
        "task": "The task's id; empty for none.",
        "job": "The job's number; null for none.",
        "reason": "Why it does not count as delivered; empty where it does.",
        "began_at": "When it was put on record, just before its command was started.",
        "ended_at": "When the command ended, or was called uncertain; null before.",
        "state": "How the command ended; `running` before.",
    },
    "waiter": {
        "id": "The caller that waits; the bell it listens to is named by it.",
        "job_id": "The job that it waits for.",
        "on_behalf_of": "The job whose agent it is, which does not count against the limits then.",
        "created_at": "Since when it waits.",
    },
    "occupied": {
        "job_id": "A job that is about several tasks: its own, and these.",
        "project_id": "The project's id.",
        "task_id": "One of these tasks.",
        "is_live": "Whether the job has not ended; until then the task takes no other.",
    },
    "change": {
        "seq": "Its number, which only grows and is never given twice.",
        "at": "When it was made.",
        "project": "The project's id.",
        "task": "The task's id.",
        "job": "The job's number; null where it is of the task alone.",
        "batch": "The batch's number; null where it is of none.",
        "kind": "What happened.",
        "data": "More about it.",
    },
    "spending": {
        "cause": "Why the attempt ended; null of one of which that is not on record.",
        "job_id": "The job's number; it may have been pruned.",
        "number": "The attempt's number within the job.",
        "project_id": "The project's id.",
        "task_id": "The task's id.",
        "batch": "The batch's number; null where it is of none.",
        "agent": "The role.",
        "executor": "The executor's name.",
        "session_id": "The session, as its CLI knows it.",
        "began_at": "When its agent was started.",
        "ended_at": "When it ended; null while it goes on.",
        "input": "Tokens read anew; null, as the other three, where its output tells of none.",
        "output": "Tokens that the model wrote.",
        "cache_read": "Tokens that were read from the cache.",
        "cache_write": "Tokens that were read and put into the cache.",
        "usd": "US dollars; null where nobody can tell.",
        "is_estimate": "Whether something of the money is an estimate.",
        "is_partial": "Whether it was cut off before it told all.",
        "is_unpriced": "Whether it has used what nobody can tell the price of.",
        "models": "What was used of each model.",
        "totals": "What its last result told, of the run or of the whole session.",
        "share_usd": "US dollars that it has reserved of its budgets; null without a budget.",
        "share_tokens": "Tokens that it has reserved.",
        "share_time": "Seconds that it has reserved.",
    },
    "spent": {
        "scope": "What is summed up: executor, batch or project.",
        "name": "The executor's name, the batch's number, the project's id.",
        "usd": "US dollars that attempts have used that have ended, as far as that is known.",
        "tokens": "Tokens, of all four sorts.",
        "time": "Seconds.",
        "charged_usd": "What counts against a budget: the share, where the use is not known.",
        "charged_tokens": "The same of tokens.",
    },
    "budget_warning": {
        "scope": "Whose budget has warned: task, executor, batch or project.",
        "name": "The task's id, the executor's name, the batch's number, the project's id.",
        "measure": "What is limited: usd, tokens or time.",
        "total": "The figure that it warned of; each warns once.",
        "at": "When.",
    },
    "batch": {
        "id": "Its number.",
        "project_id": "The project's id.",
        "name": "What it was called; empty where it was given no name.",
        "selection": "Which tasks it was asked for: the same again is the same batch.",
        "policy": "What it does with each of them.",
        "state": "Running, paused, cancelled or over.",
        "reason": "Why it is paused.",
        "by_job": "The job whose agent made it; null where a person has.",
        "path_variable": "The PATH of whoever made it, on which its agents' programs are found.",
        "seen": "The newest change that all of it is known to have heeded.",
        "forgiven": "The newest job when a person resumed it last: no brake counts it.",
        "rests": "Whether nothing of it went on by itself when a worker looked last.",
        "made_at": "When it was made.",
        "ended_at": "When it ended; null while it goes on.",
    },
    "batch_item": {
        "batch_id": "The batch.",
        "project_id": "The project's id.",
        "task_id": "The task.",
        "state": "Where it was told to stand last, in a word of the batch.",
        "reason": "Why.",
        "refusal": "Why the next action could not be done; empty where it could.",
        "reached": "The budget that the last refusal was about, as JSON; null for another one.",
        "forgiven": "The newest job when a person said go on; -1 where nobody has.",
        "is_open": "Whether its batch goes on; until then no other takes the task.",
    },
    "merge_turn": {
        "project_id": "The project whose branch is merged into: one task at a time.",
        "batch_id": "The batch whose item has the turn.",
        "task_id": "Its task.",
    },
    "last_status": {
        "project": "The project's id.",
        "task": "The task's id.",
        "status": "The status of the task that was recorded last.",
        "iteration": "The iteration that was recorded last.",
        "file": "The version of the task's file that this was read from.",
    },
}
"""What the columns mean whose records say nothing of it."""
RECORDS = {
    "job": "Job",
    "attempt": "Attempt",
    "lease": "Lease",
    "worker": "WorkerRecord",
}
"""The struct of each table whose rows have one."""


def render() -> str:
    """Return the whole page."""
    parts = [
        INTRODUCTION,
        "## Commands\n",
        *_commands(),
        "## What `--json` prints\n",
        JSON_INTRODUCTION,
        _table(("command", "prints"), _outputs()),
        *_objects(),
        "## Job states\n",
        _table(("state", "ended", "meaning"), _states()),
        "## The queue's file\n",
        COLUMNS_INTRODUCTION.format(format=FORMAT),
        *_columns(),
    ]
    return "\n".join(parts)


def _commands() -> Iterator[str]:
    for words, command in COMMANDS.items():
        arguments = [_place(each) for each in command.params if isinstance(each, click.Argument)]
        yield f"### sow {' '.join(words)}\n"
        yield f"`{' '.join(('sow', *words, '[OPTIONS]', *arguments))}`\n"
        yield _paragraphs(cleandoc(command.help or ""))
        options = [each for each in command.params if isinstance(each, click.Option)]
        rows = [(f"`{_spelling(each)}`", each.help or "") for each in options]
        yield _table(("option", "meaning"), rows)


def _paragraphs(text: str) -> str:
    """Return a command's help as Markdown; what click is told to leave alone stays as it is."""
    shown = []
    for paragraph in text.strip().split("\n\n"):
        if paragraph.startswith("\b\n"):
            shown.append(f"```text\n{paragraph[2:]}\n```")
        else:
            shown.append(" ".join(paragraph.split()))
    return "\n\n".join(shown) + "\n"


def _place(argument: click.Argument) -> str:
    """Return how the usage line names an argument; the same with every version of click."""
    name = argument.metavar or (argument.name or "").upper()
    return name if argument.required or argument.metavar else f"[{name}]"


def _spelling(option: click.Option) -> str:
    names = ", ".join([*option.opts, *option.secondary_opts])
    value = option.metavar or option.type.name.split()[0].upper()
    return names if option.is_flag else f"{names} {value}"


def _outputs() -> Iterator[tuple[str, ...]]:
    for words in outputs():
        forms = printed_by(words)
        yield f"`sow {words}`", " or ".join(f"`{form.__name__}`" for form in forms)


def _objects() -> Iterator[str]:
    forms = dict.fromkeys(form for words in outputs() for form in printed_by(words))
    shapes: dict[str, Any] = {}
    for form in (*forms, ErrorView):
        shapes |= msgspec.json.schema(form)["$defs"]
    for name, shape in shapes.items():
        yield f"### {name}\n"
        yield f"{shape['description']}\n"
        required = shape.get("required", ())
        yield _table(
            ("key", "type", "meaning"),
            [
                (f"`{key}`", _type(about), _meaning(key, about, required))
                for key, about in shape["properties"].items()
            ],
        )


def _meaning(key: str, about: Mapping[str, Any], required: Iterable[str]) -> str:
    may_go = key not in required and "default" not in about
    return about["description"] + ("; may be left out" if may_go else "")


def _type(about: Mapping[str, Any]) -> str:
    if "$ref" in about:
        return f"`{about['$ref'].rpartition('/')[2]}`"
    if "anyOf" in about:
        return " or ".join(_type(each) for each in about["anyOf"])
    if about.get("type") == "array" and about.get("items"):
        return f"array of {_type(about['items'])}"
    return str(about.get("type", "any"))


def _states() -> Iterator[tuple[str, ...]]:
    words = _docstrings("JobState")
    for state in JobState:
        yield f"`{state}`", "yes" if state.is_final else "no", words[state.name]


def _docstrings(name: str) -> dict[str, str]:
    """Return the words below each member of a class of `sow.schema.job`."""
    tree = ast.parse(Path(records.__file__).read_text(encoding="utf-8"))
    (body,) = [
        each.body for each in tree.body if isinstance(each, ast.ClassDef) and each.name == name
    ]
    words: dict[str, str] = {}
    for member, after in pairwise(body):
        target = member.targets[0] if isinstance(member, ast.Assign) else None
        target = member.target if isinstance(member, ast.AnnAssign) else target
        if isinstance(target, ast.Name) and isinstance(after, ast.Expr):
            words[target.id] = " ".join(ast.literal_eval(after.value).split())
    return words


def _columns() -> Iterator[str]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute("create table task (id integer primary key)")  # huey's
        for number in range(FIRST_FORMAT, FORMAT + 1):
            take_step(connection, number)
        found = "select name from sqlite_master where type = 'table' order by rowid"
        for (table,) in connection.execute(found).fetchall():
            if table != "task" and not table.startswith("sqlite_"):
                yield f"### {table}\n"
                columns = connection.execute(f"pragma table_info({table})").fetchall()
                yield _table(("column", "type", "meaning"), _rows(table, columns))


def _rows(table: str, columns: Iterable[tuple[Any, ...]]) -> Iterator[tuple[str, ...]]:
    words = COLUMNS.get(table, {})
    if table in RECORDS:
        words = words | _docstrings(RECORDS[table])
    for _, name, kind, *_ in columns:
        yield f"`{name}`", kind, words.get(name, "")


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    cells = ((cell.replace("|", "\\|") for cell in line) for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
