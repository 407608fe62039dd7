"""A project is finished whatever it lacks: what `sow project finish` looks at is not asked."""

from collections.abc import Mapping

from sow.calls.caller import find_caller
from sow.calls.ending import end_project
from sow.paths import Workspace
from sow.schema.project import EndingWord
from sow.state.authors import author_of
from sow.state.projects import change_project


def finish_anyhow(workspace: Workspace, environ: Mapping[str, str], *, now: float) -> None:
    """Complete a project and finish it."""
    change_project(workspace, lambda _: {"state": "completed"}, now=now)
    caller = find_caller(environ, workspace.root)
    end_project(caller, EndingWord.FINISHED, remove=False, by=author_of({}))
