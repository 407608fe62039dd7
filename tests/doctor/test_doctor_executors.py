"""What the doctor says of executors: program, version, flags, login; and what it never does."""

import json
import sys
from pathlib import Path

import pytest
from doctor.clinic import Clinic
from standins import CursorDialect, install_standins

from sow.agents.roles import AGENTS
from sow.doctor.executors import ask

pytestmark = pytest.mark.slow

CURSOR = {"SOW_AGENTS_IMPLEMENTER": "cursor"}
HELPLESS = 'case "$1" in --version) echo 9.9;; *) echo "%s";; esac'


def test_all_is_well_without_a_repository(clinic: Clinic) -> None:
    keys = dict.fromkeys(("ANTHROPIC_API_KEY", "CODEX_API_KEY", "GEMINI_API_KEY"), "sk-secret")
    ended = clinic.examine(**keys)
    assert (ended.code, ended.err) == (0, "")
    claude = clinic.site.base / "bin/claude"
    for line in (
        f"✓ claude-code: claude 2.1.197 ({claude}), plays orchestrator, planner and 12 more roles",
        "✓ claude-code: its help lists every flag that sow uses",
        "✓ claude-code: logged in, by ANTHROPIC_API_KEY",
        "✓ codex: its help lists every flag that sow uses",
        "✓ copilot: its help lists every flag that sow uses",
        "✓ cursor: its help lists every flag that sow uses",
        "✓ gemini: its help lists every flag that sow uses",
        f"✓ windsurf: windsurf ({clinic.site.base}/bin/windsurf)",
        "- No .sow folder here or above: queue, workers and disk were not checked",
        "Agents can run here.",
    ):
        assert f"{line}\n" in ended.out
    assert "sk-secret" not in ended.out


def test_a_bound_executor_that_is_not_installed_is_an_error(clinic: Clinic) -> None:
    clinic.without("claude", "cursor-agent")
    ended = clinic.examine()
    assert ended.code == 1
    assert "✗ Error: claude-code: claude is not on PATH; it plays orchestrator," in ended.out
    assert "  Install claude: npm install -g @anthropic-ai/claude-code\n" in ended.out
    assert "- cursor: cursor-agent is not on PATH; no role is bound to it\n" in ended.out


def test_one_that_the_file_speaks_of_and_nobody_is_bound_to_is_a_warning(clinic: Clinic) -> None:
    clinic.without("cursor-agent")
    clinic.site.configure({"agents": {"executors": {"cursor": {"settings": {"yolo_mode": True}}}}})
    found = [each for each in clinic.findings() if each.get("executor") == "cursor"]
    assert [(each["check_name"], each["level"]) for each in found] == [("program", "warning")]
    assert clinic.examine().code == 0


def test_a_variable_can_bind_what_is_missing(clinic: Clinic) -> None:
    clinic.without("cursor-agent")
    assert clinic.examine(**CURSOR).code == 1


def test_a_role_bound_to_nothing_is_an_error(clinic: Clinic) -> None:
    ended = clinic.examine(SOW_AGENTS_REVIEWER="aider")
    assert ended.code == 1
    assert "✗ Error: SOW_AGENTS_REVIEWER names an unknown executor: aider\n" in ended.out


def test_a_configuration_that_cannot_be_used_is_an_error_and_the_rest_goes_on(
    clinic: Clinic,
) -> None:
    clinic.site.project("010")
    clinic.site.configure({"agents": {"executors": {"x": {"type": "aider"}}}})
    ended = clinic.examine()
    assert ended.code == 1
    assert "✗ Error: Executor types: line 4: agents.executors.x.type" in ended.out
    assert "✓ File locks (flock) work on it\n" in ended.out


@pytest.mark.parametrize(
    ("script", "fault"),
    [
        ("echo 'node: not found' >&2; exit 127", "ended with exit code 127: node: not found"),
        ("kill -9 $$", "was killed by signal 9, without a message"),
    ],
)
def test_a_program_that_does_not_run_is_an_error(clinic: Clinic, script: str, fault: str) -> None:
    path = clinic.program("claude", script)
    ended = clinic.examine("claude-code")
    assert ended.code == 1
    assert f"✗ Error: claude-code: `{path} --version` {fault}\n" in ended.out


def test_a_program_that_never_answers_is_ended_with_its_children(tmp_path: Path) -> None:
    script = tmp_path / "hangs"
    script.write_text("#!/bin/sh\nsleep 983 &\necho $! >pid\nsleep 983\n")
    script.chmod(0o755)
    answer = ask([str(script), "--version"], {"PATH": "/usr/bin:/bin"}, tmp_path, seconds=1)
    assert answer.fault == "did not answer within 1 s"
    # conftest's nothing_left_running fails the test if the child lives on


def test_flags_that_the_help_does_not_list_are_named(clinic: Clinic) -> None:
    clinic.program("claude", HELPLESS % "-p, --output-format --verbose --resume-all --session-id")
    found = clinic.finding("flags", "claude-code")
    assert found["level"] == "warning"
    assert found["missing"] == ["--permission-mode", "--allowedTools", "--resume"]
    assert "--permission-mode, --allowedTools, --resume" in found["text"]


def test_only_the_flags_that_the_settings_use_are_looked_for(clinic: Clinic) -> None:
    clinic.program("claude", HELPLESS % "nothing")
    settings = {"yolo_mode": True, "model": "-m"}
    section = {"settings": settings, "custom_args": ["--hidden"]}
    clinic.site.configure({"agents": {"executors": {"claude-code": section}}})
    missing = clinic.finding("flags", "claude-code")["missing"]
    assert "--dangerously-skip-permissions" in missing
    assert "--model" in missing
    assert not {"--permission-mode", "--hidden"} & set(missing)


COPILOT = """case "$1" in --version) echo "GitHub Copilot CLI 1.0.102.";; *)
echo "--output-format --allow-tool --deny-tool --session-id -r, --resume [<value>] -C";; esac"""


def test_a_version_ends_before_the_full_stop_and_a_flag_before_its_value(clinic: Clinic) -> None:
    clinic.program("copilot", COPILOT).chmod(0o755)
    assert clinic.finding("program", "copilot")["version"] == "1.0.102"
    assert clinic.finding("flags", "copilot")["missing"] == []


@pytest.mark.parametrize(("users", "logged_in"), [('[{"login": "ada"}]', True), ("[]", None)])
def test_a_login_stands_among_settings_below_comments(
    clinic: Clinic, users: str, logged_in: bool | None
) -> None:
    clinic.program("copilot", COPILOT).chmod(0o755)
    file = clinic.site.base / "home/.copilot/config.json"
    file.parent.mkdir(parents=True)
    file.write_text(f'// Managed.\n{{"loggedInUsers": {users}}}\n')
    login = clinic.finding("login", "copilot")
    assert login["logged_in"] is logged_in
    assert ("loggedInUsers" in login["text"]) is bool(logged_in)


def test_both_dialects_of_cursor_are_known(clinic: Clinic) -> None:
    assert clinic.finding("flags", "cursor")["missing"] == []
    install_standins(clinic.site.base / "bin", sys.executable, cursor=CursorDialect.SEEDS)
    assert clinic.finding("flags", "cursor")["missing"] == []
    clinic.program("cursor-agent", HELPLESS % "-p --trust --output-format --resume")
    assert clinic.finding("flags", "cursor")["missing"] == ["create-chat"]


def test_programs_are_asked_for_version_and_help_only_and_once(clinic: Clinic) -> None:
    """Two executors share one program; and Claude Code is kept from looking for updates."""
    log = clinic.site.base / "log"
    clinic.program("claude", f'echo "$*:$DISABLE_AUTOUPDATER:$CLAUDECODE" >>{log}; echo 1.0')
    second = {"type": "claude", "settings": {"model": "opus"}}
    clinic.site.configure({"agents": {"executors": {"claude-opus": second}}})
    clinic.examine(CLAUDECODE="1")
    assert log.read_text().splitlines() == ["--version:1:", "--help:1:"]


def test_a_program_of_the_users_own_is_not_started(clinic: Clinic) -> None:
    """It might take `--version` for a prompt."""
    log = clinic.site.base / "log"
    path = clinic.program("windsurf", f"touch {log}")
    path.with_name("mine").write_text(path.read_text())
    path.with_name("mine").chmod(0o755)
    mine = {"type": "command", "settings": {"command": ["mine"]}}
    clinic.site.configure({"agents": {"executors": {"mine": mine}, "bindings": {"tester": "mine"}}})
    assert f"✓ mine: mine ({path.with_name('mine')}), plays tester\n" in clinic.examine().out
    assert not log.exists()


def test_all_executors_of_a_list_are_looked_at(clinic: Clinic) -> None:
    """One that is missing is an error only where none could take its place."""
    names = ["cursor", "windsurf"]
    bindings = {agent.name: names for agent in AGENTS}
    clinic.site.configure({"agents": {"bindings": bindings}})

    def levels() -> list[str]:
        found = {each["executor"]: each for each in clinic.findings() if "binary" in each}
        assert all("tester" in found[name]["roles"] for name in names)
        return [found[name]["level"] for name in names]

    assert levels() == ["ok", "ok"]
    clinic.without("windsurf")
    assert levels() == ["ok", "warning"]
    clinic.without("cursor-agent")
    assert levels() == ["error", "error"]


def test_a_list_is_told_in_its_order_with_what_each_lacks(clinic: Clinic) -> None:
    clinic.without("codex")
    names = ["claude-code", "codex", "windsurf"]
    bindings = {"implementer": names, "tester": names, "reviewer": ["codex", "claude-code"]}
    clinic.site.configure({"agents": {"bindings": bindings}})
    found = [each for each in clinic.findings() if each["check_name"] == "fallback"]
    assert [(each["level"], each["text"]) for each in found] == [
        (
            "note",
            "implementer, tester: claude-code (no login found), then codex (cannot be run),"
            " then windsurf",
        ),
        ("warning", "reviewer: codex (cannot be run), then claude-code (no login found)"),
    ]
    assert found[0]["executors"][1] == {"executor": "codex", "lacks": ["cannot be run"]}
    lines = clinic.examine(ANTHROPIC_API_KEY="k").out
    assert "not on PATH; it plays reviewer, and is no. 2 of implementer, tester\n" in lines
    assert "and 11 more roles, and is no. 2 of reviewer\n" in lines
    assert "- reviewer: codex (cannot be run), then claude-code\n" in lines
    named = clinic.findings("codex")
    assert not [each for each in named if each["check_name"] == "fallback"]


def test_named_executors_are_looked_at_alone(clinic: Clinic) -> None:
    clinic.site.project("010")
    sections = {each["section"] for each in clinic.findings("windsurf", "cursor")}
    assert sections == {"Configuration", "Executors"}
    clinic.without("windsurf")
    assert clinic.examine("windsurf").code == 1  # it was asked for
    assert clinic.examine("aider").err.startswith("Error: unknown executor: aider\n")
    assert clinic.examine("aider").code == 5


def login(clinic: Clinic, **env: str) -> tuple[str, bool | None, str]:
    found = clinic.finding("login", "claude-code", **env)
    return found["level"], found["logged_in"], found["text"]


def test_no_sign_of_a_login_is_a_warning_that_says_what_to_do(clinic: Clinic) -> None:
    level, logged_in, text = login(clinic, ANTHROPIC_API_KEY="")
    assert (level, logged_in) == ("warning", False)
    assert text == "claude-code: no login was found"
    assert "Run `claude` in a terminal and log in there" in clinic.examine().out


def test_signs_of_a_login(clinic: Clinic) -> None:
    home = clinic.site.base / "home"
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").write_text("{ not JSON")
    assert login(clinic)[1] is False
    (home / ".claude/settings.json").write_text(json.dumps({"apiKeyHelper": "sk-secret"}))
    assert (
        login(clinic)[2]
        == f"claude-code: logged in, by apiKeyHelper in {home}/.claude/settings.json"
    )
    (home / ".claude/.credentials.json").write_text('{"token": "sk-secret"}')
    assert login(clinic)[2] == f"claude-code: logged in, by {home}/.claude/.credentials.json"
    assert login(clinic, CLAUDE_CONFIG_DIR=str(home))[1] is False
    assert "sk-secret" not in clinic.examine().out


def test_gemini_has_several_files_of_a_login_and_a_folder_below_the_one_that_is_named(
    clinic: Clinic,
) -> None:
    own = clinic.site.base / "home/own"
    assert clinic.finding("login", "gemini")["logged_in"] is False
    file = own / ".gemini/gemini-credentials.json"
    file.parent.mkdir(parents=True)
    file.write_text("{}", encoding="utf-8")
    found = clinic.finding("login", "gemini", GEMINI_CLI_HOME=str(own))
    assert found["text"] == f"gemini: logged in, by {file}"


@pytest.mark.parametrize("key", ['"sk-secret"', '"{env:KEY}"', '""'])
def test_opencode_has_its_key_in_its_own_settings_too(clinic: Clinic, key: str) -> None:
    file = clinic.site.base / "home/.config/opencode/opencode.json"
    file.parent.mkdir(parents=True)
    provider = f'{{"none": 1, "mine": {{"options": {{"apiKey": {key}}}}}}}'
    file.write_text(f'{{"provider": {provider}}}', encoding="utf-8")
    found = clinic.finding("login", "opencode")
    assert found["logged_in"] is (key != '""')
    assert found["text"].endswith(f"by apiKey in {file}") is found["logged_in"]


@pytest.mark.skipif(sys.platform != "linux", reason="control groups are Linux's")
def test_who_keeps_each_limit_is_told(clinic: Clinic) -> None:
    limits = {"memory": "4GiB", "cpu": "2h", "processes": 500, "disk": "10GB"}
    clinic.site.configure({"agents": {"executors": {"claude-code": {"limits": limits}}}})
    found = clinic.finding("limits", "claude-code")
    kept = found["kernel"]
    assert found["text"].startswith(
        "claude-code: limits of each run, by a worker that is started here: memory 4GiB ("
    )
    assert "disk 10GB (watched: ended within seconds)" in found["text"]
    assert ("cpu 2h (counted by the kernel)" in found["text"]) == ("cpu" in kept)
    assert ("processes 500 (kept by the kernel)" in found["text"]) == ("processes" in kept)
    is_kept = {"memory", "processes"} <= set(kept)
    assert found["level"] == ("ok" if is_kept else "note")
    assert ("-p Delegate=yes sow worker" in found["remedy"]) != is_kept
    assert "limits" not in {each["check_name"] for each in clinic.findings("cursor")}


@pytest.mark.parametrize(("home", "is_told"), [("shared", True), ("per-session", False)])
def test_what_befalls_runs_that_share_one_home_is_told(
    clinic: Clinic, home: str, is_told: bool
) -> None:
    for name in ("gemini", "codex"):
        section = {"executors": {name: {"home": home}}, "bindings": {"implementer": name}}
        clinic.site.configure({"agents": section})
        out = clinic.examine(name).out
        assert ("share your own configuration folder" in out) is is_told, out


def test_a_key_in_the_executors_env_is_a_sign_and_its_value_is_not_shown(clinic: Clinic) -> None:
    section = {"env": {"ANTHROPIC_AUTH_TOKEN": "sk-secret"}}
    clinic.site.configure({"agents": {"executors": {"claude-code": section}}})
    assert login(clinic)[2] == "claude-code: logged in, by ANTHROPIC_AUTH_TOKEN"
    assert "sk-secret" not in clinic.examine().out


def test_what_cannot_be_told_without_a_request_is_said(clinic: Clinic) -> None:
    found = clinic.finding("login", "cursor")
    assert (found["level"], found["logged_in"]) == ("note", None)
    assert clinic.finding("login", "cursor", CURSOR_API_KEY="sk-secret")["logged_in"] is True


def test_an_agent_of_cursor_that_may_not_run_sow_is_a_warning(clinic: Clinic) -> None:
    """Without `--force` cursor-agent runs only what its own files allow, and so cannot report."""
    clinic.site.project("010")
    ended = clinic.examine("cursor", **CURSOR)
    assert ended.code == 0
    assert "⚠ Warning: cursor: its agents cannot report: yolo_mode is off, and neither" in ended.out
    assert (
        "  Add Shell(sow) to permissions.allow in the project's .cursor/cli.json, or" in ended.out
    )
    file = clinic.site.root / ".cursor/cli.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"permissions": {"allow": ["Shell(sow)", 1]}}))
    assert "cannot report" not in clinic.examine("cursor", **CURSOR).out
    file.write_text(json.dumps({"permissions": {"allow": ["Shell(ls)"]}}))
    assert "cannot report" in clinic.examine("cursor", **CURSOR).out
    clinic.site.configure({"agents": {"executors": {"cursor": {"settings": {"yolo_mode": True}}}}})
    assert "cannot report" not in clinic.examine("cursor", **CURSOR).out


@pytest.mark.parametrize(
    ("settings", "fence", "status"),
    [
        ({}, "asking", "note"),
        ({"preset": "cline"}, "asking", "note"),
        ({"preset": "codex"}, "sandbox", "note"),
        ({"preset": "pi"}, "none", "warning"),
        ({"preset": "cline", "yolo_mode": True}, "none", "warning"),
    ],
)
def test_the_fence_of_an_agent_over_acp_is_told(
    clinic: Clinic, settings: dict[str, object], fence: str, status: str
) -> None:
    log = clinic.site.base / "log"
    clinic.program("windsurf", f"touch {log}")
    mine = {"type": "acp", "settings": {"command": ["windsurf"], **settings}}
    clinic.site.configure({"agents": {"executors": {"mine": mine}, "bindings": {"tester": "mine"}}})
    found = clinic.finding("fence", "mine")
    assert (found["fence"], found["level"]) == (fence, status)
    assert not log.exists()


def test_an_orchestrator_in_a_sandbox_is_told_that_it_cannot_lead(clinic: Clinic) -> None:
    executors = {"claude-code": {"sandbox": "bwrap"}, "lead": {"type": "claude"}}
    clinic.site.configure({"agents": {"executors": executors}})
    found = clinic.finding("leader")
    assert (found["level"], found["executor"]) == ("note", "claude-code")
    assert "Bind orchestrator to an executor without a sandbox" in found["remedy"]
    clinic.site.configure(
        {"agents": {"executors": executors, "bindings": {"orchestrator": "lead"}}}
    )
    assert not [each for each in clinic.findings() if each["check_name"] == "leader"]
