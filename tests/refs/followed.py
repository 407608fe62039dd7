"""A reference from its first fetch to an update, whatever server it comes from."""

from refs.ref_site import RefSite
from refs.remotes import Remote


def follow(site: RefSite, remote: Remote, url: str) -> None:
    """Add what lies at an address, look at it, have it change there, and bring it up to date."""
    name = "style"
    added = site.json("refs", "add", url, "--id", name)
    assert (added["commit"], added["source"]) == (remote.head, url)
    assert (site.link(name) / "docs/style.md").read_text() == "Be brief.\n"
    assert standing(site) == ("current", 0)
    remote.write("docs/style.md", "Be briefer.\n")
    second = remote.commit("Second")
    assert standing(site) == ("behind", 1)
    assert (site.link(name) / "docs/style.md").read_text() == "Be brief.\n"
    site.good("refs", "update")
    assert standing(site) == ("current", 0)
    (listed,) = site.lines("refs", "list")
    assert (listed["presence"], listed["commit"]) == ("linked", second)
    assert (site.link(name) / "docs/style.md").read_text() == "Be briefer.\n"


def standing(site: RefSite) -> tuple[str, int]:
    """Return how the one reference stands, and by how many commits it is behind."""
    (found,) = site.lines("refs", "status")
    return found["standing"], found["behind"]
