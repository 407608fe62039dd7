"""Settings are read at once, and written so that git reads the same."""

from pathlib import Path

import pytest
from clones.clone_site import plain

from sow.git.settings_text import LOCAL, add_settings, settings_of
from sow.git.view import view_of

ODD = [
    "",
    " two  words ",
    'a "quoted" one',
    "back\\slash\\n",
    "two\nlines",
    "# no comment ; either",
    "tab\there",
    "Größe",
    "\udcff\udcfe",
]


@pytest.mark.parametrize("value", ODD, ids=repr)
@pytest.mark.parametrize("name", ["filter.a b.clean", 'url.https://x/"y"\\.insteadof', "a.b.c.d"])
def test_what_is_written_is_read(tmp_path: Path, name: str, value: str) -> None:
    plain(tmp_path, "init", "-q")
    add_settings(tmp_path, [(name, value), ("other.key", "x"), (name, "again")])
    own = [(found.name, found.value) for found in settings_of(view_of(tmp_path))]
    assert [found for found in own if found[0] in (name, "other.key")] == [
        (name, value),
        ("other.key", "x"),
        (name, "again"),
    ]
    assert plain(tmp_path, "config", "--get", "other.key") == "x"


def test_ours_on_the_command_line_are_none_and_what_is_included_is_the_repositorys_own(
    tmp_path: Path,
) -> None:
    plain(tmp_path, "init", "-q")
    (tmp_path / "included").write_text("[a]\n\tb = c\n\tflag\n")
    plain(tmp_path, "config", "include.path", str(tmp_path / "included"))
    found = settings_of(view_of(tmp_path))
    assert (LOCAL, "a.b", "c") in found
    assert (LOCAL, "a.flag", "true") in found
    assert not [setting for setting in found if setting.name == "credential.helper"]
