"""Tasks by a file: what is added, changed, left alone and refused, and what no kill can halve."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from state.conftest import NOON

from sow.errors import StateError
from sow.files import locked_folder
from sow.ids import PhaseName, TaskId
from sow.paths import Workspace
from sow.schema.task import Task, TaskStatus
from sow.state import task_folder
from sow.state.bulk.entries import InvalidEntry, read_entries
from sow.state.bulk.exporting import entries_of
from sow.state.bulk.importing import NotCompleted, import_tasks
from sow.state.bulk.plan import Known, Planned
from sow.state.kept import keeper_hooks
from sow.state.kept.copies import LARGEST, digest, versions
from sow.state.kept.guard import restore_project
from sow.state.kept.store import Kept, kept_at
from sow.state.projects import read_project
from sow.state.status_notes import read_notes, version_of
from sow.state.tasks import add_task, all_places, change_task, find_task, list_tasks, read_task
from sow.yamlfile.rendering import render_entries

LAYERS = """
- key: login
  name: Sign in
  agent: implementer
  description: |
    # Sign in

    With a password.
  priority: 5
- key: search
  name: Search
  agent: tester
  depends_on: [login, "010"]
  checks: [unit]
"""


def known(workspace: Workspace, *, may_make_phases: bool = False) -> Known:
    phases = read_project(workspace).phases
    agents = ["implementer", "tester"]
    return Known(
        *(agents, phases, lambda: ["unit", "lint"], lambda: ["style", "shop"]),
        may_make_phases=may_make_phases,
    )


def bring(workspace: Workspace, text: str, **options: Any) -> list[Planned]:
    given = read_entries(text.encode(), Path("tasks.yaml"))
    return import_tasks(workspace, given, known(workspace, **options), now=NOON)


@pytest.fixture
def begun(workspace: Workspace) -> Workspace:
    """Return a project of one task without a key."""
    add_task(workspace, name="First", agent="implementer", now=NOON)
    return workspace


def by_key(workspace: Workspace) -> Mapping[str, Task]:
    return {task.key: task for task in list_tasks(workspace) if task.key is not UNSET}


def results(planned: list[Planned]) -> list[tuple[str, bool, list[str]]]:
    return [(each.task_id, each.is_kept, list(each.changes)) for each in planned]


def test_new_tasks_are_added_whole(begun: Workspace) -> None:
    planned = bring(begun, LAYERS)
    assert [each.task_id for each in planned] == ["020", "030"]
    tasks = by_key(begun)
    assert (tasks["login"].priority, tasks["login"].status) == (5, TaskStatus.PENDING)
    assert tasks["search"].depends_on == ["020", "010"]
    assert tasks["search"].checks == ["unit"]
    assert find_task(begun, "020").description.read_text() == "# Sign in\n\nWith a password.\n"
    assert find_task(begun, "030").description.read_text() == "# Search\n"
    assert find_task(begun, "030").feedback.is_dir()
    assert not begun.import_journal.exists()
    kept = kept_at(begun.root)
    assert kept is not None
    assert Path(kept.copy(kept.name(find_task(begun, "030").state))).exists()


def versions_after_import(workspace: Workspace) -> tuple[Kept, str, list[tuple[str, str]]]:
    """Import; return what is kept, the name of a new state, and its versions."""
    bring(workspace, LAYERS)
    kept = kept_at(workspace.root)
    assert kept is not None
    name = kept.name(find_task(workspace, "020").state)
    return kept, name, versions(kept, name)


def test_the_first_versions_of_new_tasks_are_listed_in_one_file(begun: Workspace) -> None:
    (begun.root / ".git").mkdir()
    (begun.root / ".git/HEAD").write_text(f"{'a' * 40}\n")
    kept, name, seen = versions_after_import(begun)
    state = find_task(begun, "020").state.read_bytes()
    assert seen == [(digest(state), "a" * 40)]
    assert not Path(kept.versions(name)).exists()
    change_task(begun, "020", lambda _: {"status": TaskStatus.IN_PROGRESS}, now=NOON)
    later = digest(find_task(begun, "020").state.read_bytes())
    assert [version for version, _ in versions(kept, name)][-1] == later


def test_of_too_many_first_versions_each_is_listed_by_itself(begun: Workspace) -> None:
    kept = kept_at(begun.root)
    assert kept is not None
    with Path(kept.first_versions).open("wb") as file:
        file.truncate(LARGEST)
    kept, name, seen = versions_after_import(begun)
    assert Path(kept.versions(name)).exists()
    assert [version for version, _ in seen] == [digest(find_task(begun, "020").state.read_bytes())]


def test_a_torn_list_of_first_versions_takes_no_other_along(begun: Workspace) -> None:
    kept = kept_at(begun.root)
    assert kept is not None
    Path(kept.first_versions).write_text("project/phases/impl")
    assert len(versions_after_import(begun)[2]) == 1


def test_a_file_that_was_kept_before_is_listed_where_it_was(begun: Workspace) -> None:
    kept = kept_at(begun.root)
    assert kept is not None
    own = Path(kept.versions(kept.name(begun.task(PhaseName("implementation"), TaskId("020")))))
    own.mkdir(parents=True)
    (own / "state.yaml").write_text("earlier \n")
    _, _, seen = versions_after_import(begun)
    newest = digest(find_task(begun, "020").state.read_bytes())
    assert [version for version, _ in seen] == ["earlier", newest]


def test_the_first_description_of_a_new_task_is_known_for_an_earlier_one(
    begun: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where git brings it back while a job lives, the later one is put back."""
    bring(begun, LAYERS)
    description = find_task(begun, "020").description
    first = description.read_bytes()
    bring(begun, LAYERS.replace("With a password", "With a key"))
    later = description.read_bytes()
    assert later != first
    monkeypatch.setattr(keeper_hooks.OURS, "witness", lambda _root, _project: "job 7")
    description.write_bytes(first)
    restore_project(begun.root)
    assert description.read_bytes() == later


def test_the_same_file_again_changes_nothing_at_all(begun: Workspace) -> None:
    bring(begun, LAYERS)
    before = {place.state: place.state.stat().st_mtime_ns for place in all_places(begun)}
    assert results(bring(begun, LAYERS)) == [("020", False, []), ("030", False, [])]
    assert {place.state: place.state.stat().st_mtime_ns for place in all_places(begun)} == before


def test_what_has_not_begun_is_changed_and_the_others_are_named(begun: Workspace) -> None:
    bring(begun, LAYERS)
    change_task(begun, "020", lambda _: {"status": TaskStatus.IN_PROGRESS}, now=NOON)
    other = LAYERS.replace("Sign in", "Log in").replace("name: Search", "name: Find")
    planned = bring(begun, other.replace('[login, "010"]', "[]"))
    assert results(planned) == [
        ("020", True, ["name", "description"]),
        ("030", False, ["name", "depends_on"]),
    ]
    assert (read_task(begun, "020").name, read_task(begun, "030").name) == ("Sign in", "Find")
    assert read_task(begun, "030").depends_on == []
    assert "Sign in" in find_task(begun, "020").description.read_text()


def test_a_field_that_is_left_out_stays(begun: Workspace) -> None:
    bring(begun, LAYERS)
    assert results(bring(begun, "- key: search\n  priority: 0\n")) == [("030", False, [])]
    bring(begun, "- key: search\n  checks: []\n")
    task = read_task(begun, "030")
    assert (task.checks, task.depends_on, task.assigned_agent) == ([], ["020", "010"], "tester")


def test_a_task_without_a_key_is_known_by_its_id_and_may_be_given_one(begun: Workspace) -> None:
    bring(begun, '- id: "010"\n  key: first\n  agent: tester\n')
    task = read_task(begun, "010")
    assert (task.key, task.assigned_agent, task.name) == ("first", "tester", "First")


def test_a_new_task_takes_the_id_that_the_file_names(begun: Workspace) -> None:
    text = '- {id: "200", name: A, agent: tester}\n- {key: b, name: B, agent: tester}\n'
    assert [each.task_id for each in bring(begun, text)] == ["200", "210"]


def test_a_phase_is_made_only_where_that_is_asked_for(begun: Workspace) -> None:
    text = "- {key: a, name: A, agent: tester, phase: review}\n"
    with pytest.raises(InvalidEntry, match="the project has no phase review"):
        bring(begun, text)
    bring(begun, text, may_make_phases=True)
    assert read_project(begun).phases == ["implementation", "review"]
    assert by_key(begun)["a"].phase == "review"


def test_json_lines_are_the_same_form(begun: Workspace) -> None:
    lines = [
        {"key": "a", "name": "A", "agent": "tester", "depends_on": ["b"]},
        {"key": "b", "name": "B", "agent": "implementer", "priority": None},
    ]
    bring(begun, "\n".join(map(json.dumps, lines)))
    tasks = by_key(begun)
    assert tasks["a"].depends_on == [tasks["b"].id]
    assert tasks["b"].priority is UNSET


TWO = "- {key: a, name: A, agent: tester}\n- {key: b, name: B, agent: tester%s}\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "tasks.yaml: it has no tasks"),
        ("a: 1", "expected a list, got a mapping"),
        ("- {key: a, nam: x}", r"line 1, \[0\]\.nam: unknown key 'nam'; did you mean 'name'"),
        ("- {key: 010}", "quote it"),
        ("- {key: 'a b'}", r"\[0\]\.key: expected a letter, then letters"),
        ("- {name: A, agent: tester}", "neither a key nor an id"),
        ("- {key: a, agent: tester}", "a new task needs the key 'name'"),
        ("- {key: a, name: A}", "needs the key 'agent'"),
        ("- {key: a, name: A, agent: builder}", r"line 1, \[0\]\.agent: unknown agent: builder"),
        ("- {key: a, name: A, agent: tester, priority: 5000}", "an integer <= 1000"),
        ("- {key: a, name: A, agent: tester, checks: [nit]}", r"checks\[0\]: no such check: nit"),
        (
            "- {key: a, name: A, agent: tester, references: [style, styel]}",
            r"references\[1\]: no such reference: styel",
        ),
        (TWO % ", depends_on: [c]", r"line 2, \[1\]\.depends_on\[0\]: no task has the key or the"),
        (TWO % ", depends_on: ['999']", "no task has the key or the id '999'"),
        (TWO % ", depends_on: [b]", "'b' is the task itself"),
        (TWO.replace("tester}", "tester, depends_on: [b]}") % ", depends_on: [a]", "a → b → a"),
        (TWO.replace("key: b", "key: a") % "", "two tasks in the file have the key 'a'"),
        ('- {id: "010", name: A}\n- {id: "010", name: B}', "two tasks in the file have the id"),
        ("- {key: a, name: A, agent: tester, phase: other}", "the project has no phase other"),
        ('{"key": "a", "name": 1}', "line 1, name: expected a string, got an integer"),
        ('{"key": "a", "name": "A", "agent": "tester"}\n{"key"', "line 2: not JSON"),
        ('{"key": "a", "name": "A", "agent": "tester", "depends_on": ["x"]}', "depends_on.0: no"),
    ],
)
def test_a_fault_is_named_with_its_place_and_nothing_is_changed(
    begun: Workspace, text: str, words: str
) -> None:
    with pytest.raises(InvalidEntry, match=words) as caught:
        bring(begun, text)
    assert caught.value.hint.endswith("Nothing was changed.")
    assert [task.id for task in list_tasks(begun)] == ["010"]
    assert not begun.import_journal.exists()


def test_a_circle_through_tasks_that_are_there_is_named(begun: Workspace) -> None:
    bring(begun, LAYERS)
    with pytest.raises(InvalidEntry, match="login → 030 → login"):
        bring(begun, "- {key: login, depends_on: [search]}\n")


def test_a_key_of_another_id_is_refused(begun: Workspace) -> None:
    bring(begun, LAYERS)
    with pytest.raises(InvalidEntry, match="the task of the key 'login' is 020, not 010"):
        bring(begun, '- {key: login, id: "010"}\n')
    with pytest.raises(InvalidEntry, match="it is task 020, which is already in the file"):
        bring(begun, '- {key: login, name: A}\n- {id: "020", name: B}\n')


def test_a_task_keeps_its_phase(begun: Workspace) -> None:
    with pytest.raises(InvalidEntry, match="cannot change it") as caught:
        bring(begun, '- {id: "010", phase: other}\n', may_make_phases=True)
    assert "sow task remove 010" in caught.value.hint


def exported(workspace: Workspace) -> str:
    entries = entries_of(
        [(place, read_task(workspace, place.task_id)) for place in all_places(workspace)]
    )
    fields = [{name: getattr(each, name) for name in each.__struct_fields__} for each in entries]
    return render_entries([{k: v for k, v in each.items() if v is not None} for each in fields])


@pytest.mark.parametrize(
    "description",
    [
        "one line",
        "# Title\n\n  indented\n\ttab\nend.  \n\nmore",
        "\n\nleading lines",
        "  leading spaces\nand lines",
        "- looks: [like\n  yaml",
        "null",
        "010",
        "bell \x07 and\u2028separators\nnext\u0085line",
        "umlaut ü 🦉\nzwei\r\ndrei",
    ],
)
def test_importing_an_export_changes_nothing(begun: Workspace, description: str) -> None:
    bring(begun, LAYERS)
    find_task(begun, "020").description.write_bytes(description.encode())
    text = exported(begun)
    assert all(each.changes == {} and each.before for each in bring(begun, text))
    assert exported(begun) == text


def test_an_export_makes_the_same_tasks_in_an_empty_project(
    begun: Workspace, tmp_path: Path
) -> None:
    from sow.state.projects import new_project
    from sow.state.workspace_init import init_workspace

    bring(begun, LAYERS)
    text = exported(begun)
    other = Workspace(tmp_path / "other")
    other.root.mkdir()
    init_workspace(other.root)
    new_project(other, name="B", project_id=read_project(begun).id, now=NOON)
    bring(other, text)
    assert exported(other) == text


@pytest.mark.slow
def test_a_killed_import_is_completed_by_whoever_looks_next(begun: Workspace) -> None:
    """Killed at each of its writes: a reader sees nothing of it, or all of it."""
    done = subprocess.run(
        [sys.executable, "-P", Path(__file__).with_name("import_killed.py"), str(begun.root)],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        env={"PYTHONPATH": str(Path(__file__).parents[1])},
    )
    ends = [json.loads(line) for line in done.stdout.splitlines()]
    before, after = ["010: First"], ["010: Other", "020: A", "030: B", "040: C"]
    assert [end["tasks"] for end in ends if end["tasks"] not in (before, after)] == []
    assert ends[0]["tasks"] == before
    assert ends[-1] == {"killed": False, "tasks": after, "left": []}
    assert sum(end["tasks"] == after for end in ends) > 10
    assert [end["left"] for end in ends if end["tasks"] == after and end["left"]] == []


def test_a_killed_import_of_another_project_is_left_alone(begun: Workspace) -> None:
    journal = {"project": "0" * 8, "at": NOON, "phases": [], "new": [], "changed": []}
    begun.import_journal.write_text(json.dumps(journal))
    assert [task.id for task in list_tasks(begun)] == ["010"]
    with pytest.raises(StateError, match="was left by an interrupted import into another"):
        bring(begun, LAYERS)


OUTSIDE = {
    "id": {"id": "../../../../../x"},
    "phase": {"phase": "../x"},
    "file": {"files": {"../../../../../x": "words"}},
}


@pytest.mark.parametrize("what", OUTSIDE)
def test_a_forged_import_writes_nowhere_else(begun: Workspace, what: str) -> None:
    """A repository that somebody else has filled may hold such a file."""
    new = {"id": "020", "phase": "implementation", "files": {"state.yaml": "x"}, **OUTSIDE[what]}
    journal = {"project": read_project(begun).id, "at": NOON, "phases": [], "changed": []}
    begun.import_journal.write_text(json.dumps({**journal, "new": [new]}))
    before = sorted(path for path in begun.root.rglob("*"))
    assert [task.id for task in list_tasks(begun)] == ["010"]
    assert sorted(path for path in begun.root.rglob("*")) == before
    with pytest.raises(StateError, match="not an import record of sow"):
        bring(begun, LAYERS)


@pytest.mark.parametrize("data", [b"", b"[" * 100_000, b"{\xff", b"null", b'{"project": 1}'])
def test_a_damaged_import_is_told_to_whoever_imports(begun: Workspace, data: bytes) -> None:
    begun.import_journal.write_bytes(data)
    assert [task.id for task in list_tasks(begun)] == ["010"]
    with pytest.raises(StateError, match="is not an import record of sow:"):
        bring(begun, LAYERS)


@pytest.mark.slow
def test_whoever_reads_waits_for_an_import_that_is_under_way(
    begun: Workspace, script: Callable[..., subprocess.Popen]
) -> None:
    """The reader is held up by the lock of the project, and sees all when that is free."""
    with locked_folder(begun.project):
        begun.import_journal.write_bytes(_journal_of_one(begun))
        reader = script(
            "from sow.state.tasks import list_tasks\nprint('begins', flush=True)\n"
            "print([task.id for task in list_tasks(workspace)])\n"
        )
        assert reader.stdout is not None
        assert reader.stdout.readline() == "begins\n"
    assert reader.communicate(timeout=240)[0] == "['010', '020']\n"


def test_new_tasks_are_noted_for_the_record_of_changes(begun: Workspace) -> None:
    begun.run.mkdir()
    bring(begun, LAYERS)
    notes, _ = read_notes(begun, 0)
    there = [place for place in all_places(begun) if place.task_id != "010"]
    assert [(note.task, note.status, note.file) for note in notes] == [
        (place.task_id, TaskStatus.PENDING, version_of(place.state)) for place in there
    ]
    assert len(notes) > 1


def test_new_tasks_whose_folder_is_moved_away_meanwhile_are_made_again(
    begun: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by a checkout: the import is not done before all of them lie there."""

    def move_away(folder: Path) -> None:
        shutil.copytree(folder, aside := folder.with_name("aside"))
        folder.rename(folder.with_name("gone"))
        aside.rename(folder)

    monkeypatch.setattr(task_folder, "sync_file_system", move_away)
    with pytest.raises(NotCompleted):
        bring(begun, LAYERS)
    monkeypatch.undo()
    assert begun.import_journal.exists()
    assert len(list_tasks(begun)) == 3
    assert not begun.import_journal.exists()


def _journal_of_one(workspace: Workspace) -> bytes:
    phase, task_id = PhaseName("implementation"), TaskId("020")
    files = task_folder.first_files(
        workspace.task(phase, task_id),
        task_id=task_id, phase=phase, name="A", agent="tester", now=NOON,
    )  # fmt: skip
    new = {"id": "020", "phase": phase, "files": {n: data.decode() for n, data in files.items()}}
    journal = {"project": read_project(workspace).id, "at": NOON, "phases": [phase]}
    return json.dumps({**journal, "new": [new], "changed": []}).encode()


def test_a_task_that_began_as_the_import_was_killed_keeps_what_it_was(begun: Workspace) -> None:
    change = {"id": "010", "phase": "implementation", "changes": {"name": "Late"}}
    journal = {"project": read_project(begun).id, "at": NOON, "phases": [], "new": []}
    change_task(begun, "010", lambda _: {"status": TaskStatus.IN_PROGRESS}, now=NOON)
    begun.import_journal.write_text(json.dumps({**journal, "changed": [change]}))
    assert read_task(begun, "010").name == "First"
    assert not begun.import_journal.exists()


def test_a_thousand_tasks_in_a_row_are_planned(begun: Workspace) -> None:
    from sow.state.bulk.plan import plan_import

    lines = [
        {"key": f"t{n}", "name": "x", "agent": "tester", "depends_on": [f"t{n - 1}"] if n else []}
        for n in range(1000)
    ]
    given = read_entries("\n".join(map(json.dumps, lines)).encode(), Path("x"))
    assert len(plan_import(given, [], known(begun))) == 1000


def test_what_lies_in_a_description_s_place_holds_neither_import_nor_export_up(
    begun: Workspace,
) -> None:
    """An import waits for nothing while it holds the locks of the project and its tasks."""
    place = find_task(begun, "010")
    place.description.unlink()
    os.mkfifo(place.description)
    bring(begun, LAYERS)
    there = [(each, read_task(begun, each.task_id)) for each in all_places(begun)]
    assert [entry.name for entry in entries_of(there)] == ["First", "Sign in", "Search"]


def test_references_are_named_by_their_ids_and_other_entries_stay(begun: Workspace) -> None:
    bring(begun, "- {key: a, name: A, agent: tester, references: [style, style]}")
    assert read_task(begun, TaskId("020")).references == ["ref:style"]
    own = ["docs/old.md", "ref:style"]
    change_task(begun, TaskId("020"), lambda _: {"references": own}, now=NOON)
    (planned,) = bring(begun, "- {key: a, references: [shop]}")
    assert planned.changes == {"references": ["docs/old.md", "ref:shop"]}
    assert read_task(begun, TaskId("020")).references == ["docs/old.md", "ref:shop"]
    exported = entries_of([(place, read_task(begun, place.task_id)) for place in all_places(begun)])
    assert [entry.references for entry in exported] == [None, ["shop"]]
    (planned,) = bring(begun, "- {key: a, references: [shop]}")
    assert planned.changes == {}
    bring(begun, "- {key: a, references: []}")
    assert read_task(begun, TaskId("020")).references == ["docs/old.md"]
