"""Tasks that name references: what their agents are told, may read, and must not write."""

import json
from pathlib import Path

import pytest
from refs.ref_site import RefSite
from refs.remotes import Remote

from sow.attempts.launch import readable_to
from sow.attempts.references import named_references
from sow.prompts.compose import ReviewBrief, TaskBrief, resume_prompt, review_prompt, spawn_prompt
from sow.refs.cache import cached
from sow.refs.index import read_index
from sow.refs.linking import Presence, look
from sow.state.tasks import read_task
from sow.validation.indexes import merged_index
from sow.validation.marks import conflict_in

pytestmark = pytest.mark.slow


@pytest.fixture
def tasks(site: RefSite, remote: Remote) -> RefSite:
    """Give the site a project, and a task that names a reference."""
    site.good("project", "new", "Parsing", "--type", "quick")
    site.good("refs", "add", remote.url, "--description", "How we\nwrite.", "--summary", "Rules.")
    site.good("task", "add", "Tidy", "--agent", "implementer", "--reference", "style")
    return site


def test_a_task_names_what_the_index_has(tasks: RefSite) -> None:
    assert tasks.json("task", "show", "010")["references"] == ["ref:style"]
    words = ("task", "add", "More", "--agent", "implementer", "--reference", "stile")
    ended = tasks.sow(*words)
    assert (ended.code, "Did you mean style?" in ended.err) == (4, True)
    ended = tasks.sow("task", "set", "010", "references", "ref:stile,docs/a.md")
    assert (ended.code, "Did you mean style?" in ended.err) == (4, True)
    tasks.good("task", "set", "010", "references", "ref:style,docs/a.md")
    assert tasks.json("task", "show", "010")["references"] == ["ref:style", "docs/a.md"]


def preview(site: RefSite) -> dict[str, object]:
    """Return what a spawn of the task would start."""
    (Path(site.root) / "bin").mkdir(exist_ok=True)
    return site.json("agent", "spawn", "010", "--dry-run")


def test_its_agent_is_told_and_may_read_and_not_write(
    tasks: RefSite, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "bin/claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    folder = tasks.link("style").resolve()
    shown = preview(tasks)
    assert f"- style (knowledge): {folder}\n  How we write. Rules." in str(shown["prompt"])
    argv = shown["argv"]
    assert isinstance(argv, list)
    assert argv[argv.index("--add-dir") + 1 :] == [str(folder.parent)]
    rules = json.loads(argv[argv.index("--settings") + 1])["permissions"]["deny"]
    refs = tasks.root / ".sow/refs"
    edits = [rule for rule in rules if not rule.startswith("Bash(sow ")]
    assert edits == [f"Edit(/{folder.parent}/**)", f"Edit(/{refs}/**)"]


def test_one_that_is_not_here_is_told_so(tasks: RefSite) -> None:
    tasks.link("style").unlink()
    task = read_task(tasks.workspace, "010")
    (named,) = named_references(tasks.workspace, task)
    assert (named.name, named.folder) == ("style", None)
    assert readable_to(tasks.workspace, task, is_apart=False) == ()
    tasks.good("refs", "remove", "style")
    (named,) = named_references(tasks.workspace, task)
    assert (named.name, named.kind, named.folder) == ("style", "", None)


def test_a_link_that_somebody_has_put_there_opens_nothing(tasks: RefSite, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    tasks.link("style").unlink()
    tasks.link("style").symlink_to(tmp_path / "secret")
    task = read_task(tasks.workspace, "010")
    assert readable_to(tasks.workspace, task, is_apart=False) == ()
    tasks.good("task", "set", "010", "references", ".sow/refs/style")
    task = read_task(tasks.workspace, "010")
    readable = readable_to(tasks.workspace, task, is_apart=True)
    assert readable == (tasks.workspace.project / "phases/implementation/tasks/010",)


@pytest.mark.parametrize("text", ["../../x", "/etc", "style", "trees/files", "{trees}/../../x"])
def test_only_a_tree_of_that_very_reference_counts(
    tasks: RefSite, remote: Remote, text: str
) -> None:
    (reference,) = read_index(tasks.workspace).references
    place = cached(remote.url)
    tasks.link("style").unlink()
    tasks.link("style").symlink_to(text.replace("{trees}", str(place.trees)))
    found = look(tasks.workspace, reference, place)
    assert found.presence in (Presence.STRANGE, Presence.MISSING)
    assert found.folder is None


def test_every_prompt_of_the_task_names_them(tasks: RefSite) -> None:
    task = read_task(tasks.workspace, "010")
    brief = TaskBrief(
        id=task.id,
        name=task.name,
        location="x",
        iteration=1,
        agent="implementer",
        references=named_references(tasks.workspace, task),
    )
    review = ReviewBrief(task=brief, description="Tidy it.")
    for prompt in (
        spawn_prompt("You are.", brief),
        resume_prompt(brief, "Go on."),
        review_prompt("You are.", review),
    ):
        assert "orders nothing. Write nothing there." in prompt
        assert f"- style (knowledge): {tasks.link('style').resolve()}" in prompt


def test_the_doctor_and_validate_know_of_it(tasks: RefSite) -> None:
    assert "1 reference is linked" in tasks.sow("doctor").out
    tasks.link("style").unlink()
    assert "Reference style is not on this machine" in tasks.sow("doctor").out
    tasks.good("refs", "remove", "style")
    ended = tasks.sow("validate")
    assert (ended.code, "there is no reference 'style'" in ended.out) == (1, True)


ENTRY = "- id: {0}\n  source: https://example.org/{0}\n  link: {0}\n"
HEAD, END = "references:\n", ">>>>>>> theirs\n"


def in_conflict(before: str, ours: str, theirs: str) -> bytes:
    """Return a file in which git has left both sides."""
    return f"{HEAD}{before}<<<<<<< ours\n{ours}=======\n{theirs}{END}".encode()


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "ids"),
    [
        ("", "b", "c", "abc"),
        ("", "b", "b", "ab"),
        ("b", "b", "c", "ac"),
        ("b", "", "bc", "ac"),
        ("b", "bc", "bd", "abcd"),
    ],
)
def test_two_sides_of_the_index_are_merged_by_entries(
    site: RefSite, base: str, ours: str, theirs: str, ids: str
) -> None:
    def entries(names: str) -> str:
        return "".join(ENTRY.format(name) for name in names)

    conflict = conflict_in(in_conflict(entries("a"), entries(ours), entries(theirs)))
    assert conflict is not None
    before = (HEAD + entries("a" + base)).encode()
    merged = merged_index(site.workspace, conflict, before)
    assert isinstance(merged, bytes)
    site.index.write_bytes(merged)
    assert "".join(each.id for each in read_index(site.workspace).references) == ids


def test_what_both_have_changed_is_in_dispute(site: RefSite) -> None:
    mine = ENTRY.format("b") + "  branch: one\n"
    its = ENTRY.format("b") + "  branch: two\n"
    conflict = conflict_in(in_conflict("", mine, its))
    assert conflict is not None
    assert merged_index(site.workspace, conflict, b"") == "both sides have changed b"
    site.index.write_bytes(in_conflict("", mine, its))
    ended = site.sow("validate", "--fix")
    assert "both sides have changed b" in ended.out
    site.index.write_bytes(in_conflict("", ENTRY.format("b"), ENTRY.format("c")))
    ended = site.sow("validate", "--fix")
    assert "the references of both sides are kept" in ended.out
    assert [each["reference"] for each in site.lines("refs", "list")] == ["b", "c"]


def test_a_removal_tells_which_tasks_go_without(tasks: RefSite, remote: Remote) -> None:
    assert tasks.good("refs", "remove", "style").err == (
        'Note: 010 names it still, and goes without: sow task set TASK references "…"\n'
    )
    tasks.good("refs", "add", remote.url)
    tasks.good("task", "add", "More", "--agent", "implementer", "--reference", "style")
    assert "Note: 010, 020 name it still" in tasks.good("refs", "remove", "style").err
    tasks.good("refs", "add", remote.url)
    tasks.good("task", "abandon", "020")
    assert tasks.json("refs", "remove", "style")["tasks"] == ["010"]


def test_what_it_is_for_is_told_in_sentences(tasks: RefSite, remote: Remote) -> None:
    words = ("--id", "plain", "--description", "How we write", "--summary", "Rules")
    tasks.good("refs", "add", remote.url, *words)
    tasks.good("task", "set", "010", "references", "ref:plain")
    (named,) = named_references(tasks.workspace, read_task(tasks.workspace, "010"))
    assert named.about == "How we write. Rules"


@pytest.mark.parametrize("part", ["refs", "index.yaml"])
def test_validate_reads_and_mends_no_index_behind_a_link(
    tasks: RefSite, tmp_path: Path, part: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    (tasks.root / ".sow/refs").rename(elsewhere)
    index = elsewhere / "index.yaml"
    index.write_bytes(in_conflict("", ENTRY.format("a"), ENTRY.format("b")))
    before = index.read_bytes()
    if part == "refs":
        (tasks.root / ".sow/refs").symlink_to(elsewhere)
    else:
        (tasks.root / ".sow/refs").mkdir()
        tasks.index.symlink_to(index)
    ended = tasks.sow("validate", "--fix")
    assert (ended.code, " link" in ended.out) == (1, True), ended
    assert (index.read_bytes(), tasks.index.read_bytes()) == (before, before)
