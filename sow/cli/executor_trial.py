"""What a trial of an executor does in its own repository, and by what it sees a promise held.

Owns the two tasks and what the agent is asked for. A promise holds by what sow has on record, never
by the agent's own words: its entries in the task's log, the status, the session, the events of its
output, and which processes are left.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from secrets import token_hex
from typing import Any, NamedTuple

from sow import env_vars
from sow.cli.detaching import leave_if_nobody_waits
from sow.cli.own_repository import Answer, OwnRepository
from sow.cli.streams import wait_for_more
from sow.cli.trial_time import TIME_IS_UP, TrialTime
from sow.processes import process_facts
from sow.schema.output.executors import PromiseView

ROLE = "implementer"
FIRST, SECOND = "010", "020"
BEGUN, WAITING, FORBIDDEN = "Trial begun", "Trial waits", "trial-forbidden"

REPORT_AND_PAUSE = f"""\
sow tries whether it can work with the program that you are. Do these steps and nothing else. Change
no file. Each command stands alone on its line: run it as it is.

1. `sow agent log "{BEGUN}"`
2. `sow phase add {FORBIDDEN}`
   Your role may not run it, so it is refused. That is the purpose. Do not try it again.
3. `sow task set status paused`

Then end your turn.
"""
REMEMBER = "Remember the word `{word}`. You will be asked for it later. Write it nowhere now."
GO_ON = """\
Go on with the trial. Replace WORD by the word that you were asked to remember.

1. `sow agent log "The word is WORD"`
2. `sow task set status needs_review`

Then end your turn.
"""
WAIT_FOR_END = f"""\
sow tries whether it can end the program that you are. Do these steps and nothing else. Change no
file. Each command stands alone on its line: run it as it is.

1. `sow agent log "{WAITING}"`
2. `sow changes --follow`
   It does not end by itself. Run it in the foreground and wait: you will be ended meanwhile.
"""

LOOK_SECONDS = 0.5
COMMAND_SECONDS = 5.0
"""How long an agent gets to begin a command that its CLI tells of at its end only."""
DEATH_SECONDS = 30.0


class Result(StrEnum):
    """What a trial has shown of a promise."""

    HELD = "held"
    BROKEN = "broken"
    NOT_SHOWN = "not shown"
    NOT_MADE = "not made"


class Seen(NamedTuple):
    """What was seen of a promise."""

    result: Result
    reason: str


OUT_OF_TIME = Seen(Result.NOT_SHOWN, TIME_IS_UP)


class Trial(NamedTuple):
    """One trial."""

    repository: OwnRepository
    can_resume: bool
    time: TrialTime
    word: str
    """What only the first prompt says."""
    death_seconds: float = DEATH_SECONDS
    """How long a cancelled process may take to go."""

    def promises(self) -> Iterator[PromiseView]:
        """Do the tasks, and yield each promise when its result is known."""
        self.repository.need("task", "add", "Trial", "--agent", ROLE, *_with(REPORT_AND_PAUSE))
        self.repository.need("task", "add", "Wait", "--agent", ROLE, *_with(WAIT_FOR_END))
        begun = time.monotonic()
        words = ("agent", "spawn", ROLE, FIRST, "--prompt", REMEMBER.format(word=self.word))
        spawned = self.repository.call(*words, time=self.time)
        yield _view("spawn", self._reported(spawned), begun)
        yield _view("pause", self._paused(spawned))
        begun = time.monotonic()
        yield _view("resume", self._resumed(spawned), begun)
        yield _view("deny", self._denied(spawned))
        begun = time.monotonic()
        yield _view("cancel", self.cancelled(), begun)

    def _reported(self, spawned: Answer) -> Seen:
        if self._log_has(FIRST, BEGUN):
            return Seen(Result.HELD, "its entry is in the task's log")
        return self._without_report(spawned)

    def _paused(self, spawned: Answer) -> Seen:
        if spawned.record.get("status") == "paused":
            return Seen(Result.HELD, "its task is paused")
        return self._without_report(spawned)

    def _without_report(self, run: Answer) -> Seen:
        """Return what a run has shown that did not come to what it was for."""
        if self.time.is_up and "job" in run.record and not run.record["ended_at"]:
            self.repository.ask("job", "cancel", str(run.record["job"]))
            return OUT_OF_TIME
        return Seen(Result.BROKEN, _ending(run))

    def _resumed(self, spawned: Answer) -> Seen:
        if not self.can_resume:
            return Seen(Result.NOT_MADE, "its sessions cannot be continued")
        if self.time.is_up:
            return OUT_OF_TIME
        session = spawned.record.get("session_id")
        if not session:
            return Seen(Result.NOT_SHOWN, "there is no session to continue")
        words = ("agent", "resume", FIRST, GO_ON)
        resumed = self.repository.call(*words, time=self.time)
        if resumed.record.get("status") != "needs_review":
            return self._without_report(resumed)
        now = resumed.record.get("session_id")
        if now != session:
            return Seen(Result.BROKEN, f"it went on in session {now} instead of {session}")
        if not self._log_has(FIRST, self.word):
            return Seen(Result.BROKEN, "it no longer knew the word that it was to remember")
        return Seen(Result.HELD, "the same session, and it knew a word of the first run")

    def _denied(self, spawned: Answer) -> Seen:
        phases = self.repository.need("phase", "list").records
        if any(phase["phase"] == FORBIDDEN for phase in phases):
            return Seen(Result.BROKEN, f"it could run `sow phase add {FORBIDDEN}`")
        job = spawned.record.get("job")
        if job is None:
            return Seen(Result.NOT_SHOWN, "it has not run")
        if self._tried_forbidden(str(job)):
            return Seen(Result.HELD, "`sow phase add` was refused")
        return Seen(Result.NOT_SHOWN, "its output tells of no `sow phase add`")

    def _tried_forbidden(self, job: str) -> bool:
        """Whether a call, a result or a refusal of a tool tells of the command."""
        events = self.repository.ask("job", "logs", job).records
        words = [str(each.get("text", "")) for each in events if each["kind"] != "text"]
        words += self.repository.need("job", "show", job).record["denied_tools"]
        words.append(self.repository.read("job", "logs", job, "--stderr"))
        return any(FORBIDDEN in text or "phase add" in text for text in words)

    def cancelled(self) -> Seen:
        """Cancel a run in which a command goes on, and look for what is left of it."""
        if self.time.is_up:
            return OUT_OF_TIME
        begun = self.repository.ask("agent", "spawn", ROLE, SECOND, "--detach")
        job = begun.record.get("job")
        if job is None:
            return Seen(Result.NOT_SHOWN, begun.fault)
        seconds = self.time.next_seconds
        _until(lambda: self._log_has(SECOND, WAITING) or self._has_ended(job), seconds)
        if not self._log_has(SECOND, WAITING):
            if self.time.is_up and not self._has_ended(job):
                self.repository.ask("job", "cancel", str(job))
                return OUT_OF_TIME
            return Seen(Result.NOT_SHOWN, f"it did not come to its command: {self._cause(job)}")
        _until(lambda: self._follows(job) or self._has_ended(job), COMMAND_SECONDS)
        attempts = self.repository.need("job", "show", str(job)).record["attempts"]
        self.repository.ask("job", "cancel", str(job))
        ended = self.repository.need("job", "show", str(job)).record
        if ended["ended_at"] and ended["state"] != "cancelled":
            return Seen(Result.NOT_SHOWN, f"it ended by itself before: {_words(ended)}")
        ids = [attempt["id"] for attempt in attempts]
        if _until(
            lambda: not process_facts.carriers(env_vars.ATTEMPT_ID, *ids), self.death_seconds
        ):
            return Seen(Result.HELD, "no process of it is left")
        left = process_facts.carriers(env_vars.ATTEMPT_ID, *ids)
        return Seen(Result.BROKEN, f"processes are left: {', '.join(map(str, left))}")

    def _has_ended(self, job: int) -> bool:
        return bool(self.repository.need("job", "show", str(job)).record["ended_at"])

    def _follows(self, job: int) -> bool:
        """Whether the output tells that the command has begun."""
        events = self.repository.ask("job", "logs", str(job)).records
        return any("changes" in str(each.get("text")) for each in events)

    def _cause(self, job: int) -> str:
        return _words(self.repository.need("job", "show", str(job)).record)

    def _log_has(self, task: str, words: str) -> bool:
        entries = self.repository.ask("task", "log", task).records
        return any(words in entry["action"] for entry in entries if entry["agent"] == ROLE)


def new_trial(repository: OwnRepository, time: TrialTime, *, can_resume: bool) -> Trial:
    """Return a trial with a word of its own, which no earlier session knows."""
    return Trial(repository, can_resume, time, f"maple-{token_hex(3)}")


def _with(description: str) -> tuple[str, str]:
    return "--description", description


def _ending(answer: Answer) -> str:
    """Return how a run ended that did not come to what it was for."""
    return _words(answer.record) if "job" in answer.record else answer.fault


def _words(job: Mapping[str, Any]) -> str:
    status, cause = job.get("status"), job.get("cause")
    if not job.get("ended_at"):
        return f"it has not ended: {job.get('standing') or job.get('state')}"
    return f"its task is {status} ({cause}): {job.get('reason')}"


def _view(promise: str, seen: Seen, begun: float | None = None) -> PromiseView:
    seconds = 0.0 if begun is None else time.monotonic() - begun
    return PromiseView(
        promise=promise, result=seen.result, reason=seen.reason, seconds=round(seconds, 1)
    )


def _until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether the condition comes true within so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= deadline:
            return False
        leave_if_nobody_waits()
        wait_for_more(LOOK_SECONDS)
    return True
