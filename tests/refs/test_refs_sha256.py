"""References to repositories whose objects are named by SHA-256, as new ones may be."""

import json
import shutil
from pathlib import Path

import pytest
from refs.followed import follow, standing
from refs.https_server import serving
from refs.ref_site import RefSite, cached_folders
from refs.remotes import Remote

from sow.git.own_bare import own_bare
from sow.git.repository import SHA1, SHA256

pytestmark = pytest.mark.slow


@pytest.fixture
def modern(tmp_path: Path) -> Remote:
    """Give a repository of this kind, where the other tests have one of the other."""
    return Remote.begun(tmp_path / "remotes" / "style", SHA256)


def kept_format() -> str:
    """Return the format of the one repository in the cache."""
    (folder,) = cached_folders()
    return own_bare(folder / "repository.git").object_format


def test_it_is_added_and_followed(site: RefSite, modern: Remote) -> None:
    assert len(modern.head) == 64
    follow(site, modern, modern.url)
    assert kept_format() == SHA256


def test_so_it_is_over_https(
    site: RefSite, modern: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(modern.path.parent, tmp_path / "certificates") as server:
        monkeypatch.setenv("GIT_SSL_CAINFO", str(server.authority))
        follow(site, modern, server.url("/style"))


def test_a_folder_and_a_tag_of_it_are_linked(site: RefSite, modern: Remote) -> None:
    first = modern.head
    modern.git("tag", "-a", "v1", "-m", "The first")
    modern.commit("Second")
    words = ("--path", "docs", "--tag", "v1", "--id", "rules")
    assert site.json("refs", "add", modern.url, *words)["commit"] == first
    assert [path.name for path in site.link("rules").iterdir()] == ["style.md"]


def test_what_the_machine_has_is_linked_offline(site: RefSite, modern: Remote) -> None:
    site.good("refs", "add", modern.url)
    site.link("style").unlink()
    modern.path.rename(modern.path.with_name("gone"))
    assert json.loads(site.good("refs", "init", "--json").out)["result"] == "linked"
    assert (site.link("style") / "README.md").exists()


@pytest.mark.parametrize(("before", "after"), [(SHA1, SHA256), (SHA256, SHA1)])
def test_a_remote_that_was_made_anew_in_the_other_format_is_followed(
    site: RefSite, tmp_path: Path, before: str, after: str
) -> None:
    old = Remote.begun(tmp_path / "remotes" / "style", before)
    site.good("refs", "add", old.url)
    assert kept_format() == before
    shutil.rmtree(old.path)
    new = Remote.begun(old.path, after)
    new.write("README.md", "Anew.\n")
    new.commit("Anew")
    assert standing(site) == ("diverged", 0)
    assert "set to the remote" in site.good("refs", "update").out
    assert (site.link("style") / "README.md").read_text() == "Anew.\n"
    assert (standing(site), kept_format()) == (("current", 0), after)
