"""Why an attempt can end, and all that follows from it: one table, one row for each cause.

Owns the facts about a cause: who is to blame for it, whether the job is tried
again, what it shows of the session, its exit code, its words for people and
for the agent that is run again, its cure. Plain data, read by caller, worker
and documents alike; the words alone are `causes`. Who finds out a cause
(`attempts.judge`, an executor, the worker's watchdog) and who acts on it
(`attempts.retry`) is not known here.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from sow.errors import ExitCode
from sow.schema.causes import Cause


class Blame(StrEnum):
    """Who has to change something before it can go better, as people read it."""

    NOBODY = "nobody"
    PERSON = "a person"
    AGENT = "the agent"
    WORK = "the work that was checked"
    PROGRAM = "the agent's program"
    ACCOUNT = "the account at the model's service"
    CONFIGURATION = "the configuration of its executor"
    SETTINGS = "a setting, of yours or of the repository"
    SERVICE = "the model's service"
    MACHINE = "the machine"
    SOW = "sow itself"


class RetryRule(StrEnum):
    """What becomes of the job, as people read it."""

    DONE = "the job is done"
    CANCEL = "the job is cancelled"
    FAIL = "failed at once"
    ONCE = "run again once, then failed"
    ONCE_RESUMED = "resumed once, then failed; at once if its CLI cannot resume"
    HANG = (
        "resumed once, then failed. If its CLI cannot resume: failed at once, in a batch after one"
        " more run from the beginning"
    )
    BACKOFF = "run again after a growing pause, at most `retries` times"
    QUOTA = "waits until the limit resets; with `retry.on_quota: false` failed at once"
    SHARE = "resumed with a new share while something is left of the budget; then failed"
    SESSION_LAW = (
        "run again with what the CLI reported about the session, at most `retries` times"
        " after the first; only a person can replace a lost session that may have a finished turn"
    )
    FREE = "run again at once, as often as it happens"
    PATIENT = (
        "run again after a growing pause of up to a minute: for about an hour in a batch, else"
        " at most `retries` times in a row"
    )
    DEATH = "run again; if the job may have caused it, at most `retry.worker_deaths` times in a row"


class SessionRule(StrEnum):
    """What such an ending shows of the attempt's session, as people read it."""

    FINISHED = "it has a finished turn"
    CUT_OFF = "its turn was interrupted"
    UNTOLD = "unknown"
    NOT_REACHED = "not used"
    TAKEN = "it exists: the next attempt resumes it"
    UNKNOWN = "it does not exist: the next attempt makes one"
    ELSEWHERE = "it does not exist; the run was in another one: the next attempt makes one"


class CauseFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table."""

    words: str
    """What a person is told, as a clause: "it ended: …"."""
    blame: Blame
    retry: RetryRule
    session: SessionRule = SessionRule.CUT_OFF
    exit_code: ExitCode = ExitCode.FAILED
    """How a call exits whose job has failed by it."""
    remedy: str = "See its last words: `sow job logs {job}`, and with --stderr. Then go on"
    """What cures a failure by it. The command that goes on with the task is put after it.
    `{executor}`, `{settings}` (the key of its settings), `{job}` and `{task}` are filled in."""
    to_agent: str = "You are run again because your last run ended too early."
    """What the agent of the next attempt is told."""
    second: str = ""
    """How a second one is called that fails the job, where the first is forgiven."""
    is_by_sow: bool = False
    """Whether sow has ended the program, so that its exit code tells nothing."""


FILE = "`sow config path` names the file"

CAUSES: Mapping[Cause, CauseFacts] = {
    Cause.CANCELLED: CauseFacts(
        words="it was cancelled",
        blame=Blame.PERSON,
        retry=RetryRule.CANCEL,
        is_by_sow=True,
    ),
    Cause.REPORTED: CauseFacts(
        words="the agent reported",
        blame=Blame.NOBODY,
        retry=RetryRule.DONE,
        session=SessionRule.FINISHED,
    ),
    Cause.STATE_UNREADABLE: CauseFacts(
        words="the task's state could not be read",
        blame=Blame.AGENT,
        retry=RetryRule.ONCE,
        remedy="The last valid state.yaml is back; what the agent made of it is kept beside it, as"
        " state.yaml.invalid-…. Go on",
        to_agent="You are run again because the task's state.yaml could not be read after your last"
        " run. The last valid version has been put back. Never edit that file: only `sow` commands"
        " change it.",
        second="broken state.yaml",
    ),
    Cause.TIMED_OUT: CauseFacts(
        words="it ran longer than its executor's timeout",
        blame=Blame.AGENT,
        retry=RetryRule.FAIL,
        remedy="Give it more time ({settings}.timeout), or a smaller task. Then go on",
        is_by_sow=True,
    ),
    Cause.STALLED: CauseFacts(
        words="it showed no activity for its executor's stall_timeout",
        blame=Blame.AGENT,
        retry=RetryRule.HANG,
        remedy="See what it did last: `sow job logs {job}`. Then go on, with a hint",
        to_agent="You are run again because you showed no activity for so long that you were"
        " stopped. Do not run commands that wait for input or never end.",
        second="stall",
        is_by_sow=True,
    ),
    Cause.SESSION_IN_USE: CauseFacts(
        words="the CLI said that the session exists already",
        blame=Blame.PROGRAM,
        retry=RetryRule.SESSION_LAW,
        session=SessionRule.TAKEN,
    ),
    Cause.SESSION_UNKNOWN: CauseFacts(
        words="the CLI did not know the session",
        blame=Blame.PROGRAM,
        retry=RetryRule.SESSION_LAW,
        session=SessionRule.UNKNOWN,
        exit_code=ExitCode.EXECUTOR,
        remedy="To start over",
    ),
    Cause.SESSION_LOST: CauseFacts(
        words="the CLI began another conversation than it was asked for",
        blame=Blame.PROGRAM,
        retry=RetryRule.SESSION_LAW,
        session=SessionRule.ELSEWHERE,
        exit_code=ExitCode.EXECUTOR,
        remedy="To start over",
        to_agent="You are run again because your program had begun another conversation than the"
        " one that it was asked to go on with. What that one did is still in the files.",
        is_by_sow=True,
    ),
    Cause.AUTH: CauseFacts(
        words="the CLI is not logged in, or its key was refused",
        blame=Blame.ACCOUNT,
        retry=RetryRule.FAIL,
        remedy="Log in to the CLI of {executor} as the user who runs the worker (run it once by"
        " hand). If the CLI needs a key from your environment, export it and run"
        " `sow worker stop`: a worker keeps the environment with which it was started. Then go on",
    ),
    Cause.BAD_MODEL: CauseFacts(
        words="the model is unknown to the service, or not allowed",
        blame=Blame.CONFIGURATION,
        retry=RetryRule.FAIL,
        remedy=f"Correct {{settings}}.settings.model ({FILE}). Then go on",
    ),
    Cause.TOO_LONG: CauseFacts(
        words="the prompt, or the conversation, is too long for the model or its CLI",
        blame=Blame.PERSON,
        retry=RetryRule.FAIL,
        remedy="Put long text into a file, and name the file in the prompt. Or, if the conversation"
        " has become too long, begin a new one: `sow agent spawn {task} --fresh`. Else go on",
    ),
    Cause.BAD_FLAGS: CauseFacts(
        words="the CLI refused its command line",
        blame=Blame.CONFIGURATION,
        retry=RetryRule.FAIL,
        session=SessionRule.NOT_REACHED,
        remedy=f"Correct custom_args below {{settings}} ({FILE}), or for an agent over ACP"
        " settings.command and settings.preset. Then go on",
    ),
    Cause.MISSING_BINARY: CauseFacts(
        words="the program could not be started",
        blame=Blame.MACHINE,
        retry=RetryRule.FAIL,
        session=SessionRule.NOT_REACHED,
        exit_code=ExitCode.EXECUTOR,
        remedy="Install the program, or add its folder to PATH. Then go on",
    ),
    Cause.SETUP_FAILED: CauseFacts(
        words="the task's clone could not be made ready",
        blame=Blame.PERSON,
        retry=RetryRule.FAIL,
        session=SessionRule.NOT_REACHED,
        exit_code=ExitCode.FAILED,
        remedy="Fix what the message names. Then go on",
    ),
    Cause.SETUP_PREVENTED: CauseFacts(
        words="the task's clone could not be made ready just now",
        blame=Blame.MACHINE,
        retry=RetryRule.PATIENT,
        session=SessionRule.NOT_REACHED,
        remedy="Free the resource that the message names, or let the process that holds the lock"
        " finish. Then go on",
    ),
    Cause.SANDBOX_FAILED: CauseFacts(
        words="its sandbox could not be made",
        blame=Blame.MACHINE,
        retry=RetryRule.FAIL,
        session=SessionRule.NOT_REACHED,
        exit_code=ExitCode.EXECUTOR,
        remedy="See what is missing: `sow doctor`. sow runs nothing without the sandbox that it"
        " asks for. Then go on",
    ),
    Cause.FOLDER_UNUSABLE: CauseFacts(
        words="the files in .sow/run could not be used",
        blame=Blame.MACHINE,
        retry=RetryRule.FAIL,
        session=SessionRule.NOT_REACHED,
        exit_code=ExitCode.QUEUE,
        remedy="Check the files in .sow/run and their permissions; `sow doctor` shows more."
        " Then go on",
    ),
    Cause.CONFIGURATION: CauseFacts(
        words="the configuration could not be used",
        blame=Blame.SETTINGS,
        retry=RetryRule.FAIL,
        session=SessionRule.NOT_REACHED,
        exit_code=ExitCode.CONFIGURATION,
        remedy="Correct what it names (`sow config path` names your own file, .sow/config.yaml is"
        " the repository's). If a variable is missing, export it and run `sow worker stop`: a"
        " worker keeps the environment with which it was started. Then go on",
    ),
    Cause.DENIED: CauseFacts(
        words="tools that the agent needed were denied",
        blame=Blame.CONFIGURATION,
        retry=RetryRule.FAIL,
        session=SessionRule.FINISHED,
        remedy="Allow the tools that are named above. Then go on",
    ),
    Cause.BUDGET_REACHED: CauseFacts(
        words="a budget was reached, or the attempt's share of one",
        blame=Blame.PERSON,
        retry=RetryRule.SHARE,
        remedy="Raise the budget that is named above. Then go on",
        to_agent="You are run again because you had used up the share of a budget that you were"
        " given; you have another one, and no more than it: come to an end soon.",
        is_by_sow=True,
    ),
    Cause.MEMORY_LIMIT: CauseFacts(
        words="its processes used more memory than they may",
        blame=Blame.AGENT,
        retry=RetryRule.FAIL,
        remedy=f"Raise {{settings}}.limits.memory ({FILE}), or give it a smaller task. Then go on",
        is_by_sow=True,
    ),
    Cause.CPU_LIMIT: CauseFacts(
        words="its processes used more CPU time than they may",
        blame=Blame.AGENT,
        retry=RetryRule.FAIL,
        remedy=f"Raise {{settings}}.limits.cpu ({FILE}), or give it a smaller task. Then go on",
        is_by_sow=True,
    ),
    Cause.PROCESS_LIMIT: CauseFacts(
        words="it started more processes than it may",
        blame=Blame.AGENT,
        retry=RetryRule.FAIL,
        remedy=f"Raise {{settings}}.limits.processes ({FILE}), or tell it to run fewer things at"
        " once. Then go on",
        is_by_sow=True,
    ),
    Cause.DISK_LIMIT: CauseFacts(
        words="it put more on the disk than it may",
        blame=Blame.AGENT,
        retry=RetryRule.FAIL,
        remedy=f"Raise {{settings}}.limits.disk ({FILE}), or remove what it does not need from its"
        " clone (`sow clone path {task}`). Then go on",
        is_by_sow=True,
    ),
    Cause.RATE_LIMITED: CauseFacts(
        words="a usage limit was reached",
        blame=Blame.ACCOUNT,
        retry=RetryRule.QUOTA,
        remedy="Wait until the limit resets; with retry.on_quota: true, sow does so itself."
        " Then go on",
        to_agent="You are run again because a usage limit had stopped you; it has passed.",
    ),
    Cause.API_ERROR: CauseFacts(
        words="the model's service failed",
        blame=Blame.SERVICE,
        retry=RetryRule.BACKOFF,
        to_agent="You are run again because your model's service failed.",
    ),
    Cause.CRASHED: CauseFacts(
        words="the program ended in the middle of its work",
        blame=Blame.PROGRAM,
        retry=RetryRule.BACKOFF,
        to_agent="You are run again because your program ended in the middle of the task.",
    ),
    Cause.NO_STATUS: CauseFacts(
        words="the agent ended without setting its task's status",
        blame=Blame.AGENT,
        retry=RetryRule.ONCE_RESUMED,
        session=SessionRule.FINISHED,
        remedy="See whether the work is done: `sow job logs {job}`. If it is:"
        " `sow task set {task} status needs_review`. If not, go on",
        to_agent="You are run again because you ended without setting a status, so nobody knows"
        " where the task stands. If the work is done, set the status now. If it is not, finish it"
        " first.",
        second="ending without a status",
    ),
    Cause.NO_VERDICT: CauseFacts(
        words="the reviewer ended without a verdict",
        blame=Blame.AGENT,
        retry=RetryRule.ONCE_RESUMED,
        session=SessionRule.FINISHED,
        remedy="See its last words: `sow job logs {job}`. Judge the work yourself"
        ' (`sow review accept {task} --summary "…"`, `sow review correct {task} --file FILE`),'
        " or have it reviewed again",
        to_agent="You are run again because you ended without a verdict, so nobody knows what you"
        " think of the work.",
        second="ending without a verdict",
    ),
    Cause.WORKER_DIED: CauseFacts(
        words="the agent died together with its worker or supervisor",
        blame=Blame.MACHINE,
        retry=RetryRule.DEATH,
        session=SessionRule.UNTOLD,
        remedy="See why the workers died: `sow worker logs`, and the machine's memory. Then go on",
        to_agent="You are run again because the machine or the worker above you stopped.",
    ),
    Cause.WORKER_STOPPED: CauseFacts(
        words="the worker was stopped and ended the agent",
        blame=Blame.PERSON,
        retry=RetryRule.FREE,
        session=SessionRule.UNTOLD,
        is_by_sow=True,
    ),
    Cause.PASSED: CauseFacts(
        words="it did what was asked",
        blame=Blame.NOBODY,
        retry=RetryRule.DONE,
        session=SessionRule.NOT_REACHED,
    ),
    Cause.CHECK_FAILED: CauseFacts(
        words="a check has failed",
        blame=Blame.WORK,
        retry=RetryRule.FAIL,
        session=SessionRule.NOT_REACHED,
        remedy="See what it printed: `sow job logs {job}`. When that is fixed",
    ),
    Cause.MERGE_CONFLICT: CauseFacts(
        words="the work conflicts with the project's branch",
        blame=Blame.WORK,
        retry=RetryRule.FAIL,
        session=SessionRule.NOT_REACHED,
        exit_code=ExitCode.STATE,
        remedy="Solve the conflict that the message above names. Then",
    ),
    Cause.MERGE_REFUSED: CauseFacts(
        words="it cannot be merged now",
        blame=Blame.PERSON,
        retry=RetryRule.FAIL,
        session=SessionRule.NOT_REACHED,
        exit_code=ExitCode.STATE,
        remedy="Fix what the message above names. Then",
    ),
    Cause.PREVENTED: CauseFacts(
        words="a temporary fault prevented it",
        blame=Blame.MACHINE,
        retry=RetryRule.PATIENT,
        session=SessionRule.NOT_REACHED,
        remedy="Fix what the message above names. Then",
    ),
    Cause.CLOSED: CauseFacts(
        words="a person closed the open session without setting a status",
        blame=Blame.PERSON,
        retry=RetryRule.DONE,
        session=SessionRule.FINISHED,
    ),
    Cause.INTERNAL: CauseFacts(
        words="sow itself failed",
        blame=Blame.SOW,
        retry=RetryRule.FAIL,
        remedy="This is a bug in sow: `sow worker logs` has the traceback. To go on",
    ),
}


def causes_that(*rules: SessionRule) -> frozenset[Cause]:
    """Return the causes that show this of a session."""
    return frozenset(cause for cause, facts in CAUSES.items() if facts.session in rules)


SESSION_TAKEN = causes_that(SessionRule.TAKEN)
SESSION_UNKNOWN = causes_that(SessionRule.UNKNOWN, SessionRule.ELSEWHERE)
ELSEWHERE = causes_that(SessionRule.ELSEWHERE)
"""Endings of runs in another session than was asked for."""
GOOD_ORDER = causes_that(SessionRule.FINISHED)
"""Endings of a run that came to the end of its turn."""
WITHOUT_AGENT = causes_that(SessionRule.TAKEN, SessionRule.UNKNOWN, SessionRule.NOT_REACHED)
"""Endings of attempts in which no agent has run, so that none knows of them."""
NEVER_BEGAN = WITHOUT_AGENT | causes_that(SessionRule.UNTOLD, SessionRule.ELSEWHERE)
"""Endings that do not show that the CLI began the session."""
