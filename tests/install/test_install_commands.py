"""`sow install`, `sow uninstall` and `sow install status`, as a person calls them."""

import json
import subprocess
from pathlib import Path

import pytest
from in_process import run_in_process
from install.person import Person

from sow.files import NotWritten
from sow.install.places import MARKETPLACE
from sow.install.settings_plan import source_of

OWN = json.dumps({"model": "opus", "permissions": {"deny": ["Read(x)"]}}, indent=4)


@pytest.mark.slow
def test_it_comes_and_goes_and_leaves_nothing(person: Person) -> None:
    before = person.files()
    ended = person.sow("install", "claude")
    assert "Installed the plugin" in ended.out
    settings = json.loads(person.settings.read_text())
    assert settings["extraKnownMarketplaces"]["sow"] == source_of(str(MARKETPLACE))
    assert settings["enabledPlugins"] == {"sow@sow": True}
    assert "needs no change" in person.sow("install", "claude").out
    person.sow("uninstall", "claude")
    assert person.files() == before
    refused = person.sow("uninstall", "claude", code=4)
    assert "not on record" in refused.err


def test_a_person_s_settings_are_as_they_were_and_a_copy_is_kept(person: Person) -> None:
    person.settings.parent.mkdir()
    person.settings.write_text(OWN)
    backup = Path(person.json("install", "claude")["backup"])
    assert backup.read_text() == OWN
    person.sow("uninstall", "claude")
    assert person.settings.read_text() == OWN


def test_an_empty_file_that_was_there_stays(person: Person) -> None:
    person.settings.parent.mkdir()
    person.settings.write_text("{}")
    person.sow("install", "claude")
    person.sow("uninstall", "claude")
    assert json.loads(person.settings.read_text()) == {}


def test_where_nothing_changes_not_a_byte_does(person: Person) -> None:
    person.sow("install", "claude")
    odd = json.dumps(json.loads(person.settings.read_text()), separators=(" ,", " : "))
    person.settings.write_text(odd)
    assert "needs no change" in person.sow("install", "claude").out
    assert person.settings.read_text() == odd


def test_what_could_not_be_written_is_not_on_record(person: Person) -> None:
    person.settings.parent.mkdir()
    person.settings.write_text(OWN)
    person.settings.chmod(0o444)
    person.sow("install", "claude", code=3)
    assert person.settings.read_text() == OWN
    assert "not on record" in person.sow("uninstall", "claude", code=4).err


def noted_marketplace(person: Person, folder: str) -> Path:
    """Have Claude Code's own note of sow's marketplace name a folder; return the note."""
    note = person.home / ".claude/plugins/known_marketplaces.json"
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(json.dumps({"sow": source_of(folder) | {"installLocation": folder}}))
    return note


def test_the_note_of_a_marketplace_goes_with_the_last_that_names_it(person: Person) -> None:
    person.sow("install", "claude")
    person.sow("install", "claude", "--project")
    note = noted_marketplace(person, str(MARKETPLACE))
    person.sow("uninstall", "claude", "--project")
    assert "sow" in json.loads(note.read_text())
    person.sow("uninstall", "claude")
    assert "sow" not in json.loads(note.read_text())


def test_a_sow_that_lies_elsewhere_now_takes_the_note_of_its_old_place_away(
    person: Person,
) -> None:
    person.sow("install", "claude")
    record = person.home / ".config/sow/installed.json"
    for file in (person.settings, record):
        file.write_text(file.read_text().replace(str(MARKETPLACE), "/old/marketplace"))
    note = noted_marketplace(person, "/old/marketplace")
    person.sow("install", "claude")
    assert "sow" not in json.loads(note.read_text())


def test_gits_own_list_gets_what_it_lacks_on_lines_of_its_own(person: Person) -> None:
    subprocess.run(["git", "init", "-q"], cwd=person.repository, check=True)
    exclude = person.repository / ".git/info/exclude"
    exclude.write_text("mine")
    person.sow("install", "claude", "--project")
    name = "/.claude/settings.local.json"
    assert exclude.read_text() == f"{name}\n{name}.backup*\nmine"
    person.sow("uninstall", "claude", "--project")
    assert exclude.read_text() == "mine"
    exclude.unlink()
    person.sow("install", "claude", "--project")
    person.sow("uninstall", "claude", "--project")
    assert not exclude.exists()
    exclude.write_text("/.claude\n")
    person.sow("install", "claude", "--project")
    assert exclude.read_text() == "/.claude\n"


def test_a_file_on_one_line_is_that_line_again(person: Person) -> None:
    person.settings.parent.mkdir()
    own = '{"model":"opus","permissions":{"deny":["Read(x)", "Read(y)"]}}'
    person.settings.write_text(own)
    person.sow("install", "claude")
    person.sow("uninstall", "claude")
    assert person.settings.read_text() == own
    person.sow("install", "claude")
    settings = json.loads(person.settings.read_text())
    person.settings.write_text(json.dumps({**settings, "mine": 1}))
    person.sow("uninstall", "claude")
    assert json.loads(person.settings.read_text()) == {**json.loads(own), "mine": 1}


def test_backups_of_a_repository_s_settings_go_on_being_ignored(person: Person) -> None:
    subprocess.run(["git", "init", "-q"], cwd=person.repository, check=True)
    person.local.parent.mkdir()
    person.local.write_text(OWN)
    person.sow("install", "claude", "--project")
    settings = json.loads(person.local.read_text())
    person.local.write_text(json.dumps({**settings, "mine": 1}))
    person.sow("uninstall", "claude", "--project")
    status = ["git", "status", "--porcelain", "--untracked-files=all"]
    run = subprocess.run(status, cwd=person.repository, check=True, capture_output=True, text=True)
    assert run.stdout == "?? .claude/settings.local.json\n"


def test_a_dry_run_shows_the_difference_and_writes_nothing(person: Person) -> None:
    person.settings.parent.mkdir()
    person.settings.write_text(OWN)
    ended = person.sow("install", "claude", "--dry-run")
    assert '+    "enabledPlugins": {' in ended.out
    assert person.settings.read_text() == OWN
    assert [file.name for file in person.settings.parent.iterdir()] == ["settings.json"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "it is not JSON"),
        ('{"a": 1, "a": 2}', "'a' twice"),
        ('{"permissions": 1}', "no object"),
    ],
)
def test_settings_that_cannot_be_read_are_named_and_left(
    person: Person, content: str, words: str
) -> None:
    person.settings.parent.mkdir()
    person.settings.write_text(content)
    ended = person.sow("install", "claude", code=3)
    assert words in ended.err
    assert "~/.claude/settings.json was left as it is" in ended.err
    assert person.settings.read_text() == content
    person.sow("uninstall", "claude", code=4)


@pytest.mark.parametrize("name", ["app [1]", "a*b", "what?", r"back\\slash"])
def test_a_folder_with_a_name_of_gits_signs_is_ignored_as_well(person: Person, name: str) -> None:
    subprocess.run(["git", "init", "-q", str(person.repository)], check=True)
    folder = person.repository / name
    (folder / ".sow").mkdir(parents=True)
    run_in_process("install", "claude", "--project", env=person.env, cwd=folder)
    file = folder / ".claude/settings.local.json"
    assert file.is_file()
    for path in (file, file.with_name(f"{file.name}.backup.1")):
        asked = ["git", "check-ignore", "-q", str(path)]
        assert subprocess.run(asked, cwd=folder, check=False).returncode == 0
    run_in_process("uninstall", "claude", "--project", env=person.env, cwd=folder)
    assert "settings" not in (person.repository / ".git/info/exclude").read_text()


def test_where_no_backup_can_be_made_the_settings_file_is_as_it_was(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, data: bytes, *, mode: int = 0) -> None:
        raise NotWritten(path, PermissionError(13, "Permission denied"))

    person.settings.parent.mkdir()
    person.settings.write_text(OWN)
    monkeypatch.setattr("sow.config.userfile.write_new", refuse)
    ended = person.sow("install", "claude", code=4)
    assert ended.err.startswith(f"Error: {person.settings}.backup was not written: permission")
    assert "make the folder writable" in ended.err
    assert "SOW_CONFIG" not in ended.err
    assert person.settings.read_text() == OWN


def test_for_a_project_it_is_of_this_machine_alone(person: Person) -> None:
    subprocess.run(["git", "init", "-q"], cwd=person.repository, check=True)
    ended = person.sow("install", "claude", "--project")
    assert "does not trust" in ended.err
    assert f"Start `claude` once in {person.repository}" in ended.err
    status = ["git", "status", "--porcelain", "--untracked-files=all"]
    run = subprocess.run(status, cwd=person.repository, check=True, capture_output=True, text=True)
    assert ".claude" not in run.stdout
    exclude = person.repository / ".git/info/exclude"
    assert "/.claude/settings.local.json\n" in exclude.read_text()
    (person.home / ".claude.json").write_text(
        json.dumps({"projects": {str(person.repository): {"hasTrustDialogAccepted": True}}})
    )
    assert person.json("install", "claude", "--project")["needs_trust"] is False
    person.sow("uninstall", "claude", "--project")
    assert not (person.repository / ".claude").exists()
    assert "settings.local.json" not in exclude.read_text()


def test_status_tells_what_is_amiss(person: Person) -> None:
    assert person.json("install", "status")["ok"] is True
    person.sow("install", "claude")
    found = person.json("install", "status")
    assert [finding["level"] for finding in found["findings"]][:2] == ["ok", "note"]
    settings = json.loads(person.settings.read_text())
    settings["extraKnownMarketplaces"]["sow"] = source_of("/gone/marketplace")
    person.settings.write_text(json.dumps(settings))
    found = person.json("install", "status", code=1)
    assert "another folder than this sow's" in found["findings"][0]["text"]
    person.sow("install", "claude")
    assert person.json("install", "status")["ok"] is True


def test_rules_that_are_no_texts_stay_and_stop_nothing(person: Person) -> None:
    person.settings.parent.mkdir()
    person.settings.write_text(json.dumps({"permissions": {"allow": [{}, ["x"], 3]}}))
    person.sow("install", "claude")
    assert "is installed for you" in person.sow("install", "status").out
    person.sow("uninstall", "claude")
    assert json.loads(person.settings.read_text()) == {"permissions": {"allow": [{}, ["x"], 3]}}


def test_a_marketplace_of_this_name_that_leads_nowhere_is_not_ours(person: Person) -> None:
    person.settings.parent.mkdir()
    person.settings.write_text(
        json.dumps({"extraKnownMarketplaces": {"sow": source_of("/x" * 5000)}})
    )
    assert "is not sow's" in person.sow("install", "claude", code=3).err


def test_what_claude_code_has_noted_of_it_goes_along(person: Person) -> None:
    person.sow("install", "claude")
    notes = person.settings.parent / "plugins"
    notes.mkdir()
    known = {"other": {}, "sow": source_of(str(MARKETPLACE))}
    (notes / "known_marketplaces.json").write_text(json.dumps(known))
    entries = [{"scope": "user"}, {"scope": "local", "projectPath": "/elsewhere"}]
    installed = {"version": 2, "plugins": {"sow@sow": entries}}
    (notes / "installed_plugins.json").write_text(json.dumps(installed))
    person.sow("uninstall", "claude")
    assert json.loads((notes / "known_marketplaces.json").read_text()) == {"other": {}}
    left = json.loads((notes / "installed_plugins.json").read_text())["plugins"]["sow@sow"]
    assert left == entries[1:]


def test_a_text_in_agents_md_that_was_edited_is_shown_and_left(person: Person) -> None:
    file = person.repository / "AGENTS.md"
    file.write_text("Mine.\n")
    person.sow("install", "agents-md")
    edited = file.read_text().replace("Four rules", "Five rules")
    file.write_text(edited)
    for command in ("install", "uninstall"):
        refused = person.sow(command, "agents-md", code=3)
        assert "-## Five rules\n+## Four rules" in refused.err
        assert file.read_text() == edited
    ended = person.json("install", "agents-md", "--force")
    assert Path(ended["backup"]).read_text() == edited
    Path(ended["backup"]).unlink()
    person.sow("uninstall", "agents-md")
    assert file.read_text() == "Mine.\n"


def test_an_edited_agents_md_that_goes_is_kept_in_a_backup(person: Person) -> None:
    file = person.repository / "AGENTS.md"
    before = person.files()
    person.sow("install", "agents-md")
    edited = file.read_text().replace("Four rules", "Five rules")
    file.write_text(edited)
    ended = person.json("uninstall", "agents-md", "--force")
    assert not file.exists()
    assert Path(ended["backup"]).read_text() == edited
    Path(ended["backup"]).unlink()
    person.sow("install", "agents-md")
    person.sow("uninstall", "agents-md", "--force")
    assert person.files() == before, "a text that nobody has edited needs no backup"


def test_agents_md_may_be_a_link_within_the_repository_only(person: Person) -> None:
    (person.home / "mine.md").write_text("Mine.\n")
    file = person.repository / "AGENTS.md"
    file.symlink_to(person.home / "mine.md")
    assert "leads out of the repository" in person.sow("install", "agents-md", code=4).err
    assert (person.home / "mine.md").read_text() == "Mine.\n"
    file.unlink()
    (person.repository / "CLAUDE.md").write_bytes(b"Mine.\r\n")
    file.symlink_to("CLAUDE.md")
    person.sow("install", "agents-md")
    assert b"\r\n" in (person.repository / "CLAUDE.md").read_bytes()
    person.sow("uninstall", "agents-md")
    assert (person.repository / "CLAUDE.md").read_bytes() == b"Mine.\r\n"


def test_older_prompts_are_named_and_moved_when_asked(person: Person) -> None:
    folder = person.repository / ".claude/agents"
    folder.mkdir(parents=True)
    for name in ("implementer.md", "mine.md"):
        (folder / name).write_text(name)
    ended = person.sow("install", "claude", "--project")
    assert "implementer.md" in ended.err
    for text in (ended.err, person.sow("install", "status", code=1).out):
        assert "`sow install claude --project --move-agents`" in text
    person.sow("uninstall", "claude", "--project")
    person.sow("install", "claude")
    assert "`sow install claude --user --move-agents`" in person.sow("install", "status").out
    assert (folder / "implementer.md").exists()
    ended = person.json("install", "claude", "--move-agents")
    (moved,) = ended["moved"]
    assert Path(moved["after"]).read_text() == "implementer.md"
    assert [file.name for file in folder.iterdir()] == ["mine.md"]


def test_an_agent_may_not_install_anything(person: Person) -> None:
    agent = {"SOW_JOB_ID": "1", "SOW_ROOT": str(person.repository), "SOW_AGENT": "orchestrator"}
    for words in (("install", "claude"), ("uninstall", "claude"), ("install", "agents-md")):
        assert "is not for agents" in person.sow(*words, code=4, **agent).err
    assert not person.settings.exists()


def test_a_record_that_cannot_be_read_is_named(person: Person) -> None:
    record = person.home / ".config/sow/installed.json"
    record.parent.mkdir(parents=True)
    record.write_text("{")
    assert "installed.json cannot be used" in person.sow("install", "claude", code=3).err
    assert not person.settings.exists()
