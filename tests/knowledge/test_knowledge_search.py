"""The search: what it finds."""

import os
from pathlib import Path

import pytest
from in_process import run_in_process
from journeys.json_contract import hold
from knowledge.knowledge_site import KnowledgeSite

from sow.errors import StateError, UsageError
from sow.knowledge import text_index
from sow.knowledge.items import known_items
from sow.knowledge.text_index import search


@pytest.fixture
def filled(site: KnowledgeSite) -> KnowledgeSite:
    """Documents of two kinds."""
    site.write(".sow/knowledge/designs/sessions.md", "# Sessions\n\nA tokén a row.\n\nFirst é.\n")
    site.write(".sow/knowledge/designs/other.md", "# Other\n\nSays sessions, late.\n")
    site.write(".sow/knowledge/decisions/db.md", "# Use SQLite\n\nNo server is needed.\n")
    return site


def paths(site: KnowledgeSite, *words: str) -> list[str]:
    items = known_items(site.workspace, {}).items
    return [Path(hit.path).name for hit in search(site.workspace, items, words)]


def test_words_are_found_by_their_beginnings_without_accents_and_titles_first(filled) -> None:
    assert paths(filled, "session") == ["sessions.md", "other.md"]
    assert paths(filled, "TOKEN") == ["sessions.md"]
    assert paths(filled, "token", "sqlite") == []
    assert paths(filled, "server sql") == ["db.md"]


@pytest.mark.parametrize("words", ['"', "NEAR(", "a* OR", "title:", "-", "''; --", "(", "AND"])
def test_no_word_is_taken_for_a_command_of_the_search(filled, words: str) -> None:
    try:
        paths(filled, words, "sessions")
    except UsageError:
        pytest.fail("there is a word")


def test_a_search_without_a_word_is_refused(filled) -> None:
    for words in ("!?", "_"):
        assert "there is no word" in filled.sow("knowledge", "search", "--", words, code=2)


def test_a_hit_names_file_line_and_excerpt(filled) -> None:
    rows = filled.rows("knowledge", "search", "server")
    hold("knowledge search", rows)
    (row,) = rows
    assert (row["file"], row["line"]) == (".sow/knowledge/decisions/db.md", 3)
    assert "No server is needed." in row["excerpt"]
    assert filled.rows("knowledge", "search", "sessions", "--limit", "1")[0]["title"] == "Sessions"
    assert filled.rows("knowledge", "search", "sessions", "--kind", "decision") == []


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("TOKEN", 3),  # the text says it with an accent
        ("to\u0301ken", 3),  # as a Mac writes an accent: a sign of its own
        ("art", 7),  # line 5 has it within a word
        ("snake-case", 9),
        ("snake_case", 9),
    ],
)
def test_the_line_is_where_the_search_has_found_the_word(site, word: str, line: int) -> None:
    text = "# Sessions\n\nA tokén a row.\n\nİt starts.\n\nOf the art.\n\nIs snake_case.\n"
    site.write(".sow/knowledge/designs/sessions.md", text)
    lines = [hit["line"] for hit in site.rows("knowledge", "search", word)]
    assert lines == [line]


def test_a_kind_that_is_not_there_is_told_with_those_that_are(filled) -> None:
    ended = run_in_process(
        *("knowledge", "list", "--kind", "designs"),
        env=filled.environment,
        cwd=filled.workspace.root,
    )
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == "Nothing of the kind designs; there are: decision, design.\n"


def test_what_has_changed_is_found(filled) -> None:
    assert paths(filled, "walrus") == []
    filled.write(".sow/knowledge/decisions/new.md", "# The walrus\n")
    assert paths(filled, "walrus") == ["new.md"]
    (filled.workspace.root / ".sow/knowledge/decisions/new.md").unlink()
    assert paths(filled, "walrus") == []


def test_nothing_is_written(filled) -> None:
    assert paths(filled, "session") == ["sessions.md", "other.md"]
    assert not filled.workspace.run.exists()


def test_a_sqlite_that_cannot_search_is_told_in_words(
    filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_index, "TABLE", "create virtual table words using fts9 (body)")
    with pytest.raises(StateError, match="no such module"):
        paths(filled, "session")


def test_a_project_is_found_by_its_tasks_and_its_log(site: KnowledgeSite) -> None:
    site.begin("Sign-in")
    site.sow("task", "add", "Hash it", "--agent", "implementer", "--description", "Use argon2.")
    site.sow("agent", "log", "Measured the zebra", "--task", "010")
    site.sow("task", "set", "010", "status", "abandoned")
    site.finish()
    (row,) = site.rows("knowledge", "search", "argon2")
    assert row["file"].endswith("phases/implementation/tasks/010/description.md")
    assert [row["title"] for row in site.rows("knowledge", "search", "zebra")] == ["Sign-in"]


def test_shown_by_id_by_its_beginning_and_by_path(filled, site: KnowledgeSite) -> None:
    site.begin("Sign-in", about="Signs in.")
    site.write("docs/x.md", "# X\n\nText \x1b[31mred\n")
    site.sow("output", "add", "docs/x.md", "--type", "design")
    site.finish()
    (shown,) = site.rows("knowledge", "show", "design-x-")
    hold("knowledge show", [shown])
    assert shown["text"].startswith("# X\n\nText")
    assert site.rows("knowledge", "show", "docs/x.md") == [shown]
    assert site.rows("knowledge", "show", shown["id"]) == [shown]
    project = site.sow("knowledge", "show", "project-sign-in")
    assert "Signs in." in project
    assert "/log.md" in project
    assert "nothing is known by the name" in site.sow("knowledge", "show", "nonsense", code=4)
    assert "nothing is known by the name ''" in site.sow("knowledge", "show", "", code=4)
    site.begin("Sign-in again")
    site.finish()
    assert "2 entries begin with" in site.sow("knowledge", "show", "project-sign", code=4)
    (site.workspace.root / "docs/x.md").unlink()
    assert "does not exist" in site.sow("knowledge", "show", shown["id"], code=4)


def test_a_name_that_is_no_utf8_is_found_listed_and_shown(filled) -> None:
    """Two such names may look alike: by its bytes each is itself, and else it is the first."""
    for byte, text in ((b"\xe8", "one"), (b"\xe9", "two")):
        name = os.fsdecode(b"caf" + byte + b".md")
        filled.write(f".sow/knowledge/designs/{name}", f"Roasted {text}\n")
    shown_id = ".sow/knowledge/designs/caf\ufffd.md"
    assert paths(filled, "token") == ["sessions.md"]
    hits = filled.rows("knowledge", "search", "roasted")
    assert [(hit["id"], hit["title"]) for hit in hits] == [(shown_id, "caf\ufffd")] * 2
    assert [Path(hit["file"]).stem for hit in hits] == ["caf\udce8", "caf\udce9"]
    assert filled.sow("knowledge", "list").count(shown_id) == 2
    assert shown_id in filled.sow("knowledge", "search", "roasted")
    assert filled.rows("knowledge", "show", shown_id)[0]["text"] == "Roasted one\n"
    (shown,) = filled.rows("knowledge", "show", ".sow/knowledge/designs/caf\udce9.md")
    assert shown["text"] == "Roasted two\n"
    assert "nothing is known" in filled.sow("knowledge", "show", "caf\udce7.md", code=4)


def test_agents_read_it(filled) -> None:
    agent = {
        "SOW_ROOT": str(filled.workspace.root),
        "SOW_JOB_ID": "7",
        "SOW_TASK_ID": "010",
        "SOW_AGENT": "researcher",
    }
    assert "Sessions" in filled.sow("knowledge", "list", **agent)
    assert "sessions.md" in filled.sow("knowledge", "search", "token", **agent)
    assert "A tok" in filled.sow("knowledge", "show", ".sow/knowledge/designs/sessions.md", **agent)
