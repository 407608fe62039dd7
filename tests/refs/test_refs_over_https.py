"""References from a real server over https: the user's ways to it count, and nobody is asked."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from refs.followed import follow
from refs.https_server import MOVED, NAME, PASSWORD, PRIVATE, HttpsServer, serving
from refs.ref_site import RefSite, cached_folders
from refs.remotes import Remote

pytestmark = pytest.mark.slow


@pytest.fixture
def server(remote: Remote, tmp_path: Path) -> Iterator[HttpsServer]:
    with serving(remote.path.parent, tmp_path / "certificates") as opened:
        yield opened


@pytest.fixture
def known(server: HttpsServer, monkeypatch: pytest.MonkeyPatch) -> HttpsServer:
    """Give a server whose CA this user knows."""
    monkeypatch.setenv("GIT_SSL_CAINFO", str(server.authority))
    return server


def test_it_is_added_and_followed(site: RefSite, remote: Remote, known: HttpsServer) -> None:
    follow(site, remote, known.url("/style"))
    assert any(path.endswith("/git-upload-pack") for path in known.asked)


def test_the_ca_may_stand_in_the_user_s_settings(
    site: RefSite, remote: Remote, server: HttpsServer, poisoned_home: Path
) -> None:
    settings = f"[http]\n\tsslCAInfo = {server.authority}\n"
    (poisoned_home / ".gitconfig").write_text(settings)
    site.good("refs", "add", server.url("/style"))


def refused(site: RefSite, url: str) -> str:
    """Return why an address cannot be reached; nothing has changed then."""
    ended = site.sow("refs", "add", url)
    assert (ended.code, "cannot be reached" in ended.err) == (4, True), ended
    assert not site.index.exists()
    assert cached_folders() == []
    return ended.err


def test_a_certificate_that_nobody_knows_is_refused(site: RefSite, server: HttpsServer) -> None:
    assert "certificate" in refused(site, server.url("/style"))
    assert server.asked == []


def test_a_repository_that_is_not_there_is_told(site: RefSite, known: HttpsServer) -> None:
    assert "not found" in refused(site, known.url("/other"))


def test_a_redirection_to_a_protocol_that_is_refused_is_not_followed(
    site: RefSite, known: HttpsServer
) -> None:
    assert "Protocol" in refused(site, known.url(f"{MOVED}style"))
    assert known.asked
    assert all(path.startswith(MOVED) for path in known.asked)


def test_a_credential_helper_of_the_user_s_gives_the_password(
    site: RefSite, remote: Remote, known: HttpsServer, poisoned_home: Path
) -> None:
    helper = poisoned_home / "helper"
    helper.write_text(f"#!/bin/sh\nprintf 'username={NAME}\\npassword={PASSWORD}\\n'\n")
    helper.chmod(0o755)
    (poisoned_home / ".gitconfig").write_text(f"[credential]\n\thelper = {helper}\n")
    follow(site, remote, known.url(f"{PRIVATE}style"))
    assert PASSWORD not in site.index.read_text()
    (folder,) = cached_folders()
    assert PASSWORD not in (folder / "repository.git/config").read_text()


def test_where_nobody_gives_the_password_nobody_is_asked(site: RefSite, known: HttpsServer) -> None:
    assert "Authentication failed" in refused(site, known.url(f"{PRIVATE}style"))
