"""`sow task log`, and the ends of logs and descriptions that other commands show."""

import json
import time
from pathlib import Path

import pytest

from sow.clock import format_time
from sow.schema.log_entry import LogFrontmatter
from sow.state.log_reading import KEYS
from sow.state.log_writing import LogEntry, write_entry
from sow.state.task_log import append_entry, last_entries, read_entries

FOLDER = Path(".sow/project/phases/implementation/tasks/010")


@pytest.fixture(autouse=True)
def zone(monkeypatch):
    monkeypatch.setenv("TZ", "UTC-2")
    time.tzset()
    yield
    monkeypatch.delenv("TZ")
    time.tzset()


def log(folder, *actions, **fields):
    for action in actions:
        entry = LogEntry("2026-01-31T12:00:05Z", "implementer", action, **fields)
        append_entry(folder, entry)


def test_the_log_is_printed_with_local_times_and_their_dates(begun, tmp_path):
    log(tmp_path / FOLDER, "Read it")
    log(tmp_path / FOLDER, "Which one?", result="blocked", files=("a.py", "b.py"), text="RS\nor HS")
    assert begun("task", "log", "010").out == (
        "2026-01-31 14:00:05  implementer  Read it\n"
        "2026-01-31 14:00:05  implementer  Which one? (blocked)\n"
        "    RS\n"
        "    or HS\n"
        "    files: a.py, b.py\n"
    )


def test_a_program_gets_one_entry_a_line_in_utc(begun, tmp_path):
    log(tmp_path / FOLDER, "One", "Two")
    shown = begun("task", "log", "010", "--json").lines
    assert [entry["action"] for entry in shown] == ["One", "Two"]
    assert shown[0] == {
        "timestamp": "2026-01-31T12:00:05Z",
        "agent": "implementer",
        "action": "One",
        "result": "",
        "files": [],
        "text": "",
        "role": "",
        "job": None,
        "attempt": None,
        "event": "",
        "id": shown[0]["id"],
    }
    assert len(shown[0]["id"]) == 12


def test_the_last_entries_alone(begun, tmp_path):
    log(tmp_path / FOLDER, *(f"Step {number}" for number in range(9)))
    out = begun("task", "log", "010", "-n", "2").out
    assert [line.split("  ")[2] for line in out.splitlines()] == ["Step 7", "Step 8"]


def test_an_agent_reads_its_own_log_without_an_id(begun, tmp_path, monkeypatch):
    log(tmp_path / FOLDER, "Mine")
    monkeypatch.setenv("SOW_TASK_ID", "010")
    assert "Mine" in begun("task", "log").out


def test_an_empty_log_says_so(begun):
    assert begun("task", "log", "010") == (0, "", "Nothing is in the log of task 010 yet.\n")
    assert begun("task", "log", "010", "--json").out == ""


def test_show_tells_the_last_three_entries(begun, tmp_path):
    log(tmp_path / FOLDER, *(f"Step {number}" for number in range(5)))
    out = begun("task", "show", "010").out
    assert "  log          2026-01-31 14:00:05  implementer  Step 2\n" in out
    assert out.endswith("               2026-01-31 14:00:05  implementer  Step 4\n")
    assert "Step 1" not in out


def test_show_gives_the_description_as_it_stands(begun, tmp_path):
    (tmp_path / FOLDER / "description.md").write_text("# Do it\n\nWell.\n")
    assert begun("task", "show", "010", "--description").out == "# Do it\n\nWell.\n"
    as_json = begun("task", "show", "010", "--description", "--json").json
    assert as_json == {"task": "010", "description": "# Do it\n\nWell.\n"}


def test_a_description_that_is_not_there_is_an_error_that_names_it(begun, tmp_path):
    (tmp_path / FOLDER / "description.md").unlink()
    shown = begun("task", "show", "010", "--description")
    assert shown.code == 4
    assert "description.md" in shown.err


def test_what_an_agent_logs_steers_no_terminal(begun, tmp_path):
    log(tmp_path / FOLDER, "Look \x1b[2J", text="here\x07\n\x1b]0;title")
    for words in (("task", "log", "010"), ("task", "show", "010")):
        out = begun(*words).out
        assert "\x1b" not in out
        assert "\x07" not in out


@pytest.mark.parametrize("count", [1, 3, 50])
def test_the_end_of_a_log_is_read_without_the_rest(tmp_path, count):
    log(tmp_path, *(f"Step {number}" for number in range(20)), text="---\nx" * 3)
    assert last_entries(tmp_path / "log.md", count) == read_entries(tmp_path / "log.md")[-count:]


EVENTS = ("", "status", "state")


@pytest.mark.parametrize("text", ["", "event: status\nx", "---\nevent: x\n---"])
@pytest.mark.parametrize("count", [1, 4, 50])
def test_what_tells_of_no_change_is_read_alone(tmp_path, count, text):
    for number in range(30):
        made = LogEntry(format_time(number), "me", f"{number}", event=EVENTS[number % 3], text=text)
        write_entry(tmp_path, made)
    whole = read_entries(tmp_path / "log.md")
    assert len(whole) == 30
    found = last_entries(tmp_path / "log.md", count, with_events=False)
    assert found == [entry for entry in whole if not entry.event][-count:]


def test_the_keys_of_an_entry_are_those_of_its_form():
    assert frozenset(LogFrontmatter.__struct_fields__) == KEYS


def test_one_entry_longer_than_what_is_read_at_first(tmp_path):
    log(tmp_path, "Short")
    log(tmp_path, "Long", text="x" * 300_000)
    assert [each.action for each in last_entries(tmp_path / "log.md", 2)] == ["Short", "Long"]


def test_no_log_has_no_end(tmp_path):
    assert last_entries(tmp_path / "log.md", 3) == []
    (tmp_path / "log.md").write_text("words of a person, no entry\n")
    assert last_entries(tmp_path / "log.md", 3) == []


def test_lines_of_json_are_whole(begun, tmp_path):
    log(tmp_path / FOLDER, 'a "quoted" \n line')
    (line,) = begun("task", "log", "010", "--json").out.splitlines()
    assert json.loads(line)["action"] == 'a "quoted" \n line'


def test_a_time_before_all_calendars_is_shown_as_it_stands(begun, tmp_path):
    entry = LogEntry("0001-01-01T00:00:00Z", "me", "Long ago")
    append_entry(tmp_path / FOLDER, entry)
    assert begun("task", "log", "010").out.endswith("  me  Long ago\n")


def test_a_log_that_is_no_file_hides_no_task(begun, tmp_path):
    (tmp_path / FOLDER / "log.md").unlink(missing_ok=True)
    (tmp_path / FOLDER / "log.md").mkdir()
    shown = begun("task", "show", "010")
    assert shown.code == 0
    assert "log.md" in shown.out
    assert begun("task", "log", "010").code == 4


def test_a_role_that_there_is_not_is_refused_and_one_that_has_logged_nothing_is_not(begun):
    refused = begun("log", "--agent", "implementor")
    assert (refused.code, refused.err.splitlines()[0]) == (2, "Error: unknown agent: implementor")
    assert begun("log", "--agent", "tester").err == "No log entry matches.\n"
    begun("agent", "log", "Looked", "--task", "010", "--agent", "me")
    assert begun("log", "--agent", "me", "--since", "0s").code == 0
