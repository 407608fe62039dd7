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

from sow.jobs.database import FIRST_FORMAT, FORMAT
from sow.jobs.migrations import take_step
from sow.schema import job as records
from sow.schema.catalogue import ErrorView, outputs, printed_by
from sow.schema.job import JobState

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference.md"

INTRODUCTION = """# Reference

All commands, what they print for programs, the states of a job, and the columns of the
queue's file. `python tests/repository/reference.py` writes this page from the code, and a
test fails if it is out of date. The [guide](guide.md) says what the commands are for.

- [Commands](#commands)
- [What `--json` prints](#what---json-prints)
- [Job states](#job-states)
- [The queue's file](#the-queues-file)
"""
JSON_INTRODUCTION = """\
A command prints one object, or one object per line. Objects of one name always have the
same keys. A key without a value is null, unless its line says that it may be left out. Later
versions may add keys; they neither remove a key nor change its meaning. `sow schema` with
the command's words prints the same as JSON Schema.

A command that fails prints an `ErrorView`, in place of its result or after it. The error is
also on standard error, as without `--json`. With several tasks, each refused task has such
a line with its id.
"""
COLUMNS_INTRODUCTION = """\
`.sow/run/queue.db` is an SQLite file. You may read it at any time (`sqlite3 -readonly`);
only sow may write it. Times are seconds since the epoch. Lists and objects are JSON. The
file also has tables of huey. Its format is {format} (`pragma user_version`).
"""
COLUMNS = {
    "job": {
        "id": "The job's number.",
        "project_id": "The project's id.",
        "task_id": "The task's id.",
        "phase": "The phase of the task.",
        "verb": "What was asked for.",
        "agent": "The role.",
        "executor_name": "The executor's name. The limit `max_parallel` counts by it.",
        "max_parallel": "How many jobs of the executor may run at once; null means no limit.",
        "executor": "The executor's settings, as they were when the job was placed.",
        "fresh": "Whether a new session was asked for.",
        "priority": "Jobs with a higher priority start first.",
        "state": "The job's state (above).",
        "cause": "Why its last attempt ended.",
        "retry_at": "When it is tried again; 0 if it does not wait for a time.",
        "warnings": "What a person should look at.",
        "denied_tools": "The tools that were denied to the agent.",
        "cost_usd": "US dollars: the sum of the known costs of its attempts (`spending`).",
        "cancel_requested_at": "When somebody asked to cancel it.",
        "caller": "The process that made it.",
        "created_at": "When it was made.",
        "queued_at": "When it was queued.",
        "started_at": "When a worker first took it.",
        "ended_at": "When it ended.",
        "queue_row": "Its row in huey's table while it waits.",
        "lane": "What the limits go by. Of the waiting jobs with the same words here they allow"
        " either any or none.",
    },
    "job_history": {
        "job_id": "The job's number.",
        "project_id": "The project's id.",
        "task_id": "The task's id; empty for the project as a whole.",
        "batch": "The batch's number; null if none.",
        "verb": "What was asked for.",
        "agent": "The role; empty of a job without an agent.",
        "executor": "The executor's name; empty for a job without an agent.",
        "state": "The job's state.",
        "cause": "Why its last attempt ended.",
        "status": "The task's status when it ended.",
        "iteration": "The task's iteration when it ended.",
        "created_at": "When it was made.",
        "ended_at": "When it ended; null before that.",
        "since": "When it came into its state.",
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
        "session_id": "The id of the session in its CLI.",
        "cause": "Why it ended.",
        "reason": "The cause in words.",
        "exit_code": "The exit code of the agent's own process.",
        "exit_signal": "The signal that ended that process.",
        "cpu_seconds": "Processor time.",
        "max_rss_kb": "The largest memory of one of its processes, in KiB.",
        "created_at": "When it was recorded.",
        "started_at": "When its agent was started.",
        "ended_at": "When the cause of its end was found.",
    },
    "lease": {
        "job_id": "The job.",
        "worker_id": "The worker that runs it.",
        "token": "The fencing token: a write with an older token changes nothing.",
        "executor": "The executor's name. The limit of an executor counts these rows.",
        "taken_at": "When the worker took it.",
    },
    "fence": {"id": "Always 1.", "token": "The newest fencing token."},
    "aside": {
        "id": "Its number.",
        "data": "A message of the queue that belongs to no job of sow.",
        "reason": "Why it was set aside.",
        "set_aside_at": "When that was.",
    },
    "control": {
        "name": "The name of a value, such as `paused` (since when the queue is paused).",
        "value": "The value.",
    },
    "worker": {
        "id": "The worker's id; its lock and its log have this name.",
        "process": "The worker's process.",
        "concurrency": "How many agents it may run at once.",
        "version": "The version of sow that it runs.",
        "background": "Whether it runs without a terminal.",
        "started_at": "When it was started.",
    },
    "notification": {
        "seq": "The change that it reports.",
        "worker_id": "The worker that runs the command.",
        "event": "The event.",
        "project": "The project's id; empty if none.",
        "task": "The task's id; empty if none.",
        "job": "The job's number; null if none.",
        "reason": "Why it was not delivered; empty if it was.",
        "began_at": "When it was recorded, just before its command started.",
        "ended_at": "When the command ended, or became uncertain; null before that.",
        "state": "The result of the command; `running` before it ends.",
    },
    "waiter": {
        "id": "The id of a waiting call. Its FIFO has this name.",
        "job_id": "The job that it waits for.",
        "on_behalf_of": "The job whose agent made the call; meanwhile it uses no slot.",
        "created_at": "When the call began to wait.",
    },
    "occupied": {
        "job_id": "A job that is about several tasks.",
        "project_id": "The project's id.",
        "task_id": "One of its other tasks.",
        "is_live": "Whether the job has not ended. Until then the task accepts no other job.",
    },
    "change": {
        "seq": "Its number; numbers grow and are unique.",
        "at": "When it was made.",
        "project": "The project's id.",
        "task": "The task's id.",
        "job": "The job's number; null if it belongs to no job.",
        "batch": "The batch's number; null if it belongs to none.",
        "kind": "What happened.",
        "data": "More about it.",
    },
    "spending": {
        "cause": "Why the attempt ended; null if that is not recorded.",
        "job_id": "The job's number; the job may have been pruned.",
        "number": "The attempt's number within the job.",
        "project_id": "The project's id.",
        "task_id": "The task's id.",
        "batch": "The batch's number; null if it belongs to none.",
        "agent": "The role.",
        "executor": "The executor's name.",
        "session_id": "The id of the session in its CLI.",
        "began_at": "When its agent was started.",
        "ended_at": "When it ended; null before that.",
        "input": "New input tokens; null, like the other three, if its output reports none.",
        "output": "Output tokens.",
        "cache_read": "Input tokens that were read from the cache.",
        "cache_write": "Input tokens that were written to the cache.",
        "usd": "US dollars; null if unknown.",
        "is_estimate": "Whether part of the cost is an estimate.",
        "is_partial": "Whether it ended before it reported its final figures.",
        "is_unpriced": "Whether it has used something of unknown price.",
        "models": "The use of each model.",
        "totals": "The figures in its last result, for the run or for the whole session.",
        "share_usd": "US dollars that it has reserved of its budgets; null without a limit.",
        "share_tokens": "Tokens that it has reserved.",
        "share_time": "Seconds that it has reserved.",
    },
    "spent": {
        "scope": "The kind of the sum: executor, batch or project.",
        "name": "The executor's name, the batch's number or the project's id.",
        "usd": "US dollars that ended attempts have used, as far as known.",
        "tokens": "Tokens of all four kinds.",
        "time": "Seconds.",
        "charged_usd": "What counts against a budget: the reserved share if the use is unknown.",
        "charged_tokens": "The same for tokens.",
    },
    "budget_warning": {
        "scope": "The kind of the budget: task, executor, batch or project.",
        "name": "The task's id, the executor's name, the batch's number or the project's id.",
        "measure": "What is limited: usd, tokens or time.",
        "total": "The budget. sow warns once for each figure.",
        "at": "When that was.",
    },
    "batch": {
        "id": "Its number.",
        "project_id": "The project's id.",
        "name": "Its name; empty if it has none.",
        "selection": "The tasks of the call. An equal call attaches to this batch.",
        "policy": "The settings of the batch.",
        "state": "Running, paused, cancelled or over.",
        "reason": "Why it is paused.",
        "by_job": "The job whose agent made it; null if a person did.",
        "path_variable": "The caller's PATH, in which its agents' programs are searched.",
        "seen": "The newest change that the whole batch has handled.",
        "forgiven": "The newest job when a person resumed the batch last. Failures up to it do not"
        " pause the batch.",
        "rests": "Whether nothing continued without a person when a worker looked last.",
        "made_at": "When it was made.",
        "ended_at": "When it ended; null before that.",
    },
    "batch_item": {
        "batch_id": "The batch.",
        "project_id": "The project's id.",
        "task_id": "The task.",
        "state": "The task's last recorded state in the batch.",
        "reason": "The reason for it.",
        "refusal": "Why the next action was refused; empty if it was not.",
        "reached": "If the refusal was about a budget: that budget; else null.",
        "forgiven": "The newest job when a person resumed the task last; -1 if nobody did.",
        "is_open": "Whether its batch has not ended. Until then no other batch accepts the task.",
    },
    "merge_turn": {
        "project_id": "The project into whose branch one task at a time is merged.",
        "batch_id": "The batch of that task.",
        "task_id": "The task.",
    },
    "last_status": {
        "project": "The project's id.",
        "task": "The task's id.",
        "status": "The last recorded status of the task.",
        "iteration": "The last recorded iteration of the task.",
        "file": "The version of the task's file from which they were read.",
    },
}
"""What columns mean, if no docstring of a record says it."""
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
        for name, shape in msgspec.json.schema(form)["$defs"].items():
            if shapes.setdefault(name, shape) != shape:
                raise AssertionError(f"two objects of --json are called {name}")
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
        connection.execute("create table task (id integer primary key, priority real)")  # huey's
        for number in range(FIRST_FORMAT, FORMAT + 1):
            take_step(connection, number)
        found = "select name from sqlite_master where type = 'table' order by rowid"
        for (table,) in connection.execute(found).fetchall():
            if table != "task" and not table.startswith("sqlite_"):
                yield f"### {table}\n"
                columns = connection.execute(f"pragma table_xinfo({table})").fetchall()
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
