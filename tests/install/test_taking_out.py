"""What an install has brought goes again: to the last folder, and from wherever it was moved to."""

import json
import subprocess
from pathlib import Path

import pytest
from install.person import Person

OWN = {"model": "opus", "permissions": {"allow": ["Bash(ls:*)"]}, "enabledPlugins": {"a@b": True}}
CONTENTS = {
    "no file": None,
    "nothing in it": b"",
    "two spaces": json.dumps(OWN, indent=2).encode() + b"\n",
    "no last line break": json.dumps(OWN, indent="\t").encode(),
    "CRLF": json.dumps(OWN, indent=3).replace("\n", "\r\n").encode(),
    "by hand": b'\xef\xbb\xbf{ "//": "mine", "a" : 1.0,\n "b":[1,\n 2], "u":"\\u00e9" }\n\n',
}


@pytest.mark.parametrize("scope", ["--user", "--project"])
@pytest.mark.parametrize("content", CONTENTS.values(), ids=list(CONTENTS))
def test_everything_is_as_it_was(person: Person, scope: str, content: bytes | None) -> None:
    subprocess.run(["git", "init", "-q"], cwd=person.repository, check=True)
    file = person.settings if scope == "--user" else person.local
    if content is not None:
        file.parent.mkdir()
        file.write_bytes(content)
    before = person.tree()
    for _ in range(2):
        person.sow("install", "claude", scope)
        person.sow("uninstall", "claude", scope)
    assert person.tree() == before


def test_a_person_s_empty_folders_stay(person: Person) -> None:
    for folder in (person.repository / ".claude/commands", person.home / ".config/sow"):
        folder.mkdir(parents=True)
    before = person.tree()
    person.sow("install", "claude", "--project")
    person.sow("uninstall", "claude", "--project")
    assert person.tree() == before


def test_a_copy_that_says_something_else_stays(person: Person) -> None:
    person.settings.parent.mkdir()
    own = json.dumps({"model": "opus"}, indent=2)
    person.settings.write_text(own)
    person.sow("install", "claude")
    whole = person.settings.read_text()
    other = json.loads(whole) | {"mine": 1}
    del other["enabledPlugins"]
    person.settings.write_text(json.dumps(other))
    kept = Path(person.json("install", "claude")["backup"])
    person.settings.write_text(whole)
    person.sow("uninstall", "claude")
    assert person.settings.read_text() == own
    assert list(person.settings.parent.glob("*.backup*")) == [kept]
    assert json.loads(kept.read_text()) == other


@pytest.mark.parametrize("content", ["[]", '{"enabledPlugins": 1}', None])
def test_what_is_refused_or_only_tried_leaves_nothing(person: Person, content: str | None) -> None:
    if content is not None:
        person.settings.parent.mkdir()
        person.settings.write_text(content)
    before = person.tree()
    if content is None:
        person.sow("install", "claude", "--dry-run")
    else:
        person.sow("install", "claude", code=3)
    person.sow("uninstall", "claude", code=4)
    assert person.tree() == before


def test_it_goes_from_a_repository_that_was_moved_since(person: Person) -> None:
    subprocess.run(["git", "init", "-q"], cwd=person.repository, check=True)
    exclude = ".git/info/exclude"
    before = (person.repository / exclude).read_bytes()
    person.sow("install", "claude", "--project")
    person.repository = person.repository.rename(person.home / "moved")
    assert "is installed for" in person.sow("install", "status", code=1).out
    ended = person.sow("uninstall", "claude", "--project")
    assert "was not on record" in ended.err
    assert not (person.repository / ".claude/settings.local.json").exists()
    assert (person.repository / exclude).read_bytes() == before
    person.sow("uninstall", "claude", "--project", code=4)


def test_it_goes_from_a_file_that_has_become_a_link_since(person: Person) -> None:
    person.settings.parent.mkdir()
    person.settings.write_text('{"model": "opus"}')
    person.sow("install", "claude")
    kept = person.settings.rename(person.home / "kept.json")
    person.settings.symlink_to(kept)
    ended = person.sow("uninstall", "claude")
    assert "on record" not in ended.err
    assert person.settings.is_symlink()
    assert json.loads(kept.read_text()) == {"model": "opus"}
    assert not (person.home / ".config").exists()


def test_settings_of_another_machine_are_taken_over(person: Person) -> None:
    person.sow("install", "claude")
    settings = person.settings.read_text()
    source = json.loads(settings)["extraKnownMarketplaces"]["sow"]["source"]["path"]
    (person.home / ".config/sow/installed.json").unlink()
    person.settings.write_text(settings.replace(source, "/another/marketplace"))
    assert "another folder" in person.sow("install", "status", code=1).out
    person.sow("install", "claude")
    person.sow("install", "status")
    person.sow("uninstall", "claude")
    assert not person.settings.exists()


def test_a_plugin_that_is_switched_off_is_no_fault(person: Person) -> None:
    person.sow("install", "claude")
    text = person.settings.read_text()
    person.settings.write_text(text.replace('"sow@sow": true', '"sow@sow": false'))
    ended = person.sow("install", "status")
    assert "is switched off there, and stays so" in ended.out
    assert "`claude plugin enable sow@sow` switches it on" in ended.out


def test_another_s_marketplace_of_that_name_is_named_as_such(person: Person) -> None:
    other = {"extraKnownMarketplaces": {"sow": {"source": {"source": "github", "repo": "a/b"}}}}
    person.settings.parent.mkdir()
    person.settings.write_text(json.dumps(other))
    assert "is another's" in person.sow("install", "status").out
    person.settings.write_text("{}")
    person.sow("install", "claude")
    person.settings.write_text(json.dumps(other))
    assert "is not sow's any more" in person.sow("install", "status", code=1).out
