"""Single damages of a valid tree, each with the finding that has to name it.

A damage that needs what the tree does not have returns None and changes nothing.
"""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

from sow.paths import Workspace
from sow.validation.kinds import Kind

DAMAGES: dict[str, Callable[[Workspace, Random], "Expected | None"]] = {}


class Expected(NamedTuple):
    """The finding that names a damage."""

    kind: Kind
    path: Path
    line: int | None


def damage(function: Callable[[Workspace, Random], "Expected | None"]):
    DAMAGES[function.__name__] = function
    return function


def states(workspace: Workspace) -> list[Path]:
    return sorted(workspace.project.glob("phases/*/tasks/*/state.yaml"))


def some_state(workspace: Workspace, dice: Random, pattern: str = "") -> Path | None:
    """Return a task's state that holds a pattern."""
    found = [path for path in states(workspace) if re.search(pattern, path.read_text(), re.M)]
    return dice.choice(found) if found else None


def listed_phases(workspace: Workspace) -> list[str]:
    """Return the phases that the project lists."""
    found = re.search(r"^  phases: \[(.*)\]", workspace.project_state.read_text(), re.M)
    return found[1].split(", ")


def line_of(path: Path, pattern: str) -> int:
    """Return the first line that a pattern is found in, counted from 1."""
    lines = path.read_text().split("\n")
    return next(number for number, line in enumerate(lines, 1) if re.search(pattern, line))


def change(path: Path, pattern: str, new: str) -> int:
    """Change the first line that fits, and return its number."""
    line = line_of(path, pattern)
    lines = path.read_text().split("\n")
    lines[line - 1] = re.sub(pattern, new, lines[line - 1])
    path.write_text("\n".join(lines))
    return line


def into_task(path: Path, line: str) -> int:
    """Add a line to the end of a task's fields, and return its number."""
    lines = path.read_text().rstrip("\n").split("\n")
    at = next((n for n, each in enumerate(lines) if each.startswith("version:")), len(lines))
    lines.insert(at, f"  {line}")
    path.write_text("\n".join([*lines, ""]))
    return at + 1


def without(path: Path, key: str) -> None:
    """Take a field out, with what stands below it."""
    path.write_text(re.sub(rf"^  {key}:.*\n(    .*\n|  - .*\n)*", "", path.read_text(), flags=re.M))


def set_field(path: Path, key: str, value: str) -> int:
    """Give a task a field in place of what it has; return its line."""
    without(path, key)
    return into_task(path, f"{key}: {value}")


@damage
def a_state_that_is_a_folder(workspace, dice):
    path = some_state(workspace, dice)
    if path is None:
        return None
    path.unlink()
    path.mkdir()
    return Expected(Kind.UNREADABLE, path, None)


@damage
def a_log_that_is_a_pipe(workspace, dice):
    if not workspace.project.is_dir():
        return None
    import os

    path = workspace.project / "log.md"
    path.unlink()
    os.mkfifo(path)
    return Expected(Kind.UNREADABLE, path, None)


@damage
def a_description_that_nobody_can_read(workspace, dice):
    path = some_state(workspace, dice)
    if path is None:
        return None
    description = path.with_name("description.md")
    description.unlink()
    description.symlink_to("description.md")
    return Expected(Kind.UNREADABLE, description, None)


@damage
def marks_in_a_description(workspace, dice):
    path = some_state(workspace, dice)
    if path is None:
        return None
    description = path.with_name("description.md")
    description.write_text("Words.\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> theirs\n")
    return Expected(Kind.CONFLICT, description, 2)


@damage
def marks_in_the_settings(workspace, dice):
    path = workspace.repository_config
    path.write_text("# x\n<<<<<<< HEAD\nreviews: required\n=======\n>>>>>>> theirs\n")
    return Expected(Kind.CONFLICT, path, 2)


@damage
def marks_in_a_state(workspace, dice):
    path = some_state(workspace, dice)
    if path is None:
        return None
    line = line_of(path, "^  name:")
    lines = path.read_text().split("\n")
    marks = ["<<<<<<< HEAD", "  name: Ours", "=======", "  name: Theirs", ">>>>>>> theirs"]
    path.write_text("\n".join([*lines[: line - 1], *marks, *lines[line:]]))
    return Expected(Kind.CONFLICT, path, line)


@damage
def a_state_that_is_no_yaml(workspace, dice):
    path = some_state(workspace, dice)
    if path is None:
        return None
    return Expected(Kind.FORM, path, change(path, "^  status: .*", "  status: ]"))


@damage
def an_unknown_key(workspace, dice):
    path = some_state(workspace, dice)
    return path and Expected(Kind.FORM, path, into_task(path, "prioritty: 3"))


@damage
def a_project_without_a_name(workspace, dice):
    if not workspace.project_state.is_file():
        return None
    line = change(workspace.project_state, "^  name: .*", "  name: ''")
    return Expected(Kind.FORM, workspace.project_state, line)


@damage
def a_number_of_the_folder_that_is_a_word(workspace, dice):
    path = workspace.sow / ".version"
    path.write_text("two\n")
    return Expected(Kind.FORM, path, 1)


@damage
def a_number_of_the_folder_that_is_empty(workspace, dice):
    path = workspace.sow / ".version"
    path.write_text("")
    return Expected(Kind.FORM, path, 1)


@damage
def a_state_of_a_later_sow(workspace, dice):
    path = some_state(workspace, dice)
    if path is None:
        return None
    path.write_text(re.sub("^version: .*\n", "", path.read_text(), flags=re.M) + "version: 99\n")
    return Expected(Kind.NEWER, path, line_of(path, "^version: 99"))


@damage
def a_folder_of_a_later_sow(workspace, dice):
    path = workspace.sow / ".version"
    path.write_text("99\n")
    return Expected(Kind.NEWER, path, 1)


@damage
def a_number_that_is_missing(workspace, dice):
    path = some_state(workspace, dice, "^version: 2")
    if path is None:
        return None
    path.write_text(path.read_text().replace("version: 2\n", ""))
    return Expected(Kind.NUMBER, path, 1)


@damage
def a_number_of_the_folder_that_is_too_low(workspace, dice):
    texts = [path.read_text() for path in workspace.sow.rglob("state.yaml")]
    if not any(re.search("^version: 2", text, re.M) for text in texts):
        return None
    (workspace.sow / ".version").write_text("1\n")
    return Expected(Kind.NUMBER, workspace.sow / ".version", 1)


@damage
def a_task_without_a_state(workspace, dice):
    path = some_state(workspace, dice)
    if path is None:
        return None
    path.unlink()
    return Expected(Kind.NO_STATE, path.parent, None)


@damage
def a_project_without_a_state(workspace, dice):
    if not workspace.project_state.is_file():
        return None
    workspace.project_state.unlink()
    return Expected(Kind.NO_STATE, workspace.project, None)


@damage
def a_file_among_the_tasks(workspace, dice):
    path = some_state(workspace, dice)
    if path is None:
        return None
    stray = path.parent.with_name("notes.md")
    stray.write_text("x")
    return Expected(Kind.STRAY, stray, 1)


@damage
def a_folder_among_the_phases(workspace, dice):
    if not workspace.project.is_dir():
        return None
    folder = workspace.phases / "Phase 2"
    folder.mkdir()
    (folder / "x").write_text("x")
    return Expected(Kind.STRAY, folder, None)


@damage
def another_id_than_the_folders(workspace, dice):
    path = some_state(workspace, dice)
    return path and Expected(Kind.MISPLACED, path, change(path, "^  id: .*", '  id: "777"'))


@damage
def another_phase_than_the_folders(workspace, dice):
    path = some_state(workspace, dice)
    return path and Expected(Kind.MISPLACED, path, change(path, "^  phase: .*", "  phase: other"))


@damage
def one_id_in_two_phases(workspace, dice):
    path = some_state(workspace, dice)
    phases = listed_phases(workspace) if path is not None else []
    phase = max(phases, default="")
    if path is None or phase <= path.parents[2].name:
        return None
    other = workspace.phases / phase / "tasks" / path.parent.name / "state.yaml"
    other.parent.mkdir(parents=True)
    other.write_text(path.read_text())
    change(other, "^  phase: .*", f"  phase: {phase}")
    without(other, "feedback")
    line = change(other, "^  name: .*", "  name: Another")
    return Expected(Kind.SAME_ID, other, line - 1)


@damage
def one_key_of_two_tasks(workspace, dice):
    if len(states(workspace)) < 2:
        return None
    first, second = sorted(dice.sample(states(workspace), 2))
    for path in (first, second):
        set_field(path, "key", "login")
        path.write_text(re.sub("^version: .*\n", "", path.read_text(), flags=re.M) + "version: 2\n")
    (workspace.sow / ".version").write_text("2\n")
    return Expected(Kind.SAME_KEY, second, line_of(second, "^  key:"))


@damage
def a_dependency_that_stands_there_twice(workspace, dice):
    path = some_state(workspace, dice, r"^  depends_on: \[\"")
    if path is None:
        return None
    line = change(path, r'depends_on: \["(\d+)"', r'depends_on: ["\1", "\1"')
    return Expected(Kind.LISTED_TWICE, path, line)


@damage
def a_feedback_of_the_project_that_stands_there_twice(workspace, dice):
    if not workspace.project_state.is_file():
        return None
    path = workspace.project_state
    text = path.read_text()
    found = re.search(r"^  feedback:\n((?:  - .*\n(?:    .*\n)*))", text, re.M)
    if found is None:
        return None
    first = re.match(r"  - .*\n(?:    .*\n)*", found[1])[0]
    path.write_text(text.replace(found[1], found[1] + first))
    line = text[: found.end()].count("\n") + 1
    return Expected(Kind.LISTED_TWICE, path, line)


@damage
def a_dependency_on_nothing(workspace, dice):
    path = some_state(workspace, dice)
    return path and Expected(Kind.UNKNOWN_TASK, path, set_field(path, "depends_on", '["999"]'))


@damage
def an_approval_of_no_unit(workspace, dice):
    path = workspace.project_state
    if not path.is_file() or "  units:" not in path.read_text():
        return None
    return Expected(Kind.UNKNOWN_TASK, path, change(path, r'^    id: "\d+"', '    id: "999"'))


@damage
def a_task_that_waits_for_itself(workspace, dice):
    path = some_state(workspace, dice)
    if path is None:
        return None
    line = set_field(path, "depends_on", f'["{path.parent.name}"]')
    return Expected(Kind.CIRCLE, path, line)


@damage
def two_tasks_that_wait_for_each_other(workspace, dice):
    if len(states(workspace)) < 2 or "  units:" in workspace.project_state.read_text():
        return None
    first, second = states(workspace)[:2]
    line = set_field(first, "depends_on", f'["{second.parent.name}"]')
    set_field(second, "depends_on", f'["{first.parent.name}"]')
    if first.parent.name > second.parent.name:
        return Expected(Kind.CIRCLE, second, line_of(second, "depends_on"))
    return Expected(Kind.CIRCLE, first, line)


@damage
def a_phase_that_is_not_listed(workspace, dice):
    path = some_state(workspace, dice)
    if path is None:
        return None
    state = workspace.project_state
    phase = path.parents[2].name
    others = [name for name in listed_phases(workspace) if name != phase]
    line = change(state, "^  phases: .*", f"  phases: [{', '.join(others) or 'nothing'}]")
    without(state, "finished_phases")
    return Expected(Kind.UNLISTED_PHASE, state, line)


@damage
def a_finished_phase_that_is_none(workspace, dice):
    state = workspace.project_state
    if not state.is_file() or "finished_phases" not in state.read_text():
        return None
    line = change(state, "^  finished_phases: .*", "  finished_phases: [nothing]")
    return Expected(Kind.UNKNOWN_PHASE, state, line)


@damage
def a_role_that_does_not_exist(workspace, dice):
    path = some_state(workspace, dice)
    return path and Expected(
        Kind.UNKNOWN_ROLE, path, change(path, "^  assigned_agent: .*", "  assigned_agent: nobody")
    )


@damage
def a_check_that_does_not_exist(workspace, dice):
    path = some_state(workspace, dice, "^  checks:")
    return path and Expected(
        Kind.UNKNOWN_CHECK, path, change(path, "^  checks: .*", "  checks: [nothing]")
    )


@damage
def feedback_of_a_task_without_its_file(workspace, dice):
    files = sorted(workspace.project.glob("phases/*/tasks/*/feedback/*.md"))
    if not files:
        return None
    path = dice.choice(files)
    path.unlink()
    state = path.parent.with_name("state.yaml")
    return Expected(Kind.FEEDBACK_MISSING, state, line_of(state, rf"file: {path.name}"))


@damage
def feedback_of_the_project_without_its_file(workspace, dice):
    files = sorted(workspace.project_feedback.glob("*.md"))
    if not files:
        return None
    path = dice.choice(files)
    path.unlink()
    state = workspace.project_state
    line = line_of(state, rf'- id: "{path.stem}"')
    return Expected(Kind.FEEDBACK_MISSING, state, line)


@damage
def feedback_that_no_state_names(workspace, dice):
    path = some_state(workspace, dice)
    if path is None:
        return None
    file = path.parent / "feedback" / "099.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text("x")
    return Expected(Kind.FEEDBACK_UNNAMED, file, 1)


@damage
def feedback_on_the_project_that_it_does_not_name(workspace, dice):
    if not workspace.project_state.is_file():
        return None
    file = workspace.project_feedback / "099.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text("x")
    return Expected(Kind.FEEDBACK_UNNAMED, file, 1)


@damage
def a_listed_file_that_is_gone(workspace, dice):
    drafts = sorted((workspace.project / "context").glob("*.md"))
    if not drafts:
        return None
    path = dice.choice(drafts)
    path.unlink()
    state = workspace.project_state
    return Expected(Kind.FILE_MISSING, state, line_of(state, path.name))


@damage
def a_listed_file_outside_of_the_repository(workspace, dice):
    if not list((workspace.project / "context").glob("*.md")):
        return None
    state = workspace.project_state
    line = change(state, "path: .*", "path: ../../../../etc/passwd")
    return Expected(Kind.FILE_MISSING, state, line)


@damage
def a_reference_to_nothing(workspace, dice):
    path = some_state(workspace, dice)
    return path and Expected(
        Kind.REFERENCE_MISSING, path, set_field(path, "references", "[.sow/knowledge/nothing.md]")
    )


@damage
def a_reference_that_the_index_does_not_have(workspace, dice):
    path = some_state(workspace, dice)
    return path and Expected(
        Kind.UNKNOWN_REFERENCE, path, set_field(path, "references", '["ref:nothing"]')
    )


@damage
def an_index_of_references_that_leads_elsewhere(workspace, dice):
    path = workspace.reference_index
    path.parent.mkdir(exist_ok=True)
    entry = "references:\n- id: a\n  source: https://example.org/a\n  link: ../a\n"
    path.write_text(entry)
    return Expected(Kind.FORM, path, 4)


@damage
def an_approved_file_that_has_changed(workspace, dice):
    state = workspace.project_state
    if not state.is_file():
        return None
    pattern = r"path: (\S.*draft \d\.md)\n(?:    (?:type|by|at): .*\n)*    approved:"
    found = re.search(pattern, state.read_text())
    if found is None:
        return None
    (workspace.root / found[1]).write_text("Changed.\n")
    line = state.read_text()[: found.end()].count("\n") + 1
    return Expected(Kind.APPROVAL_OUTDATED, state, line)


@damage
def an_approved_unit_that_has_changed(workspace, dice):
    state = workspace.project_state
    if not state.is_file() or "  units:" not in state.read_text():
        return None
    found = re.search(r'content: .*\n    id: "(\d+)"', state.read_text())
    (description,) = workspace.project.glob(f"phases/*/tasks/{found[1]}/description.md")
    description.write_text("Changed.\n")
    line = state.read_text()[: found.start()].count("\n") + 1
    return Expected(Kind.APPROVAL_OUTDATED, state, line)


@damage
def a_completed_task_without_its_time(workspace, dice):
    path = some_state(workspace, dice, "^  status: completed")
    if path is None:
        return None
    without(path, "completed_at")
    return Expected(Kind.TIMES, path, line_of(path, "^  status:"))


@damage
def a_time_of_completion_of_a_task_at_work(workspace, dice):
    path = some_state(workspace, dice, "^  status: (paused|failed|needs_review|pending)")
    return path and Expected(
        Kind.TIMES, path, into_task(path, "completed_at: 2026-01-31T12:00:00Z")
    )


@damage
def a_session_without_an_id(workspace, dice):
    path = some_state(workspace, dice, "^  session:")
    if path is None:
        return None
    without(path, "session_id")
    return Expected(Kind.SESSION, path, line_of(path, "^  session:"))


@damage
def a_state_that_the_type_does_not_have(workspace, dice):
    path = workspace.project_state
    if not path.is_file() or "  state:" not in path.read_text():
        return None
    return Expected(Kind.WRONG_STATE, path, change(path, "^  state: .*", "  state: dreaming"))


@damage
def a_completed_project_with_work_left(workspace, dice):
    path = workspace.project_state
    if not path.is_file() or "  type: standard" not in path.read_text():
        return None
    unfinished = some_state(workspace, dice, "^  status: (?!completed|abandoned)")
    if unfinished is None or "  outputs:" in path.read_text() or "status: open" in path.read_text():
        return None
    return Expected(Kind.STATE_UNMET, path, change(path, "^  state: .*", "  state: completed"))


@damage
def a_torn_entry(workspace, dice):
    path = workspace.project / "log.md"
    if not path.is_file():
        return None
    text = path.read_text()
    path.write_text(text + "\n---\nid: 0123456789ab\ntimestamp: 2026-01-31T12:0")
    return Expected(Kind.LOG_ENTRY, path, (text + "\n").count("\n") + 1)


@damage
def an_entry_with_a_wrong_time(workspace, dice):
    path = workspace.project / "log.md"
    if not path.is_file():
        return None
    text = path.read_text()
    path.write_text(
        f"{text}\n---\nagent: a\naction: b\n---\n\n---\ntimestamp: noon\nagent: a\n---\n"
    )
    return Expected(Kind.LOG_ENTRY, path, (text + "\n").count("\n") + 7)


@damage
def an_interrupted_write(workspace, dice):
    path = some_state(workspace, dice)
    if path is None:
        return None
    draft = path.with_name(".state.yaml.4711-0123456789ab.tmp")
    draft.write_text("task:")
    return Expected(Kind.LEFTOVER, draft, 1)


@damage
def a_task_that_was_being_made(workspace, dice):
    path = some_state(workspace, dice)
    if path is None:
        return None
    draft = path.parent.with_name(".030.0123456789ab.tmp")
    draft.mkdir()
    (draft / "log.md").write_text("")
    return Expected(Kind.LEFTOVER, draft, None)


@damage
def an_interrupted_import(workspace, dice):
    if not workspace.project_state.is_file():
        return None
    found = re.search(r"^  id: (.*)", workspace.project_state.read_text(), re.M)
    journal = {"project": found[1], "at": 0, "phases": [], "new": [], "changed": []}
    workspace.import_journal.write_text(json.dumps(journal))
    return Expected(Kind.UNFINISHED_IMPORT, workspace.import_journal, 1)


@damage
def attributes_that_say_nothing_of_logs(workspace, dice):
    path = workspace.sow / ".gitattributes"
    path.write_text("*.png binary\n")
    return Expected(Kind.NO_UNION, path, 1)


@damage
def no_attributes(workspace, dice):
    path = workspace.sow / ".gitattributes"
    path.unlink()
    return Expected(Kind.NO_UNION, path, None)


@damage
def settings_of_another_form(workspace, dice):
    path = workspace.repository_config
    path.write_text("# x\nreviews: sometimes\n")
    for state in states(workspace):
        without(state, "checks")
    return Expected(Kind.SETTINGS, path, 2)


@damage
def a_default_check_that_is_none(workspace, dice):
    path = workspace.repository_config
    path.write_text("checks:\n  lint: make lint\n  default: [nothing]\n")
    return Expected(Kind.SETTINGS, path, 3)


@damage
def a_prompt_with_an_unknown_variable(workspace, dice):
    path = workspace.prompts / "guidance/tester/base.add.md"
    path.parent.mkdir(parents=True)
    path.write_text("A line.\n{{nothing}}\n")
    return Expected(Kind.PROMPT, path, 2)


@damage
def a_prompt_with_an_unknown_command(workspace, dice):
    path = workspace.prompts / "guidance/tester/base.add.md"
    path.parent.mkdir(parents=True)
    path.write_text("A line.\n\nRun `sow task burn`.\n")
    return Expected(Kind.PROMPT, path, 3)


@damage
def a_prompt_that_nobody_asks_for(workspace, dice):
    path = workspace.prompts / "guidance/nobody.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("A line.\n")
    return Expected(Kind.PROMPT, path, None)


@damage
def an_archived_project_that_was_not_ended(workspace, dice):
    found = sorted(workspace.archive.glob("*/state.yaml"))
    if not found:
        return None
    path = dice.choice(found)
    without(path, "ending")
    return Expected(Kind.ARCHIVE, path, line_of(path, "^project:"))


@damage
def an_archived_project_that_goes_on(workspace, dice):
    found = sorted(workspace.archive.glob("*/state.yaml"))
    if not found or not workspace.project_state.is_file():
        return None
    project = re.search(r"^  id: .*", workspace.project_state.read_text(), re.M)[0]
    return Expected(Kind.ARCHIVE, found[0], change(found[0], "^  id: .*", project))


@damage
def an_archived_project_with_the_state_of_the_present_one(workspace, dice):
    """As a merge leaves it; git has the right one."""
    found = sorted(workspace.archive.glob("*/state.yaml"))
    if not found or not workspace.project_state.is_file():
        return None
    own = re.search(r"^  id: (.{8})", found[0].read_text(), re.M)[1]
    folder = found[0].parent.rename(f"{found[0].parent}-{own}")
    who = ("-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false")
    for words in (("init", "-q"), ("add", ".sow"), (*who, "commit", "-qm", "ended")):
        subprocess.run(["git", *words], cwd=workspace.root, check=True)
    state = folder / "state.yaml"
    project = re.search(r"^  id: .*", workspace.project_state.read_text(), re.M)[0]
    change(state, "^  id: .*", project)
    return Expected(Kind.MIXED, state, None)


@damage
def an_archived_task_of_another_form(workspace, dice):
    found = sorted(workspace.archive.glob("*/phases/*/tasks/*/state.yaml"))
    if not found:
        return None
    path = dice.choice(found)
    return Expected(Kind.FORM, path, change(path, "^  status: .*", "  status: dreaming"))


def an_entry(workspace: Workspace, path: str) -> Path:
    file = workspace.knowledge_index / "design-x-0b5f4b7e.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    project = "{id: 0b5f4b7e-2d1a-4b58-9d8e-0e0e0e0e0e0e, name: X, type: design, ended: finished}"
    lines = (
        *("kind: design", "title: X", f"path: {path}", "at: 2026-01-31T12:00:00Z"),
        f"project: {project}",
    )
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


@damage
def an_entry_of_knowledge_that_names_what_is_not_there(workspace, dice):
    return Expected(Kind.KNOWLEDGE_MISSING, an_entry(workspace, "docs/nothing.md"), 3)


@damage
def an_entry_of_knowledge_that_leads_out(workspace, dice):
    return Expected(Kind.FORM, an_entry(workspace, "../../etc/passwd"), 3)
