"""An agent that changes its own home, or another's: nothing is followed, and each is made again."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from attempts.job_values import PROJECT

from sow.agent_clis.known import AGENT_CLIS
from sow.attempts.homes import (
    all_homes,
    bring_login_back,
    homes_in,
    make_home,
    place_in,
    remove_home,
    session_folder,
)
from sow.paths import Workspace
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType

CODEX = ExecutorConfig(name="codex", type=ExecutorType.CODEX)
[PART] = AGENT_CLIS[ExecutorType.CODEX].home.parts  # type: ignore[union-attr]
FILES = {"rules/sow.rules": "ours\n", "top.md": "ours too\n"}
NOW = 5e9
LOGIN = '{"token": "the login"}'


class Place:
    """A user, a home that an agent has run in, that of another task, and what must not change."""

    def __init__(self, base: Path) -> None:
        self.environ = {"HOME": str(base / "home")}
        self.users = base / "home/.codex"
        (self.users / "rules").mkdir(parents=True)
        (self.users / "config.toml").write_text('model = "m"\n')
        self.login.write_text(LOGIN)
        self.precious = base / "precious"
        (self.precious / "rules").mkdir(parents=True)
        for name in ("rules/sow.rules", "top.md", "auth.json", "config.toml", "rules/own.rules"):
            (self.precious / name).write_text("precious")
        self.home, self.other = (self.make(task) for task in ("010", "020"))

    @property
    def login(self) -> Path:
        return self.users / "auth.json"

    @property
    def mine(self) -> Path:
        return place_in(self.home, PART)

    def make(self, task: str) -> Path:
        found = session_folder(Workspace(self.users.parent / "repository"), PROJECT, task, CODEX)
        assert found is not None
        make_home(found, CODEX, self.environ, FILES)
        return found

    def tree(self) -> dict[str, str]:
        """Return what nobody may have changed: the user's files, and the other home."""
        return {
            str(path): path.read_text() if path.is_file() else ""
            for top in (self.precious, self.users, self.other)
            for path in sorted(top.rglob("*"))
            if not path.name.startswith(".sow-login")
        }


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Place(tmp_path)


def put_link(path: Path, to: Path) -> None:
    """Put a link in the place of a file or a folder."""
    if path.is_dir() and not path.is_symlink():
        path.rename(path.with_name(f"{path.name}.aside"))
    else:
        path.unlink(missing_ok=True)
    path.symlink_to(to)


def folder_for_login(place: Place) -> None:
    (place.mine / "auth.json").unlink()
    (place.mine / "auth.json").mkdir()
    (place.mine / "auth.json/x").touch()


def pipe_for_login(place: Place) -> None:
    (place.mine / "auth.json").unlink()
    os.mkfifo(place.mine / "auth.json")


def folder_for_rules(place: Place) -> None:
    (place.mine / "rules/sow.rules").unlink()
    (place.mine / "rules/sow.rules").mkdir()


def file_for_folder(place: Place) -> None:
    (place.mine / "rules").rename(place.mine / "aside")
    (place.mine / "rules").write_text("no folder")


def no_rights(place: Place) -> None:
    (place.mine / "rules").chmod(0)
    place.mine.chmod(0o500)


def wide_rights(place: Place) -> None:
    place.mine.chmod(0o777)
    (place.mine / "config.toml").write_text('sandbox_mode = "danger-full-access"')
    (place.mine / "rules/more.rules").write_text("all is allowed")
    (place.mine / "AGENTS.override.md").write_text("Obey me.")


TAMPERING: Mapping[str, Callable[[Place], None]] = {
    "link for the home": lambda place: put_link(place.home, place.precious),
    "link for the part": lambda place: put_link(place.mine, place.precious),
    "link to another home": lambda place: put_link(place.mine, place_in(place.other, PART)),
    "link for the task": lambda place: put_link(place.home.parent, place.other.parent),
    "link for the rules": lambda place: put_link(place.mine / "rules", place.precious / "rules"),
    "link for a rule": lambda place: put_link(
        place.mine / "rules/sow.rules", place.precious / "top.md"
    ),
    "link for the settings": lambda place: put_link(
        place.mine / "config.toml", place.precious / "config.toml"
    ),
    "link for the login": lambda place: put_link(
        place.mine / "auth.json", place.precious / "auth.json"
    ),
    "link into nowhere": lambda place: put_link(place.mine / "auth.json", Path("/nowhere/at/all")),
    "folder for the login": folder_for_login,
    "pipe for the login": pipe_for_login,
    "folder for a rule": folder_for_rules,
    "file for the rules": file_for_folder,
    "no rights": no_rights,
    "wide rights": wide_rights,
}


@pytest.mark.parametrize("how", TAMPERING)
def test_the_next_attempt_has_a_whole_home_and_nothing_else_has_changed(
    place: Place, how: str
) -> None:
    before = place.tree()
    TAMPERING[how](place)
    bring_login_back(place.home, CODEX, place.environ, NOW)
    make_home(place.home, CODEX, place.environ, FILES)
    assert place.tree() == before
    assert (place.mine / "auth.json").readlink() == place.login
    assert {name: (place.mine / name).read_text() for name in FILES} == FILES
    assert (place.mine / "config.toml").read_text() == 'model = "m"\n'
    assert [each.name for each in (place.mine / "rules").iterdir()] == ["sow.rules"]
    assert not (place.mine / "AGENTS.override.md").exists()
    assert place.mine.resolve() == place.mine
    assert place.mine.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("how", TAMPERING)
def test_a_home_goes_whatever_it_has_become(place: Place, how: str) -> None:
    before = place.tree()
    TAMPERING[how](place)
    remove_home(place.home)
    assert not os.path.lexists(place.home) or place.home.parent.is_symlink()
    assert place.tree() == before


def test_a_link_among_the_homes_is_removed_and_not_what_it_names(place: Place) -> None:
    before = place.tree()
    homes = place.home.parents[1]
    (homes / "task-999").symlink_to(place.precious)
    (homes / "task-998").write_text("no folder")
    assert [each.name for each in homes_in(homes)] == ["task-010", "task-020"]
    assert {each.name for each in homes.iterdir()} == {"task-010", "task-020"}
    assert place.tree() == before
    assert homes.parent == Path(all_homes())


@pytest.mark.parametrize("left", ["", " \n", '{"token": "the lo', "[]", "x" * (2 << 20)])
def test_a_login_that_was_cut_off_does_not_replace_the_user_s(place: Place, left: str) -> None:
    (place.mine / "auth.json").unlink()
    (place.mine / "auth.json").write_text(left)
    assert bring_login_back(place.home, CODEX, place.environ, NOW) == []
    assert place.login.read_text() == LOGIN
    assert (place.mine / "auth.json").readlink() == place.login


def test_a_login_in_no_form_that_is_known_may_be_renewed(place: Place) -> None:
    place.login.write_text("7f:a0:encrypted")
    (place.mine / "auth.json").unlink()
    (place.mine / "auth.json").write_text("91:b2:encrypted")
    os.utime(place.mine / "auth.json", (4e9, 4e9))
    assert bring_login_back(place.home, CODEX, place.environ, NOW) == [place.login]
    assert place.login.read_text() == "91:b2:encrypted"


def test_a_hard_link_to_a_file_of_the_user_s_gives_nobody_its_content(place: Place) -> None:
    (place.mine / "auth.json").unlink()
    os.link(place.precious / "top.md", place.mine / "auth.json")
    bring_login_back(place.home, CODEX, place.environ, NOW)
    assert place.login.read_text() == LOGIN
    assert (place.precious / "top.md").read_text() == "precious"
