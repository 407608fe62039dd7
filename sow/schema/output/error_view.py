"""What any command prints with `--json` where it fails."""

from typing import Annotated

import msgspec
from msgspec import Meta

from sow.schema.output import fields


class ErrorFacts(msgspec.Struct, frozen=True, kw_only=True):
    """An error in words, for people, and its code, for programs."""

    kind: Annotated[
        str,
        Meta(
            description="what it has to do with: usage, configuration, state, executor, queue, or"
            " failed for what is none of these"
        ),
    ]
    exit_code: fields.ExitCode
    message: Annotated[str, Meta(description="what happened")]
    hint: Annotated[str, Meta(description="what to do next; often empty")]


class ErrorView(msgspec.Struct, frozen=True, kw_only=True):
    """What any command prints in place of a result, or after some, where it fails."""

    task: Annotated[
        str | None,
        Meta(description="the task that it is about; null where the call named none, or several"),
    ]
    error: Annotated[ErrorFacts, Meta(description="what happened")]
