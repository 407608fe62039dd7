"""What any command prints with `--json` where it fails."""

from typing import Annotated

import msgspec

from sow.schema.output import fields
from sow.schema.output.fields import about


class ErrorFacts(msgspec.Struct, frozen=True, kw_only=True):
    """An error in words, for people, and its code, for programs."""

    kind: Annotated[
        str,
        about(
            "what it has to do with: usage, configuration, state, executor, queue, or"
            " failed for what is none of these"
        ),
    ]
    exit_code: fields.ExitCode
    message: Annotated[str, about("what happened")]
    hint: Annotated[str, about("what to do next; often empty")]


class ErrorView(msgspec.Struct, frozen=True, kw_only=True):
    """What any command prints in place of a result, or after some, where it fails."""

    task: Annotated[
        str | None, about("the task that it is about; null where the call named none, or several")
    ]
    error: Annotated[ErrorFacts, about("what happened")]
