"""Executors, as commands print them with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output import fields
from sow.schema.output.costs import CostSum
from sow.schema.output.fields import about

TriedHow = Annotated[
    str | None,
    about("how it was tried: real CLI run, stand-in only or docs only; null if it cannot"),
]


class TrialsView(msgspec.Struct, frozen=True, kw_only=True):
    """How sow was tried with the CLI of an executor."""

    versions: Annotated[tuple[str, ...], about("the versions of the CLI that were run")]
    spawn: Annotated[str, about("how a spawn was tried, in the same words as the next keys")]
    resume: TriedHow
    open: TriedHow


class ExecutorView(msgspec.Struct, frozen=True, kw_only=True):
    """An executor of the configuration, and what it can do here."""

    executor: fields.Executor
    type: Annotated[str, about("its type: claude, codex, command, ...")]
    roles: Annotated[
        tuple[str, ...], about("the roles that it plays, also as another than the first executor")
    ]
    places: Annotated[
        dict[str, int],
        about("its place in the list of each role: 1 is tried first"),
    ]
    binary: Annotated[str, about("its program, by name or path")]
    path: Annotated[str | None, about("the path of that program; null if it was not found")]
    can_resume: Annotated[bool, about("whether a session can be continued")]
    can_open: Annotated[bool, about("whether a person can continue a session on a terminal")]
    home: Annotated[
        str, about("whose configuration folder its sessions have: shared or per-session")
    ]
    usage_reported: Annotated[
        str, about("when its CLI reports its tokens: at once, at its end or never")
    ]
    rights: Annotated[
        str,
        about(
            "what its agents may run: role (sow's commands of their role, each by its name),"
            " own (what the CLI's own settings allow) or all (yolo_mode)"
        ),
    ]
    fence: Annotated[
        str,
        about(
            "what limits its agents: sandbox (the system), rules (the CLI refuses what"
            " no rule allows), asking (the CLI asks sow before it acts) or none"
        ),
    ]
    tried: Annotated[TrialsView, about("how sow was tried with its CLI")]


class PromiseView(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a promise held in a trial."""

    promise: Annotated[
        str,
        about(
            "spawn (it reports by sow), pause, resume (in the same session), deny (a command that"
            " its role may not run is refused) or cancel (no process is left)"
        ),
    ]
    result: Annotated[str, about("held, broken, not shown (nothing tells) or not made (it cannot)")]
    reason: Annotated[str, about("what was seen, in a sentence")]
    seconds: Annotated[float, about("how long that took")]


class ExecutorTried(msgspec.Struct, frozen=True, kw_only=True):
    """A trial of an executor."""

    executor: fields.Executor
    type: Annotated[str, about("its type: claude, codex, command, ...")]
    path: Annotated[str, about("its program")]
    version: Annotated[
        str | None, about("the version that the program names; null if sow does not ask it")
    ]
    ok: Annotated[bool, about("whether no promise that it makes was broken")]
    timed_out: Annotated[bool, about("whether the time was up before every promise was tried")]
    promises: Annotated[tuple[PromiseView, ...], about("each promise, in the order of the trial")]
    used: Annotated[CostSum, about("the tokens, time and money of the trial")]
    folder: Annotated[str | None, about("the repository of the trial; null if it was removed")]


class ComparedTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task that an executor has done for a comparison."""

    executor: fields.Executor
    task: fields.TaskKey
    key: Annotated[str | None, about("its key in the file; null if it has none")]
    name: Annotated[str, about("its name")]
    status: Annotated[str, about("its status; needs_review where nothing has judged the work")]
    check_passed: Annotated[
        bool | None, about("the result of its last check; null if none has run")
    ]
    verdict: Annotated[
        str | None, about("the last verdict of a review: accepted or corrections; null without")
    ]
    iteration: Annotated[int, about("1, plus 1 for each time that the work went back")]
    used: Annotated[
        CostSum | None, about("tokens, time and cost of its attempts; null if there were none")
    ]
