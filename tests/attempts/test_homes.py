"""The folder that a session has as its CLI's configuration."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from attempts.job_values import PROJECT, make_job
from msgspec.structs import replace

from sow import env_vars
from sow.agent_clis.description import HomePart
from sow.agent_clis.known import AGENT_CLIS
from sow.attempts.homes import (
    bring_login_back,
    folder_of_job,
    home_of,
    home_used,
    in_home,
    make_home,
    place_in,
    remove_home,
    session_folder,
)
from sow.attempts.launch import environment_of
from sow.environment import agent_environment, worker_environment
from sow.errors import ExecutorError, SowError
from sow.executors.base import Launch
from sow.ids import AttemptId
from sow.paths import Workspace
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType, HomeUse, SandboxUse
from sow.schema.job import Verb

CODEX = ExecutorConfig(name="codex", type=ExecutorType.CODEX)
CLAUDE = ExecutorConfig(name="claude-code", type=ExecutorType.CLAUDE, home=HomeUse.PER_SESSION)
SHARED = replace(CODEX, home=HomeUse.SHARED)
[PART] = AGENT_CLIS[ExecutorType.CODEX].home.parts  # type: ignore[union-attr]
NOW = 3e9
WITH_HOMES = [kind for kind, cli in AGENT_CLIS.items() if cli.home is not None]


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """Return the environment of a user who has logged in to Codex."""
    home = tmp_path / "home"
    users = home / ".codex"
    (users / "rules").mkdir(parents=True)
    (users / "config.toml").write_text('model = "m"\n')
    (users / "auth.json").write_text("the login")
    (users / "auth.json").chmod(0o600)
    (users / "rules/own.rules").write_text("# own\n")
    (users / "history.jsonl").write_text("what nobody needs")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return {"HOME": str(home)}


@pytest.fixture
def folder(tmp_path: Path, environ: Mapping[str, str]) -> Path:
    found = session_folder(Workspace(tmp_path / "repository"), PROJECT, "010", CODEX)
    assert found is not None
    return found


def test_a_session_has_the_user_s_settings_and_a_link_to_the_login(
    folder: Path, environ: Mapping[str, str]
) -> None:
    make_home(folder, CODEX, environ, {"rules/sow.rules": "ours\n"})
    mine = place_in(folder, PART)
    assert (mine / "config.toml").read_text() == 'model = "m"\n'
    assert {each.name for each in (mine / "rules").iterdir()} == {"own.rules", "sow.rules"}
    assert (mine / "auth.json").is_symlink()
    assert (mine / "auth.json").read_text() == "the login"
    assert not (mine / "history.jsonl").exists()
    for each in (folder, mine):
        assert each.stat().st_mode & 0o077 == 0


def test_in_a_sandbox_what_a_cli_has_unpacked_is_linked_beside_what_it_unpacks_there(
    folder: Path, environ: Mapping[str, str]
) -> None:
    copilot = ExecutorConfig(name="c", type=ExecutorType.COPILOT, sandbox=SandboxUse.BWRAP)
    users = Path(environ["HOME"], ".cache/copilot/pkg/linux-x64")
    own = folder / "copilot_cache_home/pkg/linux-x64"
    make_home(folder, copilot, environ, {})
    assert not own.exists()
    for version in ("1.0.1", ".extracting-1.0.2"):
        (users / version).mkdir(parents=True)
    make_home(folder, copilot, environ, {})
    assert {path.name: path.readlink() for path in own.iterdir()} == {"1.0.1": users / "1.0.1"}
    (own / "1.0.2").mkdir()  # it has a newer one, which its user has not run yet
    (own / "1.0.0").symlink_to(users)
    make_home(folder, copilot, environ, {})
    (users / "1.0.2").mkdir()
    make_home(folder, copilot, environ, {})
    assert {path.name: path.is_symlink() for path in own.iterdir()} == {
        "1.0.1": True,
        "1.0.2": False,
    }
    own.rename(folder / "away")
    own.write_text("an agent's")
    make_home(folder, copilot, environ, {})
    assert (own / "1.0.1").is_symlink()
    assert (own / "1.0.2").is_symlink()


def test_one_that_is_there_keeps_its_sessions_and_has_the_user_s_settings_again(
    folder: Path, environ: Mapping[str, str]
) -> None:
    make_home(folder, CODEX, environ, {})
    mine = place_in(folder, PART)
    (mine / "sessions").mkdir()
    (mine / "config.toml").write_text("changed")
    make_home(folder, CODEX, environ, {"rules/sow.rules": "ours\n"})
    assert (mine / "sessions").is_dir()
    assert (mine / "config.toml").read_text() == 'model = "m"\n'
    (Path(environ["HOME"]) / ".codex/config.toml").unlink()
    make_home(folder, CODEX, environ, {"rules/sow.rules": "ours\n"})
    assert not (mine / "config.toml").exists()
    assert (mine / "rules/sow.rules").read_text() == "ours\n"


def test_a_half_made_one_is_made_whole(folder: Path, environ: Mapping[str, str]) -> None:
    mine = place_in(folder, PART)
    (mine / ".rules.new").mkdir(parents=True)
    (mine / ".rules.new/half").touch()
    (mine / ".auth.json.link").symlink_to("half")
    make_home(folder, CODEX, environ, {})
    assert sorted(each.name for each in mine.iterdir()) == ["auth.json", "config.toml", "rules"]
    assert [each.name for each in (mine / "rules").iterdir()] == ["own.rules"]
    assert (mine / "auth.json").read_text() == "the login"


def test_a_user_without_any_settings_has_a_home_all_the_same(folder: Path, tmp_path: Path) -> None:
    make_home(folder, CODEX, {"HOME": str(tmp_path / "empty")}, {"rules/sow.rules": "ours\n"})
    assert (place_in(folder, PART) / "rules/sow.rules").is_file()


def test_a_variable_of_the_user_s_names_the_folder_that_is_copied(
    folder: Path, environ: Mapping[str, str], tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/config.toml").write_text("elsewhere")
    make_home(folder, CODEX, {**environ, "CODEX_HOME": str(tmp_path / "elsewhere")}, {})
    assert (place_in(folder, PART) / "config.toml").read_text() == "elsewhere"


def test_a_login_that_was_renewed_by_a_new_file_goes_back(
    folder: Path, environ: Mapping[str, str]
) -> None:
    make_home(folder, CODEX, environ, {})
    mine, users = place_in(folder, PART) / "auth.json", Path(environ["HOME"]) / ".codex/auth.json"
    new = mine.with_name("new")
    new.write_text("renewed")
    new.replace(mine)
    os.utime(mine, (2e9, 2e9))
    assert bring_login_back(folder, CODEX, environ, NOW) == [users]
    assert users.read_text() == "renewed"
    assert not users.is_symlink()
    assert users.stat().st_mode & 0o077 == 0
    assert mine.is_symlink()
    assert bring_login_back(folder, CODEX, environ, NOW) == []


def test_an_older_one_does_not_replace_what_the_user_has_renewed(
    folder: Path, environ: Mapping[str, str]
) -> None:
    make_home(folder, CODEX, environ, {})
    mine, users = place_in(folder, PART) / "auth.json", Path(environ["HOME"]) / ".codex/auth.json"
    mine.unlink()
    mine.write_text("old")
    os.utime(mine, (1e9, 1e9))
    bring_login_back(folder, CODEX, environ, NOW)
    assert users.read_text() == "the login"
    assert mine.read_text() == "the login"


def test_of_two_renewed_ones_the_later_stays_whichever_session_ends_first(
    folder: Path, environ: Mapping[str, str], tmp_path: Path
) -> None:
    other = session_folder(Workspace(tmp_path / "repository"), PROJECT, "020", CODEX)
    assert other is not None
    users = Path(environ["HOME"]) / ".codex/auth.json"
    os.utime(users, (1e9, 1e9))
    for home, at in ((folder, 1.1e9), (other, 1.2e9)):
        make_home(home, CODEX, environ, {})
        mine = place_in(home, PART) / "auth.json"
        mine.unlink()
        mine.write_text(f"renewed at {at}")
        os.utime(mine, (at, at))
    for home in (folder, other):
        bring_login_back(home, CODEX, environ, NOW)
    assert users.read_text() == f"renewed at {1.2e9}"
    assert users.stat().st_mtime == 1.2e9


def test_one_of_the_future_keeps_no_later_one_away(
    folder: Path, environ: Mapping[str, str]
) -> None:
    users = Path(environ["HOME"]) / ".codex/auth.json"
    for words, at in (("of the future", NOW + 1e6), ("of now", NOW - 1)):
        make_home(folder, CODEX, environ, {})
        mine = place_in(folder, PART) / "auth.json"
        mine.unlink()
        mine.write_text(words)
        os.utime(mine, (at, at))
        bring_login_back(folder, CODEX, environ, NOW + (words == "of now"))
        assert users.stat().st_mtime <= NOW
    os.utime(users, (NOW + 1e6, NOW + 1e6))
    make_home(folder, CODEX, environ, {})
    mine.unlink()
    mine.write_text("of now again")
    os.utime(mine, (NOW, NOW))
    bring_login_back(folder, CODEX, environ, NOW)
    assert users.read_text() == "of now again"


def test_the_first_login_of_all_goes_to_the_user_s_folder(folder: Path, tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path / "empty")}
    make_home(folder, CODEX, environ, {})
    mine = place_in(folder, PART) / "auth.json"
    mine.unlink()
    mine.write_text("first")
    bring_login_back(folder, CODEX, environ, NOW)
    assert (tmp_path / "empty/.codex/auth.json").read_text() == "first"


def test_to_remove_it_leaves_the_user_s(folder: Path, environ: Mapping[str, str]) -> None:
    make_home(folder, CODEX, environ, {})
    remove_home(folder)
    assert not folder.exists()
    assert (Path(environ["HOME"]) / ".codex/auth.json").read_text() == "the login"


def test_a_session_goes_on_where_it_was_begun(folder: Path, environ: Mapping[str, str]) -> None:
    assert home_used(folder, CODEX, begins=True) == folder
    assert home_used(folder, CODEX, begins=False) is None  # the user has changed `home` since
    make_home(folder, CODEX, environ, {})
    assert home_used(folder, CODEX, begins=False) == folder
    assert home_used(folder, SHARED, begins=False) == folder
    assert home_used(folder, SHARED, begins=True) is None
    assert home_used(None, CODEX, begins=True) is None


def test_claude_code_s_settings_are_copied_and_what_it_would_read_twice_is_linked(
    folder: Path, environ: Mapping[str, str]
) -> None:
    user = Path(environ["HOME"])
    (user / ".claude/plugins").mkdir(parents=True)
    (user / ".claude/plugins/installed_plugins.json").write_text("{}")
    (user / ".claude/plugins/cache").mkdir()
    (user / ".claude/CLAUDE.md").write_text("Be brief.")
    (user / ".claude.json").write_text('{"projects": {}}')
    make_home(folder, CLAUDE, environ, {})
    mine = folder / "claude_config_dir"
    assert (mine / ".claude.json").read_text() == '{"projects": {}}'
    assert (mine / ".claude.json").stat().st_mode & 0o077 == 0
    assert [each.name for each in (mine / "plugins").iterdir()] == ["installed_plugins.json"]
    assert (mine / "CLAUDE.md").readlink() == user / ".claude/CLAUDE.md"
    assert (mine / ".credentials.json").is_symlink()
    assert not (mine / "rules").is_symlink()  # the user has none
    elsewhere = {**environ, "CLAUDE_CONFIG_DIR": str(user / "elsewhere")}
    (user / "elsewhere").mkdir()
    (user / "elsewhere/.claude.json").write_text("there")
    remove_home(folder)
    make_home(folder, CLAUDE, elsewhere, {})
    assert (mine / ".claude.json").read_text() == "there"


def test_claude_code_renews_the_user_s_own_login(tmp_path: Path) -> None:
    plain = Launch(("claude",), "", tmp_path)
    variable = "CLAUDE_SECURESTORAGE_CONFIG_DIR"
    for users, expected in (
        ({}, ""),
        ({"CLAUDE_CONFIG_DIR": "/users"}, "/users"),
        ({"CLAUDE_CONFIG_DIR": "/users", variable: "/login"}, "/login"),
    ):
        launch = in_home(plain, CLAUDE, tmp_path / "home", users)
        assert launch.env[variable] == expected, users
        assert agent_environment({**users, **launch.env}) == users


def test_where_it_cannot_be_made_the_remedy_works(folder: Path, environ: Mapping[str, str]) -> None:
    folder.parent.parent.mkdir(parents=True)
    folder.parent.write_text("no folder")
    with pytest.raises(ExecutorError, match="cannot be made") as caught:
        make_home(folder, CODEX, environ, {})
    assert "home: shared" in caught.value.hint
    assert home_used(folder, SHARED, begins=True) is None


def test_each_task_executor_and_review_has_its_own(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    other = replace(CODEX, name="mine")
    jobs = (
        make_job(executor=CODEX),
        make_job(executor=other),
        make_job(executor=CODEX, task_id="020"),
        make_job(executor=CODEX, verb=Verb.REVIEW),
        make_job(executor=CODEX, verb=Verb.REVIEW, id=2),
    )
    folders = [folder_of_job(workspace, job) for job in jobs]
    assert len(set(folders)) == len(jobs)
    assert folder_of_job(workspace, make_job(executor=CODEX, verb=Verb.RESUME)) == folders[0]
    assert folder_of_job(Workspace(tmp_path / "other"), jobs[0]) not in folders
    cursor = ExecutorConfig(name="cursor", type=ExecutorType.CURSOR)
    assert folder_of_job(workspace, make_job(executor=cursor)) is None


def test_no_home_lies_where_a_sandboxed_agent_can_write(tmp_path: Path) -> None:
    found = session_folder(Workspace(tmp_path), PROJECT, "010", CODEX)
    assert found is not None
    assert not found.is_relative_to(tmp_path)


@pytest.mark.parametrize("kind", WITH_HOMES)
def test_the_launch_names_it_and_what_it_stands_for(kind: ExecutorType, tmp_path: Path) -> None:
    config = ExecutorConfig(name="x", type=kind, home=HomeUse.PER_SESSION)
    home = home_of(config)
    assert home is not None
    variables = [part.variable for part in home.parts]
    users = {variables[0]: "/users/own"}
    launch = in_home(Launch(("x",), "", tmp_path), config, tmp_path / "home", users)
    assert {launch.env[name] for name in variables} == {
        str(place_in(tmp_path / "home", part)) for part in home.parts
    }
    inside = {**users, "HOME": "/users", **launch.env}
    assert {name: inside[name] for name in variables} != users
    for environment in (agent_environment(inside), worker_environment(inside)):
        assert environment == {**users, "HOME": "/users"}, (
            kind
        )  # a call from the session is the user's


def test_with_the_user_s_own_nothing_is_named(tmp_path: Path) -> None:
    launch = Launch(("codex",), "", tmp_path)
    assert in_home(launch, SHARED, None, {}) == launch
    assert env_vars.USERS_PREFIX.startswith(env_vars.PREFIX)


def test_parts_are_told_apart_by_their_variables() -> None:
    for kind in WITH_HOMES:
        parts = AGENT_CLIS[kind].home.parts  # type: ignore[union-attr]
        assert all(isinstance(part, HomePart) for part in parts)
        assert len({part.variable for part in parts}) == len(parts)


def test_what_a_cli_replaces_for_its_commands_is_passed_on(tmp_path: Path) -> None:
    job = make_job(executor=ExecutorConfig(name="gemini", type=ExecutorType.GEMINI))
    users = {"PATH": "/usr/bin", "GIT_CONFIG_COUNT": "1"}
    launch = Launch(("gemini",), "", tmp_path)
    around = environment_of(Workspace(tmp_path), job, AttemptId("1.1.x"), launch, users)
    replaced = {"GIT_CONFIG_COUNT": "9", "GIT_CONFIG_GLOBAL": "/dev/null", "GEMINI_CLI": "1"}
    for environment in (agent_environment, worker_environment):
        found = environment({**around, **replaced})
        assert found["GIT_CONFIG_COUNT"] == "1"
        assert "GIT_CONFIG_GLOBAL" not in found


SANDBOXED = replace(CODEX, sandbox=SandboxUse.BWRAP)


def test_in_a_sandbox_no_session_has_the_user_s_own(
    folder: Path, environ: Mapping[str, str]
) -> None:
    """Nor does one that was begun there; and the variable of a login names what is not there."""
    assert home_of(replace(CODEX, sandbox=SandboxUse.BWRAP, home=None)) is not None
    assert home_used(folder, SANDBOXED, begins=False) == folder
    claude = replace(CLAUDE, home=None, sandbox=SandboxUse.BWRAP)
    launch = Launch(argv=("claude",), stdin="", cwd=Path("/"))
    named = in_home(launch, claude, folder, environ).env
    assert "CLAUDE_CONFIG_DIR" in named
    assert "CLAUDE_SECURESTORAGE_CONFIG_DIR" not in named


@pytest.mark.parametrize("part", ["rules", "rules/sow.rules", ""])
def test_what_is_written_into_a_home_follows_no_link_of_an_agent(
    folder: Path, environ: Mapping[str, str], tmp_path: Path, part: str
) -> None:
    files = {"rules/sow.rules": "rules\n"}
    make_home(folder, SANDBOXED, environ, files)
    outside = tmp_path / "home/outside"
    (outside / "rules").mkdir(parents=True)
    place = place_in(folder, PART) / part
    place.rename(tmp_path / "away")
    place.symlink_to(outside / "victim" if part.endswith("sow.rules") else outside)
    with suppress(SowError):
        make_home(folder, SANDBOXED, environ, files)
    assert [path.name for path in outside.rglob("*")] == ["rules"]


def test_no_login_is_brought_back_from_another_folder_of_the_user_s(
    folder: Path, environ: Mapping[str, str], tmp_path: Path
) -> None:
    make_home(folder, SANDBOXED, environ, {})
    other = tmp_path / "home/.other"
    other.mkdir()
    (other / "auth.json").write_text("another secret")
    os.utime(other / "auth.json", (2**31, 2**31))
    place = place_in(folder, PART)
    place.rename(tmp_path / "away")
    place.symlink_to(other)
    assert bring_login_back(folder, SANDBOXED, environ, NOW) == []
    assert (tmp_path / "home/.codex/auth.json").read_text() == "the login"
    assert (other / "auth.json").read_text() == "another secret"
