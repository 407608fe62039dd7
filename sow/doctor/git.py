"""What git has for tasks with clones: a name for commits, and all objects, or a remote for them."""

from collections.abc import Iterator, Mapping

from sow.errors import StateError
from sow.findings import Finding, Level
from sow.git.identity import FALLBACK, is_unknown
from sow.git.promised import is_partial, remote_of
from sow.git.repository import repository_of
from sow.paths import Workspace


def examine_git(workspace: Workspace, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what git lacks for tasks that have clones of their own."""
    try:
        repository = repository_of(workspace.root)
    except StateError:  # tasks have no clones here, and who wants one is told why
        return
    if is_partial(repository) and (remote := remote_of(repository)) is not None:
        yield Finding(
            check="partial",
            level=Level.NOTE,
            text=f"This is a partial clone: what a task's clone lacks is fetched from {remote[0]},"
            " which has to be reachable without a question",
        )
    if is_unknown(repository.top, environ):
        name, address = FALLBACK
        yield Finding(
            check="identity",
            level=Level.WARNING,
            text=f"Git knows no name of you: commits that sow makes are by {name} <{address}>",
            remedy='`git config --global user.name "Your Name"`\n'
            "`git config --global user.email you@example.org`",
        )
