"""What is answered when an agent asks for permission, in the forms that were recorded."""

from pathlib import Path
from typing import Any

import pytest

from sow.acp.permissions import Decision, Rights, decide
from sow.acp.presets import PRESETS, UNKNOWN, Preset

ONCE = {"optionId": "proceed_once", "kind": "allow_once"}
ALWAYS = {"optionId": "proceed_always", "kind": "allow_always"}
REJECT = {"optionId": "cancel", "kind": "reject_once"}
OWN, OTHER = "sow task show 010", "sow task show 010; touch x"


def ask(call: dict[str, Any], name: str, rights: Rights, *options: dict[str, str]) -> Decision:
    preset = PRESETS[name] if name else UNKNOWN
    once = {**ONCE, "optionId": preset.allows or "once"}
    return decide(
        {"toolCall": call, "options": list(options or (ALWAYS, once, REJECT))}, preset, rights
    )


@pytest.fixture
def rights(tmp_path: Path) -> Rights:
    folder = tmp_path / "work"
    folder.mkdir()
    return Rights(
        folder=str(folder),
        commands=("task show",),
        readable=(str(tmp_path / "readable"),),
        unwritable=(str(folder / "reference"),),
    )


def commands(line: str) -> list[tuple[str, dict[str, Any]]]:
    """Return how each agent asks for a command."""
    execute: dict[str, Any] = {"toolCallId": "1", "kind": "execute", "status": "pending"}
    described = {"command": line, "description": "sow task show 010"}
    return [
        ("claude", {**execute, "title": line, "rawInput": described}),
        ("qwen", {**execute, "title": line, "rawInput": {**described, "is_background": False}}),
        ("opencode", {**execute, "title": line, "rawInput": {"command": line}}),
        ("copilot", {**execute, "title": OWN, "rawInput": {"command": line, "commands": [line]}}),
        ("codex", {**execute, "title": OWN, "rawInput": {"command": line, "cwd": "/"}}),
        ("cline", {**execute, "title": f"run_commands: {OWN}", "rawInput": {"commands": [line]}}),
        ("gemini", {**execute, "title": line, "content": [], "locations": []}),
        ("", {**execute, "title": OWN, "rawInput": {"command": line}}),
    ]


def test_a_command_of_sow_is_allowed_once_in_each_agents_form(rights: Rights) -> None:
    for name, call in commands(OWN):
        decision = ask(call, name, rights)
        assert decision.is_allowed, name
        assert decision.option == ((PRESETS[name] if name else UNKNOWN).allows or "once")
        assert decision.rule == OWN


def test_any_other_command_is_refused_this_once(rights: Rights) -> None:
    for name, call in commands(OTHER):
        decision = ask(call, name, rights)
        assert (decision.is_allowed, decision.option) == (False, "cancel"), name
        assert decision.reason


UNKNOWN_FORMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("claude", {}),
    ("claude", {"title": OWN, "kind": "execute"}),
    ("claude", {"title": OWN, "kind": "execute", "rawInput": {"command": [OWN]}}),
    ("claude", {"title": OWN, "kind": "execute", "rawInput": {"command": OWN, "shell": "/x"}}),
    ("claude", {"title": OWN, "kind": "other", "rawInput": {"url": "http://x"}}),
    ("claude", {"title": OWN, "kind": "fetch"}),
    ("cline", {"title": OWN, "kind": "execute", "rawInput": {"commands": []}}),
    ("cline", {"title": OWN, "kind": "execute", "rawInput": {"commands": [OWN, OTHER]}}),
    ("cline", {"title": OWN, "kind": "execute", "rawInput": {"commands": [OWN, 7]}}),
    ("copilot", {"kind": "execute", "rawInput": {"command": OWN, "commands": [OTHER]}}),
    ("gemini", {"title": OWN, "kind": "execute", "rawInput": {"x": 1}}),
    ("gemini", {"title": OWN, "kind": "other"}),
    ("gemini", {"title": 7, "kind": "execute"}),
    ("", {"title": OWN, "kind": "execute"}),
    ("", {"kind": "move", "rawInput": {"path": "a", "to": "/x"}}),
    ("opencode", {"title": "read", "kind": "read", "rawInput": {}}),
)


def test_a_form_that_is_not_known_is_refused(rights: Rights) -> None:
    for name, call in UNKNOWN_FORMS:
        decision = ask(call, name, rights)
        assert (decision.is_allowed, decision.option) == (False, "cancel"), (name, call)


def test_what_is_no_call_at_all_is_refused(rights: Rights) -> None:
    for question in ({}, {"toolCall": None}, {"toolCall": [], "options": 7}):
        assert decide(question, UNKNOWN, rights) == Decision(
            None, False, "a tool", "the form of the question is not known"
        )


def test_no_option_is_taken_that_allows_more_than_one_call(rights: Rights) -> None:
    call = {"kind": "execute", "rawInput": {"command": OWN}}
    switches = {"optionId": "proceed_once_and_switch", "kind": "allow_once"}
    assert ask(call, "qwen", rights, ALWAYS, REJECT).option == "cancel"
    assert ask(call, "qwen", rights, switches, REJECT).option == "cancel"
    assert ask(call, "qwen", rights, switches, ONCE, REJECT).option == "proceed_once"
    assert ask(call, "", rights, switches, ONCE, REJECT).option == "cancel"  # which one, is unknown
    assert ask(call, "qwen", rights, ALWAYS).option is None
    assert ask(call, "qwen", rights, {"optionId": "no", "kind": "reject_always"}).option is None


def edits(path: str) -> list[tuple[str, dict[str, Any]]]:
    """Return how each agent asks for an edit of a file."""
    edit: dict[str, Any] = {"toolCallId": "1", "kind": "edit", "title": "Write new.txt"}
    diff = {"content": [{"type": "diff", "path": path, "oldText": "", "newText": "x"}]}
    where = {"locations": [{"path": path}]}
    patch = f"*** Begin Patch\n*** Add File: {path}\n+*** Add File: x\n*** End Patch\n"
    return [
        ("claude", {**edit, **diff, **where, "rawInput": {"file_path": path, "content": "x"}}),
        ("gemini", {**edit, **diff, **where}),
        ("qwen", {**edit, **diff, **where, "rawInput": {"file_path": path, "content": "x"}}),
        ("opencode", {**edit, **diff, **where, "rawInput": {"filepath": path, "diff": "x"}}),
        ("copilot", {**edit, **where, "rawInput": {"fileName": path, "diff": "x"}}),
        ("cline", {**edit, "kind": "other", "rawInput": {"input": patch}}),
    ]


def test_an_edit_inside_the_folder_is_allowed(rights: Rights) -> None:
    for path in ("new.txt", f"{rights.folder}/a/new.txt", f"{rights.folder}/../work/x"):
        for name, call in edits(path):
            assert ask(call, name, rights).is_allowed, (name, path)


def test_an_edit_elsewhere_is_refused(rights: Rights, tmp_path: Path) -> None:
    folder = Path(rights.folder)
    (folder / "link").symlink_to(tmp_path)
    (folder / "a/b/c").mkdir(parents=True)
    (folder / "deep").symlink_to("a/b/c")
    for path in (
        *("/etc/passwd", "../x", f"{tmp_path}/x", "link/x", f"{folder}/reference/x"),
        *(".git/hooks/pre-commit", f"{folder}/sub/.git/config", f"{folder}x/y", "a/../../x"),
        *(".claude/settings.json", "sub/.Qwen/x", f"{folder}/opencode.json", "a\0b", "\ud800"),
        *("~/x", "~root/x", " /etc/passwd", "\t~/x", "x\u2028/../../../etc/x", "deep/../../../x"),
    ):
        for name, call in edits(path):
            decision = ask(call, name, rights)
            assert (decision.is_allowed, decision.option) == (False, "cancel"), (name, path)
    notebook = {"file_path": "x", "notebook_path": "/etc/x", "new_source": "y"}
    assert not ask({"kind": "edit", "rawInput": notebook}, "claude", rights).is_allowed


@pytest.mark.parametrize(
    "patch",
    [
        "",
        "*** Add File: x\n+y\n",
        "%%bash\n*** Begin Patch\n*** Add File: x\n+y\n*** End Patch",
        "*** Begin Patch\n*** Add File: x\n+y\n",
        "*** Begin Patch\n*** Add File:x\n+y\n*** End Patch",
        "*** Begin Patch\n*** Add File: x\n+y\n *** Add File: /etc/x\n+y\n*** End Patch",
        "*** Begin Patch\n*** Update File: x\n*** Move to: /etc/x\n*** End Patch",
        "*** Begin Patch\n*** Add File: x\n+y\n*** End Patch\n*** Begin Patch\n*** End Patch",
        "*** Begin Patch\n*** End Patch",
        "*** Begin Patch\n*** Add File: x\u2028/../../../etc/x\n+y\n*** End Patch",
        "*** Begin Patch\n*** Add File: x\n+y\r*** Add File: /etc/x\n+y\n*** End Patch",
    ],
)
def test_a_patch_is_refused_of_which_not_every_file_is_known(rights: Rights, patch: str) -> None:
    assert not ask({"kind": "other", "rawInput": {"input": patch}}, "cline", rights).is_allowed


def test_a_patch_is_an_edit_for_the_agent_alone_that_sends_patches(rights: Rights) -> None:
    patch = "*** Begin Patch\n*** Add File: x\n+y\n*** End Patch"
    call = {"kind": "other", "rawInput": {"input": patch}}
    assert ask(call, "cline", rights).is_allowed
    assert not ask(call, "claude", rights).is_allowed


def test_a_folder_below_an_agents_settings_is_like_any_other(tmp_path: Path) -> None:
    folder = tmp_path / ".claude/worktrees/one"
    folder.mkdir(parents=True)
    call = {"kind": "edit", "rawInput": {"file_path": "new.txt"}}
    assert ask(call, "claude", Rights(folder=str(folder))).is_allowed


@pytest.mark.slow
def test_what_is_too_much_to_look_at_is_refused(rights: Rights) -> None:
    many = [{"path": f"file-{number}"} for number in range(1001)]
    long = {"rawInput": {"command": "sow task show " + "x" * 200_000}, "kind": "execute"}
    for call in ({"kind": "edit", "locations": many}, {"kind": "read", "locations": many}, long):
        assert not ask(call, "claude", rights).is_allowed
    for kind in ("edit", "read"):
        assert ask({"kind": kind, "locations": many[:1000]}, "claude", rights).is_allowed


def test_reading_is_allowed_where_the_agent_may_read(rights: Rights, tmp_path: Path) -> None:
    for path, is_allowed in (("a", True), (f"{tmp_path}/readable/x", True), ("/etc/x", False)):
        for name, call in (
            (
                "copilot",
                {"kind": "read", "rawInput": {"path": path}, "locations": [{"path": path}]},
            ),
            ("cline", {"kind": "read", "rawInput": {"files": [{"path": path}]}}),
        ):
            assert ask(call, name, rights).is_allowed is is_allowed, (name, path)
    search = {"kind": "search", "rawInput": {"queries": ["x"]}}
    assert ask(search, "cline", rights).is_allowed


def test_who_may_do_all_is_still_allowed_each_call_once(rights: Rights) -> None:
    freed = rights._replace(allows_all=True)
    for name, call in (*UNKNOWN_FORMS, *commands(OTHER), *edits("/etc/x")):
        decision = ask(call, name, freed)
        assert decision.is_allowed, (name, call)
        assert decision.option != "proceed_always"


def test_each_preset_names_what_it_needs() -> None:
    for name, preset in PRESETS.items():
        assert isinstance(preset, Preset)
        assert preset.fence in ("asking", "sandbox", "none"), name
        assert preset.why, name
        assert bool(preset.mode) == (preset.fence != "none"), name
