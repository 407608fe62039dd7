"""What an ending project puts into the index, and that nothing has to be there to be found."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from in_process import run_in_process
from journeys.json_contract import hold
from knowledge.knowledge_site import KnowledgeSite

from sow.calls import ending
from sow.errors import SowError
from sow.knowledge.filling import fill_index
from sow.knowledge.index import read_entries


def test_a_finished_project_leaves_itself_and_its_documents(site: KnowledgeSite) -> None:
    site.begin("Which tokens", "exploration", "Compares the ways\nto sign in.")
    site.write("docs/tokens.md", "# Tokens compared\n\nJWT is\nenough.\n\nMore.\n")
    site.write(".sow/project/context/notes.md", "---\na: b\n---\n## Notes\n\nA draft.\n")
    site.sow("output", "add", "docs/tokens.md", "--type", "findings")
    site.sow("output", "add", ".sow/project/context/notes.md", "--type", "summary")
    ended = site.finish()
    rows = site.rows("knowledge", "list")
    hold("knowledge list", rows)
    facts = {row["title"]: row for row in rows}
    assert set(facts) == {"Which tokens", "Tokens compared", "Notes"}
    project = facts["Which tokens"]
    assert (project["kind"], project["path"]) == ("exploration", ended["archive"])
    assert project["summary"] == "Compares the ways to sign in."
    tokens = facts["Tokens compared"]
    assert (tokens["kind"], tokens["path"]) == ("findings", "docs/tokens.md")
    assert tokens["summary"] == "JWT is enough."
    assert (tokens["project"], tokens["ended"]) == ("Which tokens", "finished")
    notes = facts["Notes"]
    assert notes["path"] == f"{ended['archive']}/context/notes.md"
    assert all(row["is_here"] for row in rows)
    assert site.sow("validate")


def test_an_approval_is_told_as_long_as_it_holds(site: KnowledgeSite) -> None:
    config = site.write("../config.yaml", "approve: agents\n")
    site.environment["SOW_CONFIG"] = str(config)
    site.begin("Sessions", "design")
    site.write("docs/a.md", "# A\n")
    site.write("docs/b.md", "# B\n")
    for name in ("a", "b"):
        site.sow("output", "add", f"docs/{name}.md", "--type", "design")
        site.sow("approve", f"docs/{name}.md")
    site.write("docs/b.md", "# B, changed\n")
    site.finish()
    rows = {row["title"]: row["approved_by"] for row in site.rows("knowledge", "list")}
    assert rows == {"Sessions": None, "A": "orchestrator", "B, changed": None}


def test_an_abandoned_project_leaves_itself_alone(site: KnowledgeSite) -> None:
    site.begin("Half a thought")
    site.write("docs/half.md", "# Half\n")
    site.sow("output", "add", "docs/half.md", "--type", "design")
    site.sow("project", "abandon")
    (row,) = site.rows("knowledge", "list")
    assert (row["kind"], row["title"], row["ended"]) == ("project", "Half a thought", "abandoned")


def test_without_an_archive_the_documents_that_stay_are_indexed(site: KnowledgeSite) -> None:
    site.begin("Gone")
    site.write("docs/kept.md", "# Kept\n")
    site.write(".sow/project/context/draft.md", "# Draft\n")
    site.sow("output", "add", "docs/kept.md", "--type", "decision")
    site.sow("output", "add", ".sow/project/context/draft.md", "--type", "decision")
    site.finish("--remove")
    assert [row["title"] for row in site.rows("knowledge", "list")] == ["Kept"]


def test_an_end_that_cannot_move_the_folder_leaves_no_entry(
    site: KnowledgeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.begin("Stays")
    site.write(".sow/knowledge/projects", "in the way")
    site.sow("project", "abandon", code=4)
    assert site.index() == {}
    assert site.workspace.project_state.is_file()
    (site.workspace.archive).unlink()
    site.sow("project", "abandon")
    assert len(site.index()) == 1


@pytest.mark.parametrize("moment", ["before the entries", "before the move", "after the move"])
def test_an_end_that_is_cut_short_is_completed_by_the_same_command(
    site: KnowledgeSite, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    site.begin("Cut short")
    site.write("docs/a.md", "# A\n")
    site.sow("output", "add", "docs/a.md", "--type", "design")

    class Killed(BaseException):
        pass

    def fill(*arguments, **more):
        if moment == "before the entries":
            raise Killed
        new = fill_index(*arguments, **more)
        if moment == "before the move":
            raise Killed
        return new

    def sync(folder: Path) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(ending, "fill_index", fill)
        if moment == "after the move":
            patch.setattr(ending, "sync_folder", sync)
        with pytest.raises(Killed):
            site.finish()
    if moment == "after the move":
        assert not site.workspace.project.exists()
    else:
        site.sow("project", "finish")
    assert sorted(row["title"] for row in site.rows("knowledge", "list")) == ["A", "Cut short"]
    assert [row["is_here"] for row in site.rows("knowledge", "list")] == [True, True]
    assert len(site.index()) == 2


def test_an_archive_without_an_index_is_listed_and_searched(site: KnowledgeSite) -> None:
    site.begin("Of an older sow", "design", "It drew the walrus.")
    site.finish()
    shutil.rmtree(site.workspace.knowledge_index)
    (row,) = site.rows("knowledge", "list")
    assert (row["kind"], row["title"], row["id"]) == ("design", "Of an older sow", row["path"])
    (hit,) = {hit["id"] for hit in site.rows("knowledge", "search", "walrus")}
    assert hit == row["id"]


def test_documents_appear_from_the_places_that_the_settings_name(site: KnowledgeSite) -> None:
    site.write(".sow/config.yaml", "artifacts:\n  decisions: docs/adr\n  categories: docs/cat\n")
    site.write("docs/adr/0001-use-sqlite.md", "# Use SQLite\n\nBecause it is there.\n")
    site.write("docs/adr/picture.png", "no text")
    site.write("docs/cat/a.md", "no heading")
    site.write(".sow/knowledge/designs/deep/x.md", "# Deep\n")
    site.write(".sow/knowledge/loose.md", "# Loose\n")
    site.write(".sow/knowledge/breakdown/big-1/010-a.md", "---\nunit: x\n---\n# Unit\n")
    found = {(row["kind"], row["title"]) for row in site.rows("knowledge", "list")}
    assert found == {
        *(("decision", "Use SQLite"), ("category", "a"), ("design", "Deep")),
        *(("note", "Loose"), ("unit", "Unit")),
    }
    assert [row["title"] for row in site.rows("knowledge", "list", "--kind", "design")] == ["Deep"]


def test_of_two_entries_for_one_document_the_later_is_shown(site: KnowledgeSite) -> None:
    for name in ("First", "Second"):
        site.begin(name)
        site.write("docs/same.md", f"# Same, by {name}\n")
        site.sow("output", "add", "docs/same.md", "--type", "design")
        site.finish()
    filed, _ = read_entries(site.workspace)
    assert len([each for each in filed if each.entry.path == "docs/same.md"]) == 2
    rows = [row for row in site.rows("knowledge", "list") if row["path"] == "docs/same.md"]
    assert len(rows) == 1


def test_two_documents_of_one_name_have_two_entries(site: KnowledgeSite) -> None:
    site.begin("Twins")
    for folder in ("a", "b"):
        site.write(f"docs/{folder}/same.md", f"# In {folder}\n")
        site.sow("output", "add", f"docs/{folder}/same.md", "--type", "design")
    site.finish()
    assert len(site.index()) == 3


def validated(site: KnowledgeSite) -> str:
    """Return what `sow validate` prints for programs."""
    return run_in_process("validate", "--json", env=site.environment, cwd=site.workspace.root).out


def test_what_an_entry_names_cannot_lead_out_of_the_repository(site: KnowledgeSite) -> None:
    site.begin("Base")
    site.finish()
    (name,) = site.index()
    text = site.index()[name].decode()
    secret = site.write("../secret.md", "# Secret walrus\n")
    for number, path in enumerate(
        ("../secret.md", "/etc/passwd", "docs/../../secret.md", ".git/config", ".sow/run/x.md")
    ):
        lines = [f"path: {path}" if row.startswith("path:") else row for row in text.splitlines()]
        site.write(f".sow/knowledge/index/bad-{number}.yaml", "\n".join(lines))
    (site.workspace.root / "link.md").symlink_to(secret)
    lines = ["path: link.md" if row.startswith("path:") else row for row in text.splitlines()]
    site.write(".sow/knowledge/index/by-link.yaml", "\n".join(lines))
    rows = site.rows("knowledge", "list")
    assert {row["path"]: row["is_here"] for row in rows if "projects/" not in row["path"]} == {
        "link.md": False
    }
    assert site.rows("knowledge", "search", "walrus") == []
    assert "does not exist" in site.sow("knowledge", "show", "by-link", code=4)
    findings = json.loads(validated(site))["findings"]
    kinds = {Path(found["path"]).stem: found["kind"] for found in findings}
    assert kinds == {"by-link": "knowledge-missing", **{f"bad-{n}": "form" for n in range(5)}}


def test_an_entry_with_a_name_that_no_disk_takes_hides_no_other(site: KnowledgeSite) -> None:
    site.begin("Good")
    site.finish()
    ((_, data),) = site.index().items()
    site.write("docs/kept.txt", "")
    rows = data.decode().splitlines()
    lines = [f"path: docs/{'x' * 900}" if row.startswith("path:") else row for row in rows]
    site.write(".sow/knowledge/index/long.yaml", "\n".join(lines))
    listed = {row["id"]: row["is_here"] for row in site.rows("knowledge", "list")}
    assert listed == {"long": False, **dict.fromkeys(set(listed) - {"long"}, True)}
    assert len(site.rows("knowledge", "search", "good")) == 2
    assert "there is no docs/xxx" in validated(site)


def test_an_entry_that_is_a_link_out_of_the_repository_is_not_read(site: KnowledgeSite) -> None:
    secret = site.write("../secret.txt", "walrus\n")
    site.workspace.knowledge_index.mkdir(parents=True)
    (site.workspace.knowledge_index / "link.yaml").symlink_to(secret)
    _, (error,) = read_entries(site.workspace)
    for words in (error.message, validated(site)):
        assert "leads out of the repository" in words
        assert "walrus" not in words


@pytest.mark.slow
def test_two_branches_that_end_two_projects_merge(site: KnowledgeSite) -> None:
    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words],
            cwd=site.workspace.root,
            env=site.environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-qm", "begin")
    for branch in ("one", "two"):
        git("checkout", "-qb", branch, "main")
        site.begin(f"Of {branch}")
        site.finish()
        git("add", "-A")
        git("commit", "-qm", branch)
    git("merge", "-q", "one")
    assert {row["title"] for row in site.rows("knowledge", "list")} == {"Of one", "Of two"}
    assert site.sow("validate")


def test_two_ends_of_one_project_in_conflict_are_mended_by_the_later(site: KnowledgeSite) -> None:
    site.begin("Both")
    site.finish()
    ((name, data),) = site.index().items()
    ours = data.decode().splitlines()
    theirs = [row.replace("at: 20", "at: 21") for row in ours]
    assert theirs != ours
    (at,) = (number for number, row in enumerate(ours) if row != theirs[number])
    marked = [*ours[:at], "<<<<<<< HEAD", ours[at], "=======", theirs[at], ">>>>>>> b"]
    site.write(f".sow/knowledge/index/{name}", "\n".join([*marked, *ours[at + 1 :], ""]))
    site.sow("validate", "--fix")
    assert site.index()[name].decode().splitlines() == theirs


def test_what_cannot_be_read_hides_nothing_and_is_told(site: KnowledgeSite) -> None:
    site.begin("Good")
    site.finish()
    site.write(".sow/knowledge/index/broken.yaml", "kind: [")
    site.write(".sow/knowledge/index/newer.yaml", "version: 999\n")
    (site.workspace.knowledge_index / "folder.yaml").mkdir()
    os.mkfifo(site.workspace.knowledge_index / "pipe.yaml")
    filed, errors = read_entries(site.workspace)
    assert (len(filed), len(errors)) == (1, 4)
    assert all(isinstance(error, SowError) for error in errors)
    assert [row["title"] for row in site.rows("knowledge", "list")] == ["Good"]
