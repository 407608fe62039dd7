"""The picture of `sow watch`: README.md shows it, and the real view still looks like that."""

import pytest
from journeys.site import Site
from journeys.watch_picture import PICTURE, picture, scene, words_of
from repository.markdown import read


def test_the_readme_shows_the_picture_which_names_no_other_site() -> None:
    assert "](docs/watch.svg)" in read("README.md")
    assert "http" not in PICTURE.read_text().replace("http://www.w3.org/2000/svg", "")


@pytest.mark.slow
def test_the_picture_is_what_the_view_shows(site: Site) -> None:
    """`python tests/journeys/watch_picture.py` makes it anew."""
    scene(site)
    made, committed = words_of(picture(site)), words_of(PICTURE.read_text())
    assert made == committed
    assert any("Bash: make test" in line for line in committed)
