"""What has changed at the remote, or in the index, in ways that nobody meant for references."""

import pytest
from refs.ref_site import RefSite, cached_folders
from refs.remotes import Remote


pytestmark = pytest.mark.slow


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
