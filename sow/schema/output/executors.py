"""Executors, as commands print them with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output import fields
from sow.schema.output.fields import about

TriedHow = Annotated[
    str | None,
    about("how far it was tried: real CLI run, stand-in only or docs only; null if it cannot"),
]


class TrialsView(msgspec.Struct, frozen=True, kw_only=True):
    """How far sow has been tried with the CLI of an executor."""

    versions: Annotated[tuple[str, ...], about("the versions of the CLI that were run")]
    spawn: Annotated[str, about("how far a spawn was tried, in the words of the next keys")]
    resume: TriedHow
    open: TriedHow


class ExecutorView(msgspec.Struct, frozen=True, kw_only=True):
    """An executor of the configuration, and what it can do here."""

    executor: fields.Executor
    type: Annotated[str, about("its type: claude, codex, command, ...")]
    roles: Annotated[tuple[str, ...], about("the roles that it plays")]
    binary: Annotated[str, about("its program, by name or path")]
    path: Annotated[str | None, about("where that is; null if it was not found")]
    can_resume: Annotated[bool, about("whether a session can be continued")]
    can_open: Annotated[bool, about("whether a person can continue a session on a terminal")]
    home: Annotated[
        str, about("whose configuration folder its sessions have: shared or per-session")
    ]
    usage_told: Annotated[
        str, about("when it tells the tokens that it uses: at once, at its end or never")
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
            "what holds its agents back: sandbox (the system), rules (the CLI refuses what"
            " no rule allows) or none"
        ),
    ]
    tried: Annotated[TrialsView, about("how far that has been tried")]
