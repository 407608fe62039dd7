"""The committed page is what the contract's table gives."""

from pathlib import Path

import compatibility
from executor_cases import CASES, CHOSEN, COMMANDS, FAULTS, SESSION_ROWS

from sow.agent_clis.description import Evidence
from sow.agent_clis.known import AGENT_CLIS
from sow.executors.base import Launch, LaunchRequest
from sow.executors.registry import make_executor
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType
from sow.schema.job import Verb

REMEDY = "run `python tests/executors/compatibility.py`"
RECORDINGS = compatibility.PAGE.parents[1] / "tests/recordings"


def test_the_page_is_current() -> None:
    assert compatibility.PAGE.read_text(encoding="utf-8") == compatibility.render(), REMEDY


def test_what_the_page_calls_refused_is_refused() -> None:
    for kind, *effects in compatibility.SETTINGS:
        for setting, effect in zip(compatibility.SETTINGS_HEADER[1:], effects, strict=True):
            name, _, value = setting.strip("`").partition(":")
            fits = name in AGENT_CLIS[ExecutorType(kind)].settings
            assert (effect == "refused") is not (fits or value == " false"), (setting, kind)
    assert {row[0] for row in compatibility.SETTINGS} == set(ExecutorType)


def test_every_row_is_on_the_page() -> None:
    rows = [line for line in compatibility.render().splitlines() if line.startswith("| ")]
    for title in (each.title for each in (*CASES, *FAULTS)):
        assert any(title in row for row in rows)
    for row in SESSION_ROWS:
        assert any(line.startswith(f"| {row.executor} |") for line in rows)


def test_each_description_tells_how_far_the_rows_were_tried() -> None:
    strongest_first = list(Evidence)
    for kind, cli in AGENT_CLIS.items():
        for verb in (Verb.SPAWN, Verb.RESUME, Verb.OPEN):
            rows = [
                case.evidence for case in CASES if (case.config.type, case.verb) == (kind, verb)
            ]
            best = min(rows, key=strongest_first.index, default=Evidence.DOCS)
            assert getattr(cli.tried, verb) is best, f"`tried` of sow/agent_clis/{kind}.py: {verb}"


def test_each_description_names_the_versions_that_were_run() -> None:
    for kind, cli in AGENT_CLIS.items():
        found = (path.name.partition("-") for path in RECORDINGS.iterdir())
        recorded = {version for name, _, version in found if name == kind}
        assert recorded <= set(cli.tried.versions), f"sow/agent_clis/{kind}.py"
        was_run = Evidence.REAL in (cli.tried.spawn, cli.tried.resume, cli.tried.open)
        is_some_program = kind is ExecutorType.COMMAND
        assert bool(cli.tried.versions) is (was_run and not is_some_program), kind


def launch_of(kind: ExecutorType, *commands: str) -> Launch:
    command = ("agent",) if kind in (ExecutorType.ACP, ExecutorType.COMMAND) else ()
    executor = make_executor(ExecutorConfig(name="x", type=kind, command=command))
    folder = Path("/repo")
    return executor.spawn(
        LaunchRequest(
            session=CHOSEN,
            prompt="Do it.",
            prompt_file=folder / "prompt.md",
            task_dir=folder / "010",
            cwd=folder,
            as_root=False,
            commands=commands,
            denied=tuple(command for command in COMMANDS if command not in commands),
            home=folder / "home",
        )
    )


def test_narrow_rights_are_those_that_follow_from_the_commands_of_a_role() -> None:
    for kind, cli in AGENT_CLIS.items():
        differs = launch_of(kind, *COMMANDS) != launch_of(kind, "prompt")
        assert differs is cli.narrow_rights, kind
