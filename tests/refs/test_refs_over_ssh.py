"""References from a real server over ssh: the user's own ssh and key count, and nobody is asked.

CI has no server. `pytest -m sshd tests/refs` runs this where `openssh-server` is installed.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from refs.followed import follow
from refs.ref_site import RefSite, cached_folders
from refs.remotes import Remote
from refs.ssh_server import SshServer, program, serving

pytestmark = pytest.mark.sshd


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SshServer]:
    sshd = program()
    assert sshd is not None, "sshd is not installed (apt-get install openssh-server)"
    with serving(tmp_path / "ssh", sshd) as opened:
        yield opened


def test_it_is_added_and_followed_by_the_ssh_of_a_variable(
    site: RefSite, remote: Remote, server: SshServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_SSH_COMMAND", server.client())
    follow(site, remote, server.url(remote.path))


def test_it_is_added_and_followed_by_the_ssh_of_the_user_s_settings(
    site: RefSite, remote: Remote, server: SshServer, poisoned_home: Path
) -> None:
    settings = f"[core]\n\tsshCommand = {server.client()}\n"
    (poisoned_home / ".gitconfig").write_text(settings)
    follow(site, remote, f"shortly:{remote.path}")


@pytest.mark.parametrize(
    ("client", "why"),
    [
        ({"known": "nobody"}, "Host key verification failed"),
        ({"key": "closed_key"}, "Permission denied"),
        ({"key": "host_key"}, "Permission denied"),
    ],
    ids=["unknown server", "key with a passphrase", "foreign key"],
)
def test_what_would_need_an_answer_is_told_and_changes_nothing(
    site: RefSite,
    remote: Remote,
    server: SshServer,
    monkeypatch: pytest.MonkeyPatch,
    client: dict[str, str],
    why: str,
) -> None:
    monkeypatch.setenv("GIT_SSH_COMMAND", server.client(**client))
    ended = site.sow("refs", "add", server.url(remote.path))
    assert (ended.code, "cannot be reached" in ended.err, why in ended.err) == (4, True, True), (
        ended
    )
    assert not site.index.exists()
    assert cached_folders() == []


def test_a_repository_that_is_not_there_is_told(
    site: RefSite, server: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_SSH_COMMAND", server.client())
    ended = site.sow("refs", "add", server.url(tmp_path / "none"))
    assert (ended.code, "does not appear to be a git repository" in ended.err) == (4, True), ended
