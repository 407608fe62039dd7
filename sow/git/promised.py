"""What a partial clone has left on its remote: fetched before sow needs it.

No git of ours fetches by itself what it misses (`GIT_NO_LAZY_FETCH`): it would do so
by the settings of a repository, in the middle of anything. Here it is fetched on
purpose, once, by a git that sees none of these settings but the remote's address, into
the repository's own objects.
"""

import os
from collections.abc import Sequence

from sow.errors import StateError
from sow.files import NotAFile, read_regular
from sow.files.scratch import scratch_folder
from sow.git.git_errors import GitTookTooLong, line_of
from sow.git.own_bare import NETWORK, REMOTE, make_bare, network_environment
from sow.git.repository import Repository
from sow.git.run import LONG_SECONDS, git, git_answer
from sow.git.settings_text import settings_named

SETTINGS_LIMIT = 1 << 20
SIGNS = (b"promisor", b"partialclone")
"""One of them stands in the settings of every partial clone, whatever the case of letters."""
MOST_ROUNDS = 1000
"""A clone without trees learns at each round which trees lie below those that it has got."""


class PromisedNotFetched(StateError):
    """What a partial clone of a repository lacks cannot be fetched now."""

    def __init__(self, repository: Repository, remote: str, complaint: str) -> None:
        why = line_of(complaint) or "it gives no answer"
        super().__init__(
            f"{repository.top} is a partial clone, and files of it lie on its remote {remote}"
            f" alone, from which sow cannot fetch them: {why}",
            hint=f"See that `git fetch {remote}` works there, without asking you anything, then"
            " call again; or run the task without a clone (--no-clone).",
        )


def is_partial(repository: Repository) -> bool:
    """Whether a repository has left objects on a remote, as its settings say."""
    try:
        text = read_regular(repository.common_dir / "config", SETTINGS_LIMIT).lower()
    except (OSError, NotAFile):
        return False
    return any(sign in text for sign in SIGNS)


def remote_of(repository: Repository) -> tuple[str, str] | None:
    """Return the remote that a partial clone has left objects on, and its address."""
    pattern = r"^(remote\..*\.(url|promisor)|extensions\.partialclone)$"
    found = settings_named(repository.top, pattern)
    promisors = [
        name.removeprefix("remote.").removesuffix(".promisor")
        for name, value in found.items()
        if name.endswith(".promisor") and value != "false"
    ]
    for remote in (found.get("extensions.partialclone"), *promisors):
        if remote and (url := found.get(f"remote.{remote}.url")):
            return remote, url
    return None


def fetch_promised(repository: Repository, commits: Sequence[str]) -> None:
    """Fetch what commits of a partial clone lack of their files; do nothing in any other.

    Raises PromisedNotFetched, GitRefused.
    """
    if not is_partial(repository) or (remote := remote_of(repository)) is None:
        return
    before: list[str] = []
    for _ in range(MOST_ROUNDS):
        missing = _missing(repository, commits)
        if not missing or missing == before:
            return
        _fetch(repository, *remote, missing)
        before = missing


def _missing(repository: Repository, commits: Sequence[str]) -> list[str]:
    words = ("rev-list", "--objects", "--no-object-names", "--missing=print", "--no-walk")
    found = git(repository.top, *words, *commits, "--", seconds=LONG_SECONDS)
    return [line[1:] for line in found.splitlines() if line.startswith("?")]


def _fetch(repository: Repository, remote: str, url: str, objects: Sequence[str]) -> None:
    with scratch_folder("git") as scratch:
        bare = make_bare(scratch / "bare", url, repository.object_format)
        environ = {
            **network_environment(os.environ, bare.folder),
            "GIT_OBJECT_DIRECTORY": str(repository.common_dir / "objects"),
        }
        try:
            code, _, complaint = git_answer(
                repository.top,
                *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head"),
                *("--no-auto-maintenance", "--recurse-submodules=no", "--filter=blob:none"),
                *("--stdin", REMOTE),
                seconds=LONG_SECONDS,
                stdin="".join(f"{each}\n" for each in objects).encode(),
                environ=environ,
                settings=(*NETWORK, "fetch.negotiationAlgorithm=noop"),
            )
        except GitTookTooLong as error:
            raise PromisedNotFetched(repository, remote, error.message) from error
    if code != 0:
        raise PromisedNotFetched(repository, remote, complaint)
