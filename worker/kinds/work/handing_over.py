"""What an agent is told that goes on with what another executor's agent has begun.

Owns what is gathered and how much of each: the end of the log, the feedback that is still awaited,
the change so far and the last words of the session. What cannot be read is left out: the new agent
has the files themselves.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from sow.attempts.fallback import obstacle_words
from sow.attempts.prompt_facts import awaited_feedback
from sow.clones.whole_change import change_of_task
from sow.errors import SowError, StateError
from sow.executors.base import EventKind
from sow.executors.registry import make_executor
from sow.files import read_tail
from sow.jobs import jobs
from sow.prompts.compose import HandOver
from sow.schema.executor import ExecutorConfig
from sow.schema.job import Attempt, Job
from sow.schema.job_terms import LeftExecutor
from sow.schema.kinds import kind_of
from sow.schema.task import Task
from sow.state.log_writing import LOG_FILE, LogEntry
from sow.state.task_log import last_entries
from sow.state.tasks import find_task
from worker.context import WorkerContext

MOST_ENTRIES = 40
LOG_CHARACTERS = 1 << 14
FEEDBACK_CHARACTERS = 1 << 14
"""Of each file."""
PATCH_CHARACTERS = 1 << 15
OUTPUT_BYTES = 1 << 19
WORDS_CHARACTERS = 1 << 12
MOST_TEXTS = 4
"""How many of the last messages are quoted."""
CUT = "(cut off)"


def hand_over(context: WorkerContext, job: Job, task: Task, history: Sequence[Attempt]) -> HandOver:
    """Return what the first prompt of a job's new session says of the work so far.

    `history` are all of its attempts.
    """
    left = [each for each in job.fallback.left if each.hands_over][-1]
    so_far = work_so_far(context, task, obstacle_words(left))
    return replace(so_far, last_words=_last_words(context, left, history))


def work_so_far(context: WorkerContext, task: Task, before: str) -> HandOver:
    """Return the same but for the last words; `before` says who had it, and what was in the way."""
    folder = find_task(context.workspace, task.id).folder
    feedback = awaited_feedback(context.workspace, task)
    return HandOver(
        before=before,
        log=_log(folder / LOG_FILE),
        feedback=[(name, _beginning(text, FEEDBACK_CHARACTERS)) for name, text in feedback],
        change=_change(context, task),
    )


def _log(path: Path) -> str:
    """Return the last entries of a log but for those that only tell of a change."""
    with suppress(StateError):
        entries = last_entries(path, MOST_ENTRIES, with_events=False)
        return _end("\n".join(map(_entry, entries)), LOG_CHARACTERS)
    return ""


def _entry(entry: LogEntry) -> str:
    result = f" ({entry.result})" if entry.result else ""
    lines = [f"{entry.timestamp} {entry.agent}: {entry.action}{result}"]
    return "\n".join([*lines, *(f"    {line}" for line in entry.text.strip().splitlines())])


def _end(text: str, most: int) -> str:
    return text if len(text) <= most else f"{CUT} {text[-most:]}"


def _beginning(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}\n{CUT}"


def _change(context: WorkerContext, task: Task) -> str:
    """Return what differs by now as a patch; empty where nobody can tell, or nothing does."""
    with suppress(SowError, OSError):
        change = change_of_task(context.workspace, task, patch=True, stat=False)
        return _beginning((change.patch or b"").decode("utf-8", "replace"), PATCH_CHARACTERS)
    return ""


def _last_words(context: WorkerContext, left: LeftExecutor, history: Sequence[Attempt]) -> str:
    """Return the last messages of the session that was left, as far as their files are kept."""
    tried = [attempt for attempt in history if attempt.number <= left.attempt]
    if left.session is not None:
        tried = list(jobs.attempts_on(context.database, left.session))
    config = _config_of(context, left, tried)
    if config is None:
        return ""
    executor = make_executor(config)
    texts: list[str] = []
    for attempt in reversed(tried):
        if kind_of(attempt).is_interactive:
            continue
        paths = context.workspace.attempt(attempt.job_id, attempt.number)
        with suppress(SowError, OSError):
            data = read_tail(paths.output, OUTPUT_BYTES).encode()
            events = [event for event in executor.skim(data) if event.kind is EventKind.TEXT]
            texts = [event.text for event in events if event.text.strip()] + texts
        if len(texts) >= MOST_TEXTS:
            break
    return _end("\n\n".join(texts[-MOST_TEXTS:]), WORDS_CHARACTERS)


def _config_of(
    context: WorkerContext, left: LeftExecutor, tried: Sequence[Attempt]
) -> ExecutorConfig | None:
    """Return the executor whose output `tried` have left.

    The records of other jobs know it as it was: the user may have removed it, or given its name to
    another one.
    """
    for number in dict.fromkeys(attempt.job_id for attempt in reversed(tried)):
        executor = jobs.get_job(context.database, number).agents_executor
        if executor.name == left.name:
            return executor
    return context.configuration.executors.get(left.name)
