"""When a session's own configuration folder is made and removed, and when a login goes back."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from watch_cases import WatchSite

from sow.agent_clis.codex import CLI
from sow.agent_clis.known import AGENT_CLIS
from sow.attempts.homes import folder_of_job, place_in
from sow.errors import QueueError
from sow.executors.base import Launch
from sow.jobs import jobs
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType, SandboxUse
from sow.schema.job import Job, JobState, Verb
from sow.schema.task import TaskStatus
from worker.session_home import prepare_home, return_login, sweep_homes, warm_home

CODEX = ExecutorConfig(name="codex", type=ExecutorType.CODEX)
[PART] = CLI.home.parts  # type: ignore[union-attr]


@pytest.fixture
def home(site: WatchSite) -> Path:
    """Return the home of the user, who has logged in to Codex."""
    folder = Path(site.context.environ["HOME"])
    (folder / ".codex").mkdir(parents=True)
    (folder / ".codex/auth.json").write_text("the login")
    return folder


def launch_of(site: WatchSite, job: Job) -> Launch:
    folder = folder_of_job(site.workspace, job)
    assert folder is not None
    return Launch(("codex",), "", site.workspace.root, home=folder, home_files={"rules/x": "y"})


def made(site: WatchSite, job: Job) -> Path:
    launch = launch_of(site, job)
    prepare_home(site.context, job, launch, anew=True)
    assert launch.home is not None
    return launch.home


def test_a_resume_finds_what_the_session_has_left_and_a_spawn_does_not(
    site: WatchSite, home: Path
) -> None:
    job = site.job(executor=CODEX)
    folder = made(site, job)
    (place_in(folder, PART) / "sessions").mkdir()
    prepare_home(site.context, job, launch_of(site, job), anew=False)
    assert (place_in(folder, PART) / "sessions").is_dir()
    prepare_home(site.context, job, launch_of(site, job), anew=True)
    assert not (place_in(folder, PART) / "sessions").exists()
    assert (place_in(folder, PART) / "rules/x").read_text() == "y"


def test_a_session_that_begins_in_the_user_s_own_leaves_no_earlier_one_behind(
    site: WatchSite, home: Path
) -> None:
    """What goes on later goes on there, and not in a folder that knows nothing of it."""
    job = site.job(executor=CODEX)
    folder = made(site, job)
    launch = Launch(("codex",), "", site.workspace.root)
    prepare_home(site.context, job, launch, anew=False)
    assert folder.is_dir()
    prepare_home(site.context, job, launch, anew=True)
    assert not folder.exists()


def test_a_login_that_was_renewed_survives_a_session_that_begins_anew(
    site: WatchSite, home: Path
) -> None:
    job = site.job(executor=CODEX)
    login = place_in(made(site, job), PART) / "auth.json"
    login.unlink()
    login.write_text("renewed")
    prepare_home(site.context, job, launch_of(site, job), anew=True)
    assert (home / ".codex/auth.json").read_text() == "renewed"
    assert login.is_symlink()


def test_a_login_that_cannot_go_back_stops_nothing(site: WatchSite, home: Path) -> None:
    job = site.job(executor=CODEX)
    login = place_in(made(site, job), PART) / "auth.json"
    login.unlink()
    login.write_text("renewed")
    (home / ".codex/auth.json").unlink()
    (home / ".codex/auth.json").mkdir()
    return_login(site.context, job)
    assert login.read_text() == "renewed"  # it is tried again at the next end


def test_homes_go_once_their_tasks_are_done_or_gone(site: WatchSite, home: Path) -> None:
    job, other = site.job("010", executor=CODEX), site.job("020", executor=CODEX)
    folders = [made(site, job), made(site, other)]
    sweep_homes(site.context)
    assert all(folder.is_dir() for folder in folders)
    site.change_task("010", status=TaskStatus.COMPLETED, completed_at="2026-01-31T12:00:00Z")
    sweep_homes(site.context)
    assert [folder.is_dir() for folder in folders] == [False, True]
    lost = folders[1].parents[1] / "task-999/codex"
    lost.mkdir(parents=True)
    sweep_homes(site.context)
    assert not lost.exists()


def test_the_home_of_a_review_goes_with_its_job(site: WatchSite, home: Path) -> None:
    job = site.job(executor=CODEX, verb=Verb.REVIEW)
    folder = made(site, job)
    sweep_homes(site.context)
    assert folder.is_dir()
    jobs.change_job(site.database, job.id, state=JobState.DONE)
    sweep_homes(site.context)
    assert not folder.exists()


def test_the_home_of_a_review_stays_while_the_queue_cannot_be_asked(
    site: WatchSite, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(site, site.job(executor=CODEX, verb=Verb.REVIEW))

    def away(*_: object) -> Job:
        raise QueueError("the server is away")

    monkeypatch.setattr(jobs, "get_job", away)
    sweep_homes(site.context)
    assert folder.is_dir()


def test_a_cli_that_makes_a_store_is_asked_to_before_its_first_run(
    site: WatchSite, tmp_path: Path
) -> None:
    store = Path(site.context.environ["HOME"], ".local/share/opencode/opencode.db")
    program = tmp_path / "bin/opencode"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nmkdir -p {store.parent}; echo "$*" >> {store}\n')
    program.chmod(0o755)
    config = ExecutorConfig(name="opencode", type=ExecutorType.OPENCODE)
    job = replace(site.job(executor=config), path_variable=f"{program.parent}:/usr/bin:/bin")
    launch = Launch(("opencode", "run"), "", site.workspace.root)
    for _ in range(2):
        warm_home(site.context, job, launch, AGENT_CLIS[ExecutorType.OPENCODE], anew=True)
    assert store.read_text() == "db path\n"


def test_it_is_not_asked_in_a_home_in_which_a_sandboxed_agent_has_been(
    site: WatchSite, tmp_path: Path
) -> None:
    """It would run outside of the sandbox, with what that agent has left there."""
    program = tmp_path / "bin/opencode"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    sandbox = SandboxUse.BWRAP
    config = ExecutorConfig(name="opencode", type=ExecutorType.OPENCODE, sandbox=sandbox)
    job = replace(site.job(executor=config), path_variable=f"{program.parent}:/usr/bin:/bin")
    launch = Launch(("opencode", "run"), "", site.workspace.root)
    warm_home(site.context, job, launch, AGENT_CLIS[ExecutorType.OPENCODE], anew=False)
    assert not (tmp_path / "ran").exists()
    warm_home(site.context, job, launch, AGENT_CLIS[ExecutorType.OPENCODE], anew=True)
    assert (tmp_path / "ran").exists()
