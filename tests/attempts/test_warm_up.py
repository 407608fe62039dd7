"""A CLI's store in a new home is made once, alone, before the first runs in it begin."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from attempts.job_values import make_job
from msgspec.structs import replace

from sow.agent_clis.description import AgentCli
from sow.agent_clis.known import AGENT_CLIS, warmed_up
from sow.attempts.homes import in_home
from sow.attempts.warm_up import warm_up
from sow.executors.base import Launch
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType, HomeUse
from sow.schema.job import Job

CLI = AGENT_CLIS[ExecutorType.OPENCODE]
MAKES = 'mkdir -p "$HOME/.local/share/opencode"; touch "$HOME/.local/share/opencode/opencode.db"'


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Return a job of OpenCode, whose program is to lie in `bin`."""
    config = ExecutorConfig(name="opencode", type=ExecutorType.OPENCODE)
    (tmp_path / "bin").mkdir()
    return make_job(executor=config, path_variable=f"{tmp_path}/bin:/usr/bin:/bin")


@pytest.fixture
def environ(tmp_path: Path) -> Mapping[str, str]:
    (tmp_path / "home").mkdir()
    return {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}


@pytest.fixture
def install(tmp_path: Path) -> Callable[[str], None]:
    """Return what puts a program into its place; it counts its runs, then does what is given."""

    def put(deed: str) -> None:
        program = tmp_path / "bin/opencode"
        program.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/runs\n{deed}\n')
        program.chmod(0o755)

    return put


def runs(tmp_path: Path) -> list[str]:
    file = tmp_path / "runs"
    return file.read_text().splitlines() if file.exists() else []


def launch_in(tmp_path: Path) -> Launch:
    return Launch(("opencode", "run"), "", tmp_path)


def test_of_many_first_runs_one_makes_the_store_and_the_others_wait(
    tmp_path: Path, job: Job, environ: Mapping[str, str], install: Callable[[str], None]
) -> None:
    install(MAKES)
    with ThreadPoolExecutor() as pool:
        calls = [pool.submit(warm_up, CLI, job, launch_in(tmp_path), environ) for _ in range(4)]
    assert [call.result() for call in calls] == [""] * 4
    assert runs(tmp_path) == ["db path"]


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        (("opencode", "acp"), ["db path"]),
        (("env", "NAME=1", "opencode", "acp", "--port", "1"), ["db path"]),
        (("my-opencode",), []),  # what it takes is not known
    ],
)
def test_a_cli_that_speaks_acp_is_asked_without_its_word_for_that(
    tmp_path: Path,
    job: Job,
    environ: Mapping[str, str],
    install: Callable[[str], None],
    command: tuple[str, ...],
    asked: list[str],
) -> None:
    install(MAKES)
    spoken = ExecutorConfig(name="mine", type=ExecutorType.ACP, command=command, preset="opencode")
    by_protocol = replace(job, executor=spoken)
    cli = warmed_up(spoken.type, spoken.preset)
    assert cli is CLI
    launch = Launch(("python", "-m", "sow.acp"), "", tmp_path)
    for _ in range(2):
        assert warm_up(cli, by_protocol, launch, environ) == ""
    assert runs(tmp_path) == asked


@pytest.mark.parametrize("preset", [None, "cline", "pi", "qwen"])
def test_other_agents_by_acp_are_asked_nothing(preset: str | None) -> None:
    assert warmed_up(ExecutorType.ACP, preset) is None


def test_a_home_of_a_session_is_made_ready_by_itself(
    tmp_path: Path, job: Job, environ: Mapping[str, str], install: Callable[[str], None]
) -> None:
    install('mkdir -p "$XDG_DATA_HOME/opencode"; touch "$XDG_DATA_HOME/opencode/opencode.db"')
    config = ExecutorConfig(name="opencode", type=ExecutorType.OPENCODE, home=HomeUse.PER_SESSION)
    for name in ("one", "two", "one"):
        launch = in_home(launch_in(tmp_path), config, tmp_path / name, environ)
        assert warm_up(CLI, job, launch, environ) == ""
    assert runs(tmp_path) == ["db path"] * 2
    assert (tmp_path / "two/xdg_data_home/opencode/opencode.db").exists()


@pytest.mark.slow
@pytest.mark.parametrize("deed", ["echo no >&2; exit 3", "sleep 60"])
def test_a_failure_is_told_and_stops_nothing(
    tmp_path: Path,
    job: Job,
    environ: Mapping[str, str],
    install: Callable[[str], None],
    deed: str,
) -> None:
    install(f"exec {deed}" if deed.startswith("sleep") else deed)
    words = warm_up(CLI, job, launch_in(tmp_path), environ, seconds=0.5)
    assert words.startswith("its CLI could not be made ready in a new home: ")


def test_a_cli_that_needs_none_is_not_asked(
    tmp_path: Path, job: Job, environ: Mapping[str, str], install: Callable[[str], None]
) -> None:
    install(MAKES)
    without: AgentCli = replace(CLI, warm_up=None)
    assert warm_up(without, job, launch_in(tmp_path), environ) == ""
    assert runs(tmp_path) == []


def test_every_cli_with_a_warm_up_says_where_its_store_lies() -> None:
    for cli in AGENT_CLIS.values():
        assert cli.warm_up is None or cli.home is not None
