"""An orchestrator's session, as `sow start` prints it with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output.fields import about


class SessionEnded(msgspec.Struct, frozen=True, kw_only=True):
    """An ended session of an orchestrator on a terminal."""

    executor: Annotated[str, about("the executor of the session")]
    session_id: Annotated[
        str | None, about("its id; null if the CLI chose an id that sow does not know")
    ]
    cli_exit_code: Annotated[
        int, about("the exit code of the CLI; if a signal killed it, minus the signal's number")
    ]


class StartPreview(msgspec.Struct, frozen=True, kw_only=True):
    """The session that `sow start` would begin (`--dry-run`)."""

    executor: Annotated[str, about("the executor of the session")]
    argv: Annotated[tuple[str, ...], about("the command")]
    cwd: Annotated[str, about("the folder")]
    env_names: Annotated[tuple[str, ...], about("the names of its variables")]
