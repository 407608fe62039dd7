"""The lines of `--verbose`."""

from sow.cli.preview import resolution_trace


def test_the_trace_without_a_file(load, config_path):
    configuration = load()

    assert resolution_trace(configuration, configuration.binding("implementer")) == [
        "Loading agent configuration...",
        f"Config file: {config_path} (not found, using defaults)",
        "Agent: implementer",
        "Executor: claude-code (default)",
        "Settings: yolo_mode=false (default)",
    ]


def test_the_trace_names_what_was_chosen_and_by_whom(load, config_path):
    configuration = load(
        """
agents:
  executors:
    mine:
      type: claude
      settings: {model: opus}
      custom_args: [--max-turns, "30"]
      env: {API_KEY: sk-secret}
      timeout: 90m
""",
        environ={"SOW_AGENTS_REVIEWER": "mine"},
    )

    assert resolution_trace(configuration, configuration.binding("reviewer")) == [
        "Loading agent configuration...",
        f"Config file: {config_path} (exists)",
        "Agent: reviewer",
        "Executor: mine (from environment: SOW_AGENTS_REVIEWER)",
        "Settings: yolo_mode=false (default), model=opus (from config file), "
        "custom_args=[--max-turns, 30] (from config file), env.API_KEY=*** (from config file), "
        "timeout=90m (from config file)",
    ]


def test_a_command_shows_its_command_and_no_yolo_mode(load):
    configuration = load(
        "agents: {executors: {sh: {type: command, settings: {command: [sh, -e]}}},"
        " bindings: {planner: sh}}"
    )

    trace = resolution_trace(configuration, configuration.binding("planner"))
    assert trace[-1] == "Settings: command=[sh, -e] (from config file)"
