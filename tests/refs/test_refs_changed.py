"""What has changed at the remote, or in the index, in ways that nobody meant for references."""

import pytest
from refs.ref_site import RefSite, cached_folders
from refs.remotes import Remote

from sow.refs.adding import add_reference
from sow.refs.for_task import references_of
from sow.refs.linking import make_link
from sow.schema.references import Reference

pytestmark = pytest.mark.slow

NOW = 1_800_000_000.0


def without_links(text: str, name: str, folder: int) -> None:
    """Make no link, as a file system without any."""
    raise OSError(1, "Operation not permitted")


def standing(site: RefSite) -> str:
    """Return how the one reference stands."""
    (found,) = site.lines("refs", "status")
    return str(found["standing"])


@pytest.mark.parametrize("named", ["HEAD^{tree}", "HEAD:README.md"])
def test_a_tag_of_no_commit_is_told_and_what_was_fetched_stays(
    site: RefSite, remote: Remote, named: str
) -> None:
    remote.git("tag", "odd", named)
    site.good("refs", "add", remote.url)
    (folder,) = cached_folders()
    kept = (folder / "repository.git").stat().st_ino
    ended = site.sow("refs", "add", remote.url, "--tag", "odd", "--id", "odd")
    assert (ended.code, "has odd, which names no commit" in ended.err) == (4, True), ended
    assert (folder / "repository.git").stat().st_ino == kept


@pytest.mark.parametrize("is_copied", [False, True])
def test_another_folder_than_the_index_names_now_is_missing(
    site: RefSite, remote: Remote, is_copied: bool
) -> None:
    """A teammate has changed the path, and git has brought the index."""
    remote.write("rules/one.md", "One.\n")
    remote.commit("Rules")
    reference = Reference(id="style", source=remote.url, link="style", path="docs")
    make = without_links if is_copied else make_link
    add_reference(site.workspace, reference, now=NOW, make=make)
    site.index.write_text(site.index.read_text().replace("path: docs", "path: rules"))
    assert [each["presence"] for each in site.lines("refs", "list")] == ["missing"]
    assert standing(site) == "missing"
    (found,) = references_of(site.workspace, ["ref:style"])
    assert found.folder is None
    assert "style: linked at" in site.good("refs", "init").out
    assert [path.name for path in site.link("style").iterdir()] == ["one.md"]
    assert standing(site) == "current"
