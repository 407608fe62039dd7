"""What each file and variable does to the configuration in effect."""

import os
import subprocess
import sys

import pytest
from built_in import BUILT_IN
from config.seed_examples import (
    ADVANCED,
    GENERATED,
    MINIMAL,
    MIXED,
    SHOWN,
    STRUCTURE,
    THREE_EXECUTORS,
)

from sow.config.clones import setup_commands
from sow.config.config_errors import InvalidConfiguration
from sow.config.defaults import BUILT_IN_EXECUTORS
from sow.config.effective import clone_settings_given
from sow.config.load import load_named
from sow.config.origin import DEFAULT, FILE, REPOSITORY, from_environment
from sow.errors import ExecutorError
from sow.schema.executor import Limits
from sow.schema.executor_type import ExecutorType, HomeUse, NetworkUse, SandboxUse


@pytest.mark.parametrize(
    ("text", "exists"),
    [
        (None, False),
        ("", True),
        ("\n \n", True),
        ("# only\n  # comments\n", True),
        ("---\n# a document of nothing\n", True),
        ("\ufeff# with a byte order mark\n", True),
        ("agents:\n", True),
        ("agents:\n  executors:\n    # cursor:\n  bindings:\n", True),
        ("agents: {executors: {claude-code: }, bindings: {implementer: }}", True),
        ("worker:\nretry:\n", True),
        ("worker: {concurrency: , autostart: null, idle_exit: ~}", True),
        (
            "agents: {executors: {claude-code: {type: claude, settings: , env: , timeout: }}}",
            True,
        ),
    ],
)
def test_what_says_nothing_leaves_the_defaults(load, text, exists):
    configuration = load(text)

    assert configuration.exists is exists
    assert configuration.warnings == ()
    assert dict(configuration.executors) == BUILT_IN_EXECUTORS
    assert set(configuration.bindings.values()) == {"claude-code"}
    assert configuration.worker.concurrency == 4
    assert configuration.worker.autostart is True
    assert configuration.worker.idle_exit_seconds == 600
    assert configuration.retry_on_quota is True
    assert configuration.retry_worker_deaths == 5


def test_the_built_in_executors_are_cautious_and_try_twice_more(load):
    executors = load().executors

    assert [(each.name, each.type) for each in executors.values()] == list(BUILT_IN.items())
    assert BUILT_IN["claude-code"] is ExecutorType.CLAUDE
    assert all(each.yolo_mode is False and each.retries == 2 for each in executors.values())


def test_the_minimal_example_says_what_holds_anyway(load):
    assert load(MINIMAL).executors == load().executors


def test_the_mixed_example(load):
    configuration = load(MIXED)

    binding = configuration.binding("implementer")
    assert (binding.role, binding.executor.name, binding.origin) == ("implementer", "cursor", FILE)
    assert binding.executor.yolo_mode is True
    assert binding.executor.model is None
    assert configuration.binding("reviewer").executor.model == "sonnet"


def test_the_advanced_example(load):
    configuration = load(ADVANCED)

    models = {role: configuration.binding(role).executor.model for role in configuration.bindings}
    assert models == {
        "orchestrator": "opus",
        "implementer": None,
        "architect": "opus",
        "reviewer": "sonnet",
        "planner": "sonnet",
        "researcher": "sonnet",
        "security-reviewer": None,
    }
    own = [name for name in configuration.executors if name not in BUILT_IN_EXECUTORS]
    assert own == ["claude-opus", "claude-sonnet"]


def test_the_whole_structure_of_seed_000(load):
    configuration = load(STRUCTURE)

    assert configuration.executors["claude-code"].model == "sonnet"
    named = ("claude-code", "cursor", "windsurf")
    assert all(configuration.executors[name].yolo_mode for name in named)
    assert configuration.executors["windsurf"].custom_args == ("--cascade",)
    assert configuration.binding("implementer").executor.name == "cursor"
    (warning,) = configuration.warnings
    assert warning.startswith("agents.executors.windsurf.settings.yolo_mode has no effect")


def test_the_template_that_seed_000_generates(load):
    configuration = load(GENERATED)

    assert configuration.executors == load("").executors
    assert set(configuration.bindings.values()) == {"claude-code"}


def test_what_seed_000_shows_as_in_effect_loads(load):
    configuration = load(SHOWN)

    assert configuration.executors["claude-code"].model == "sonnet"
    assert configuration.executors["cursor"].yolo_mode is True
    assert configuration.bindings["implementer"] == "cursor"


def test_what_has_no_effect_loads_with_a_warning_each(load):
    configuration = load(THREE_EXECUTORS)

    assert configuration.executor("windsurf").custom_args == ("--cascade",)
    assert configuration.executor("claude-code").model == "sonnet"
    assert [warning.split()[0] for warning in configuration.warnings] == [
        "agents.executors.windsurf.settings.yolo_mode",
    ]
    assert all("has no effect" in warning for warning in configuration.warnings)


def test_every_setting_of_an_executor_arrives(load):
    executor = load(
        """
agents:
  executors:
    mine:
      type: command
      settings: {command: [./agent, "{task_dir}"], resume: [./agent, --again, "{session_id}"]}
      custom_args: [--fast, "two words"]
      env: {API_KEY: "${MY_KEY}", LEVEL: "3"}
      max_parallel: 2
      timeout: 2h
      stall_timeout: 15m
      api_timeout: 5m
      retries: 0
    patient: {type: command, settings: {command: [./agent]}, stall_timeout: never}
    codex: {home: shared, api_timeout: never}
    claude-code:
      settings: {yolo_mode: true, model: opus, allowed_tools: ["Bash(npm test:*)", WebFetch]}
"""
    ).executors

    mine = executor["mine"]
    assert mine.type is ExecutorType.COMMAND
    assert mine.command == ("./agent", "{task_dir}")
    assert mine.resume == ("./agent", "--again", "{session_id}")
    assert mine.custom_args == ("--fast", "two words")
    assert mine.env_names == ("API_KEY", "LEVEL")
    assert (mine.max_parallel, mine.timeout_seconds, mine.stall_timeout_seconds) == (2, 7200, 900)
    assert mine.retries == 0
    assert (mine.api_timeout_seconds, mine.home) == (300, None)
    assert executor["codex"].api_timeout_seconds == 0
    assert executor["codex"].home is HomeUse.SHARED
    assert executor["patient"].stall_timeout_seconds == 0
    assert executor["claude-code"].stall_timeout_seconds is None
    claude = executor["claude-code"]
    assert claude.type is ExecutorType.CLAUDE
    assert (claude.yolo_mode, claude.model) == (True, "opus")
    assert claude.allowed_tools == ("Bash(npm test:*)", "WebFetch")


def test_a_built_in_name_can_get_another_type(load):
    executor = load(
        "agents: {executors: {claude-code: {type: command, settings: {command: [x]}}}}"
    ).executor("claude-code")

    assert executor.type is ExecutorType.COMMAND
    assert executor.retries == 2


def test_environment_beats_file_beats_default(load):
    text = "agents: {bindings: {implementer: cursor}}"
    variable = {"SOW_AGENTS_IMPLEMENTER": "windsurf"}

    for given, environ, executor, origin in (
        (None, {}, "claude-code", DEFAULT),
        (None, variable, "windsurf", from_environment("SOW_AGENTS_IMPLEMENTER")),
        (text, {}, "cursor", FILE),
        (text, variable, "windsurf", from_environment("SOW_AGENTS_IMPLEMENTER")),
        (text, {"SOW_AGENTS_IMPLEMENTER": ""}, "cursor", FILE),
    ):
        binding = load(given, environ=environ).binding("implementer")
        assert (binding.executor.name, binding.origin) == (executor, origin)


def test_a_variable_moves_its_own_role_only(load):
    configuration = load(environ={"SOW_AGENTS_SECURITY_REVIEWER": "cursor"})

    others = set(configuration.bindings) - {"security-reviewer"}
    assert configuration.binding("security-reviewer").executor.name == "cursor"
    assert {configuration.bindings[role] for role in others} == {"claude-code"}


def test_a_variable_that_names_no_role_is_warned_of(load):
    [warning] = load(environ={"SOW_AGENTS_IMPLEMENTR": "cursor"}).warnings

    assert warning == (
        "SOW_AGENTS_IMPLEMENTR names no agent; did you mean 'SOW_AGENTS_IMPLEMENTER'?"
    )


def test_the_users_worker_settings_win_over_the_repositorys(load):
    configuration = load(
        "worker: {concurrency: 2}",
        repository="worker: {concurrency: 8, idle_exit: 30s}\nartifacts: {designs: docs/designs}\n",
    )

    worker = configuration.worker
    assert (worker.concurrency, worker.idle_exit_seconds, worker.autostart) == (2, 30, True)
    assert configuration.origin("worker", "concurrency") == FILE
    assert configuration.origin("worker", "idle_exit") == REPOSITORY
    assert configuration.origin("worker", "autostart") == DEFAULT
    assert configuration.repository_path is not None


def test_quota_retries_can_be_turned_off(load):
    configuration = load("retry: {on_quota: false}")

    assert configuration.retry_on_quota is False
    assert configuration.origin("retry", "on_quota") == FILE


def test_how_many_workers_may_die_under_a_job_can_be_set(load):
    configuration = load("retry: {worker_deaths: 2}")

    assert configuration.retry_worker_deaths == 2
    assert configuration.origin("retry", "worker_deaths") == FILE
    assert configuration.origin("retry", "on_quota") == DEFAULT


@pytest.mark.parametrize("key", ["agents", "retry"])
def test_a_repository_cannot_choose_for_its_users(load, config_path, key):
    with pytest.raises(InvalidConfiguration) as caught:
        load(repository=f"worker: {{concurrency: 2}}\n{key}: {{}}\n")

    error = caught.value
    assert (error.exit_code, error.path.name, error.line, error.key) == (
        3,
        "repository.yaml",
        2,
        key,
    )
    assert "a repository cannot set this" in error.message
    assert str(config_path) in error.hint


def test_an_unknown_executor_is_told_when_its_role_is_needed(load, config_path):
    configuration = load("agents: {bindings: {implementer: aider}}")

    assert configuration.binding("reviewer").executor.name == "claude-code"
    with pytest.raises(ExecutorError, match="unknown executor:") as caught:
        configuration.binding("implementer")
    assert caught.value.exit_code == 5
    assert caught.value.message == "unknown executor: aider"
    assert caught.value.hint == (
        "Available executors:\n"
        "  - claude-code\n"
        "  - codex\n"
        "  - gemini\n"
        "  - opencode\n"
        "  - qwen\n"
        "  - copilot\n"
        "  - cursor\n"
        "  - windsurf\n"
        "\n"
        f"Check your configuration at {config_path}\n"
        "Run 'sow config path' to see the full path.\n"
        "Run 'sow config init' to create a default configuration."
    )


def test_an_unknown_executor_names_the_variable_that_chose_it(load):
    configuration = load(ADVANCED, environ={"SOW_AGENTS_PLANNER": "aider"})

    with pytest.raises(ExecutorError, match="unknown executor:") as caught:
        configuration.binding("planner")
    assert "The environment variable SOW_AGENTS_PLANNER names it.\n" in caught.value.hint
    assert "  - claude-opus\n  - claude-sonnet\n" in caught.value.hint


@pytest.mark.slow
def test_nothing_heavy_is_imported_for_files_that_say_nothing(tmp_path):
    (tmp_path / "repository.yaml").write_text("# worker:\n#   concurrency: 4\n")
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from sow.paths import user_config_path\n"
        "from sow.config.load import load_configuration\n"
        "load_configuration(path=user_config_path(os.environ), environ=os.environ,"
        " repository_path=Path('repository.yaml'), roles=['implementer'])\n"
        "heavy = {'yaml', 'ruamel', 'platformdirs', 'rich', 'huey', 'click', 'subprocess'}\n"
        "print(sorted(heavy & {name.partition('.')[0] for name in sys.modules}))\n"
    )
    environ = {**os.environ, "SOW_CONFIG": str(tmp_path / "none.yaml")}

    printed = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert printed.stdout.strip() == "[]"


def test_a_file_that_was_named_must_be_there_for_whoever_acts_by_it(tmp_path):
    path = tmp_path / "nope.yaml"
    named = {"path": path, "repository_path": None, "roles": ["implementer"]}
    with pytest.raises(InvalidConfiguration, match="SOW_CONFIG or --config names it") as caught:
        load_named(environ={"SOW_CONFIG": str(path)}, **named)
    assert caught.value.exit_code == 3
    assert not load_named(environ={}, **named).exists
    path.touch()
    assert load_named(environ={"SOW_CONFIG": str(path)}, **named).exists


def test_a_role_has_one_executor_or_several_in_their_order(load):
    text = "agents: {bindings: {implementer: [cursor, claude-code], planner: [codex]}}"
    configuration = load(text)

    assert configuration.bound("implementer") == ("cursor", "claude-code")
    assert configuration.bindings["implementer"] == "cursor"
    assert configuration.binding("implementer").executor.name == "cursor"
    assert configuration.bound("planner") == ("codex",)
    assert configuration.bound("reviewer") == ("claude-code",)
    assert configuration.fallbacks == {"implementer": ("claude-code",)}
    assert configuration.all_bound == {"cursor", "claude-code", "codex"}
    assert not configuration.hands_over


def test_a_variable_names_one_executor_in_the_place_of_a_list(load):
    text = "agents: {bindings: {implementer: [cursor, claude-code]}}"
    configuration = load(text, environ={"SOW_AGENTS_IMPLEMENTER": "codex"})

    assert configuration.bound("implementer") == ("codex",)


@pytest.mark.parametrize(("word", "hands_over"), [("handover", True), ("stay", False), ("", False)])
def test_begun_sessions_are_handed_over_where_the_user_says_so(load, word, hands_over):
    configuration = load(f"agents: {{fallback_resume: {word}}}")

    assert configuration.hands_over is hands_over
    assert configuration.origin("agents", "fallback_resume").label == (
        "from config file" if word else "default"
    )


SANDBOXED = """
agents:
  executors:
    claude-code: {sandbox: bwrap}
    codex: {sandbox: bwrap, settings: {yolo_mode: false}}
    mine: {type: command, settings: {command: [x]}, sandbox: bwrap, network: loopback}
    opencode: {sandbox: none}
"""


def test_a_sandbox_lets_its_agents_do_what_they_can(load):
    """Unless the file says otherwise, and where there is such a setting."""
    executors = load(SANDBOXED).executors
    chosen = ("claude-code", "codex", "mine", "opencode", "gemini")
    assert [executors[name].is_sandboxed for name in chosen] == [True, True, True, False, False]
    assert [executors[name].yolo_mode for name in chosen] == [True, False, False, False, False]
    assert executors["mine"].network is NetworkUse.LOOPBACK
    assert executors["claude-code"].network is None


ALLOWING = """
agents:
  executors:
    mine:
      {type: command, settings: {command: [x]}, sandbox: bwrap, network: {allow: [HOSTS]}}
"""


@pytest.mark.parametrize(
    "host", ["api.example.com", "'*.example.com'", "localhost", "10.0.0.1", "'::1'", "a_b.example"]
)
def test_a_sandbox_can_have_some_hosts_alone(load, host):
    """To an sow that does not know the hosts, it has none."""
    mine = load(ALLOWING.replace("HOSTS", host)).executors["mine"]
    assert mine.allowed_hosts == (host.strip("'"),)
    assert mine.network is NetworkUse.LOOPBACK


@pytest.mark.parametrize(
    "host",
    ["''", "'*'", "https://example.com", "example.com:443", "a b", "a/b", "'*.*.example'", "'^x'"],
)
def test_what_is_no_host_cannot_be_allowed(load, host):
    with pytest.raises(InvalidConfiguration, match=r"network\.allow|flow"):
        load(ALLOWING.replace("HOSTS", host))


def test_a_list_of_no_hosts_is_refused(load):
    with pytest.raises(InvalidConfiguration, match=r"network\.allow"):
        load(ALLOWING.replace("HOSTS", ""))


def test_a_check_and_a_setup_can_have_one(load):
    text = """
clones: {setup: npm ci, setup_sandbox: bwrap}
checks:
  unit: {run: make test, sandbox: bwrap, network: loopback}
  lint: {run: make lint, sandbox: none}
"""
    configuration = load(repository=text)
    unit, lint = configuration.checks.commands.values()
    assert (unit.is_sandboxed, unit.network) == (True, NetworkUse.LOOPBACK)
    assert not lint.is_sandboxed
    assert configuration.clones.setup_sandbox is SandboxUse.BWRAP


def test_a_check_and_a_setup_can_ask_some_hosts(load):
    text = """
clones: {setup: npm ci, setup_sandbox: bwrap, setup_network: {allow: [packages.example.com]}}
checks: {unit: {run: make test, sandbox: bwrap, network: {allow: [example.org, "*.example.org"]}}}
"""
    configuration = load(repository=text)
    (setup,) = setup_commands(configuration.clones)
    unit = configuration.checks.commands["unit"]
    hosts = [("packages.example.com",), ("example.org", "*.example.org")]
    assert [each.allowed_hosts for each in (setup, unit)] == hosts
    assert [each.network for each in (setup, unit)] == [NetworkUse.LOOPBACK] * 2
    shown = {".".join(each.key): each.value for each in clone_settings_given(configuration)}
    assert shown["clones.setup_network.allow"] == ["packages.example.com"]
    assert "clones.setup_network" not in shown


def test_a_setup_can_be_without_the_network(load):
    text = "clones: {setup: make, setup_sandbox: bwrap, setup_network: loopback}"
    configuration = load(repository=text)
    (setup,) = setup_commands(configuration.clones)
    assert (setup.network, setup.allowed_hosts) == (NetworkUse.LOOPBACK, ())
    shown = {".".join(each.key): each.value for each in clone_settings_given(configuration)}
    assert shown["clones.setup_network"] == "loopback"


def test_a_checks_network_has_no_effect_without_its_sandbox(load):
    with pytest.raises(InvalidConfiguration, match="no effect without sandbox: bwrap"):
        load(repository="checks: {unit: {run: make test, network: loopback}}")


LIMITED = """
agents:
  executors:
    claude-code: {limits: {memory: 4GiB, cpu: 2h, processes: 500, disk: 10GB}}
    codex: {limits: {memory: 500MB, disk: }}
    cursor: {limits: {}}
"""


def test_limits_are_those_that_the_file_names(load):
    configuration = load(LIMITED)
    executors = configuration.executors
    assert executors["claude-code"].limits == Limits(
        memory_bytes=4 << 30, cpu_seconds=7200.0, processes=500, disk_bytes=10**10
    )
    assert executors["codex"].limits == Limits(memory_bytes=500 * 10**6)
    assert executors["cursor"].limits is None
    assert executors["gemini"].limits is None
    place = ("agents", "executors", "claude-code", "limits")
    assert configuration.origin(*place, "cpu").label == "from config file"
