"""A project that begins with the work units that a breakdown has published."""

from collections.abc import Callable
from pathlib import Path

import pytest
from journeys.json_contract import hold

Sow = Callable[..., object]


@pytest.fixture
def published(sow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A breakdown of four units, one of them abandoned, that was published and has ended."""
    config = tmp_path.parent / f"{tmp_path.name}-config.yaml"
    config.write_text("approve: agents\n")
    monkeypatch.setenv("SOW_CONFIG", str(config))
    sow("init")
    sow("project", "new", "Big move", "--type", "breakdown")
    sow("task", "add", "Move the data", "--agent", "implementer")
    sow("task", "add", "Not wanted", "--agent", "tester")
    sow("task", "add", 'Switch: "over"', "--agent", "integrator", "--depends-on", "010,020")
    sow("task", "add", "Tell them", "--agent", "documenter", "--depends-on", "030")
    folder = tmp_path / ".sow/project/phases/units/tasks/010"
    (folder / "description.md").write_text("# Move the data\n\n---\nAll of it.\n---\n")
    sow("task", "abandon", "020")
    refused = sow("project", "publish")
    assert (refused.code, "sow approve 010 030 040" in refused.err) == (4, True)
    sow("approve", "010", "030", "040")
    sow("advance")
    assert sow("project", "publish").code == 0
    assert sow("advance").code == 0
    done = sow("project", "finish")
    assert "sow project new NAME --from-breakdown big-move-" in done.out
    commands = [line["command"] for line in sow("next", "--json").lines]
    assert commands[1].startswith('sow project new "<name>" --from-breakdown big-move-')
    return sow


def folder_of(tmp_path: Path) -> Path:
    (folder,) = (tmp_path / ".sow/knowledge/breakdown").iterdir()
    return folder


def test_units_become_tasks_with_what_depends_on_what(published, tmp_path) -> None:
    name = folder_of(tmp_path).name
    made = published("project", "new", "Move", "--from-breakdown", name, "--json")
    assert made.code == 0, made.err
    hold("project new", [made.json])
    assert (made.json["type"], made.json["state"]) == ("standard", "planning")
    assert [found["type"] for found in made.json["inputs"]] == ["unit"] * 3
    tasks = published("task", "list", "--json").lines
    assert [(task["task"], task["name"], task["agent"], task["depends_on"]) for task in tasks] == [
        ("010", "Move the data", "implementer", []),
        ("030", 'Switch: "over"', "integrator", ["010"]),
        ("040", "Tell them", "documenter", ["030"]),
    ]
    shown = published("task", "show", "010", "--description", "--json").json
    assert shown["description"] == "# Move the data\n\n---\nAll of it.\n---\n"
    steps = [step["command"] for step in published("next", "--json").lines]
    assert "sow approve plan" in steps
    assert published("validate").code == 0


def test_what_is_dropped_is_told_and_a_path_will_do(published, tmp_path) -> None:
    folder = folder_of(tmp_path).relative_to(tmp_path)
    made = published("project", "new", "Move", "--from-breakdown", str(folder), "--phase", "later")
    assert "unit 030 depended on 020, which no longer exists" in made.err
    assert (tmp_path / ".sow/project/phases/later/tasks/030").is_dir()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace("agent: implementer", "agent: nobody"), "unknown agent: nobody"),
        (lambda text: text.replace("depends_on: []", 'depends_on: ["040"]'), "depends on itself"),
        (lambda text: text.replace('unit: "010"', 'unit: "030"'), "has the same number, 030"),
        (lambda text: text.replace('unit: "010"', "unit: x"), "three or more digits"),
        (lambda text: "# Words alone\n", "does not start with its keys"),
    ],
)
def test_a_file_that_does_not_fit_is_named_and_nothing_is_begun(
    published, tmp_path, change, words
) -> None:
    (file,) = folder_of(tmp_path).glob("010-*.md")
    file.write_text(change(file.read_text()))
    refused = published("project", "new", "Move", "--from-breakdown", folder_of(tmp_path).name)
    assert refused.code in (2, 4)
    assert words in refused.err
    assert not (tmp_path / ".sow/project").exists()


def test_what_is_not_there_names_what_is(published, tmp_path) -> None:
    refused = published("project", "new", "Move", "--from-breakdown", "small")
    assert (refused.code, folder_of(tmp_path).name in refused.err) == (4, True)
    other = published("project", "new", "M", "--type", "design", "--from-breakdown", "x")
    assert (other.code, "starts a standard or a quick project" in other.err) == (2, True)


def test_a_unit_that_is_called_otherwise_has_one_file(sow, tmp_path, monkeypatch) -> None:
    config = tmp_path.parent / f"{tmp_path.name}-config.yaml"
    config.write_text("approve: agents\n")
    monkeypatch.setenv("SOW_CONFIG", str(config))
    sow("init")
    sow("project", "new", "Big", "--type", "breakdown")
    sow("task", "add", "One", "--agent", "implementer")
    sow("approve", "010")
    sow("project", "publish")
    sow("task", "set", "010", "name", "Another")
    sow("approve", "010")
    sow("project", "publish")
    assert [path.name for path in folder_of(tmp_path).iterdir()] == ["010-another.md"]
