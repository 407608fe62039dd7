"""An orchestrator's session, as `sow start` prints it with `--json`."""

from typing import Annotated

import msgspec
from msgspec import Meta


class SessionEnded(msgspec.Struct, frozen=True, kw_only=True):
    """An orchestrator's session on a terminal that has ended."""

    executor: Annotated[str, Meta(description="whose session it was")]
    session_id: Annotated[
        str | None, Meta(description="its id; null where the executor's CLI made it by itself")
    ]
    cli_exit_code: Annotated[
        int, Meta(description="how the CLI exited; minus a signal's number where one killed it")
    ]


class StartPreview(msgspec.Struct, frozen=True, kw_only=True):
    """The session that `sow start` would begin (`--dry-run`)."""

    executor: Annotated[str, Meta(description="whose session it would be")]
    argv: Annotated[tuple[str, ...], Meta(description="the command")]
    cwd: Annotated[str, Meta(description="the folder")]
    env_names: Annotated[tuple[str, ...], Meta(description="the names of its variables")]
