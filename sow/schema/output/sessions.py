"""An orchestrator's session, as `sow start` prints it with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output.fields import about


class SessionEnded(msgspec.Struct, frozen=True, kw_only=True):
    """An orchestrator's session on a terminal that has ended."""

    executor: Annotated[str, about("whose session it was")]
    session_id: Annotated[
        str | None, about("its id; null where the executor's CLI made it by itself")
    ]
    cli_exit_code: Annotated[
        int, about("how the CLI exited; minus a signal's number where one killed it")
    ]


class StartPreview(msgspec.Struct, frozen=True, kw_only=True):
    """The session that `sow start` would begin (`--dry-run`)."""

    executor: Annotated[str, about("whose session it would be")]
    argv: Annotated[tuple[str, ...], about("the command")]
    cwd: Annotated[str, about("the folder")]
    env_names: Annotated[tuple[str, ...], about("the names of its variables")]
