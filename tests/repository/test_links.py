"""The repository's texts: every link leads somewhere."""

from pathlib import Path

import pytest
from repository.markdown import REPOSITORY, TEXTS, anchors, links, read


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(text: Path) -> None:
    broken = [link for link in links(read(str(text))) if not leads_somewhere(text, link)]
    assert not broken


def leads_somewhere(text: Path, link: str) -> bool:
    """Whether a link's file is there, and has the heading that the link names."""
    if link.startswith(("https://", "http://", "mailto:")):
        return True
    name, _, fragment = link.partition("#")
    target = (text.parent / name).resolve() if name else text
    if not target.exists() or not target.is_relative_to(REPOSITORY):
        return False
    return not fragment or fragment in anchors(read(str(target)))


def test_a_link_to_nowhere_is_found(tmp_path: Path) -> None:
    """Guards the finder: the test above passes on nothing found."""
    assert links("See [the guide](docs/guide.md#words) and `[no](link)`.") == [
        "docs/guide.md#words"
    ]
    page = REPOSITORY / "docs/howto/programs.md"
    assert leads_somewhere(page, "../troubleshooting.md")
    assert leads_somewhere(page, "#exit-codes")
    assert not leads_somewhere(page, "#exit-code")
    assert not leads_somewhere(page, "nothing.md")
    assert sum(len(links(read(str(text)))) for text in TEXTS) > 25


def test_the_readme_links_to_the_guide_which_links_to_every_page() -> None:
    assert "docs/guide.md" in links(read("README.md"))
    docs = REPOSITORY / "docs"
    linked = {link.partition("#")[0] for link in links(read("docs/guide.md"))}
    assert {str(page.relative_to(docs)) for page in docs.rglob("*.md")} <= {*linked, "guide.md"}
