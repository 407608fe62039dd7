"""The user's environment is told from what the programs around sow have set for their own child."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from sow.environment import agent_environment, worker_environment
from sow.github.run import gh_environment
from sow.surrounding_programs import SURROUNDINGS, setter_of, users_environment

pytestmark = pytest.mark.slow  # it starts git after git

KEPT_OF_GIT = {"GIT_CONFIG_COUNT"}
"""Git takes it from a child in another repository; only a user sets it."""
DUMP = f"{sys.executable} -c 'import json,os;print(json.dumps(dict(os.environ)))'"
PATH = "/opt/user/bin:/usr/bin:/bin"


@pytest.fixture
def base(tmp_path: Path) -> dict[str, str]:
    """Return a user's environment, with things in it that look like a program's."""
    return {
        "PATH": PATH,
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "SSH_AUTH_SOCK": "/run/agent",
        "TMUX": "/tmp/tmux",
        "DIRENV_DIR": "-/home/me/repo",
        "VIRTUAL_ENV": "/home/me/venv",
        "GIT_COMMITTER_NAME": "Me",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "user.email",
        "GIT_CONFIG_VALUE_0": "me@example.org",
        "GIT_CONFIG_GLOBAL": "/dev/null",
    }


def run(base: Mapping[str, str], folder: Path, *argv: str) -> dict[str, str]:
    """Run a program in `base`; return the last environment that `DUMP` has printed below it."""
    done = subprocess.run(argv, cwd=folder, env=base, capture_output=True, text=True, check=True)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "{" in line]
    found: dict[str, str] = json.loads(lines[-1][lines[-1].index("{") :])
    return found


def run_quietly(base: Mapping[str, str], folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, env=base, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, base: Mapping[str, str]) -> Path:
    folder = tmp_path / "repository"
    for words in (
        ("init", "-q", "repository"),
        ("-C", "repository", "config", "user.name", "Me"),
        *2 * (("-C", "repository", "commit", "-q", "--allow-empty", "-m", "one"),),
        ("-C", "repository", "config", "alias.dump", f"!{DUMP}"),
    ):
        subprocess.run(["git", *words], cwd=tmp_path, env=base, check=True)
    return folder


def by_hook(base: Mapping[str, str], repository: Path, hook: str) -> dict[str, str]:
    path = repository / ".git/hooks" / hook
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{DUMP} >&2\n")
    path.chmod(0o755)
    words = ("commit", "--allow-empty", "-m", "three", "--author", "Else <else@example.org>")
    if hook == "post-rewrite":
        words = (*words, "--amend")
    return run(base, repository, "git", *words)


def test_git_says_which_variables_are_its_own() -> None:
    done = subprocess.run(
        ["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True, check=True
    )
    always = {name for row in SURROUNDINGS if not row.shown_by for name in row.names.split()}
    names = {name for name in done.stdout.split() if not name.startswith("GIT_INTERNAL_")}
    assert names - always == KEPT_OF_GIT


@pytest.mark.parametrize("hook", ["pre-commit", "commit-msg", "post-commit"])
def test_below_a_hook_of_git_the_environment_is_the_users(
    base: dict[str, str], repository: Path, hook: str
) -> None:
    found = by_hook(base, repository, hook)
    assert {"GIT_INDEX_FILE", "GIT_AUTHOR_NAME", "GIT_EXEC_PATH"} <= found.keys()
    assert found["PATH"] != PATH
    assert users_environment(found) == users_environment(base)


@pytest.mark.parametrize("hook", ["reference-transaction", "post-rewrite"])
def test_below_a_hook_without_the_index_the_author_of_the_commit_is_not_the_users(
    base: dict[str, str], repository: Path, hook: str
) -> None:
    found = by_hook(base, repository, hook)
    assert found["GIT_AUTHOR_NAME"] == "Else"
    assert "GIT_INDEX_FILE" not in found
    assert users_environment(found) == users_environment(base)


def test_below_a_filter_of_git_nobody_is_the_author_and_committer_of_its_commit(
    base: dict[str, str], repository: Path
) -> None:
    words = ("filter-branch", "--msg-filter", f"{DUMP} >&2; cat", "HEAD^..HEAD")
    found = run({**base, "FILTER_BRANCH_SQUELCH_WARNING": "1"}, repository, "git", *words)
    assert {"GIT_COMMIT", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE"} <= found.keys()
    del base["GIT_COMMITTER_NAME"]  # nobody can know any more what it was
    del found["FILTER_BRANCH_SQUELCH_WARNING"]
    assert users_environment(found) == users_environment(base)


@pytest.mark.parametrize("tool", [("-x", f"{DUMP};:"), ("-t", "dump")], ids=["command", "tool"])
def test_below_a_tool_that_shows_differences_the_environment_is_the_users(
    base: dict[str, str], repository: Path, tool: tuple[str, str]
) -> None:
    """Else each `git diff` of an agent would start that tool."""
    (repository / "a").write_text("1\n")
    run_quietly(base, repository, "add", "a")
    settings = ("-c", f"difftool.dump.cmd={DUMP}")
    found = run(base, repository, "git", *settings, "difftool", "-y", *tool, "--cached")
    assert found["GIT_EXTERNAL_DIFF"] == "git-difftool--helper"
    assert users_environment(found) == users_environment(base)


def test_below_the_command_for_each_submodule_the_environment_is_the_users(
    base: dict[str, str], repository: Path
) -> None:
    allowed = ("-c", "protocol.file.allow=always")
    run_quietly(base, repository, *allowed, "submodule", "add", "-q", str(repository), "part")
    found = run(base, repository, "git", "submodule", "foreach", DUMP)
    assert {"sm_path", "toplevel", "GIT_PROTOCOL_FROM_USER"} <= found.keys()
    assert users_environment(found) == users_environment(base)
    base["GIT_PROTOCOL_FROM_USER"] = "0"
    assert users_environment(base)["GIT_PROTOCOL_FROM_USER"] == "0", "elsewhere it is the user's"


@pytest.mark.parametrize(
    "words",
    [
        ("dump",),
        ("-c", "core.bare=false", "dump"),
        ("-C", ".", "--literal-pathspecs", "dump"),
        ("rebase", "-q", "-x", DUMP, "HEAD^"),
        ("-c", "alias.twice=!git dump", "twice"),
    ],
    ids=["alias", "settings", "pathspecs", "rebase", "twice"],
)
def test_below_git_the_environment_is_the_users(
    base: dict[str, str], repository: Path, words: tuple[str, ...]
) -> None:
    base["GIT_AUTHOR_NAME"] = "Me too"  # no commit is being made: it is the user's
    found = run(base, repository, "git", *words)
    assert "GIT_PREFIX" in found
    assert users_environment(found) == users_environment(base)


def test_below_make_the_environment_is_the_users(base: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(f"all:\n\t@{DUMP}\n")
    found = run(base, tmp_path, "make", "-i", "-k", "-j2")
    assert "i" in found["MAKEFLAGS"]
    assert users_environment(found) == users_environment(base)
    base["MAKEFLAGS"] = "-j8"
    assert users_environment(base)["MAKEFLAGS"] == "-j8", "without a make around, it is the user's"


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_below_npm_the_environment_is_the_users(base: dict[str, str], tmp_path: Path) -> None:
    base["PATH"] = f"{Path(shutil.which('npm') or '').parent}:{PATH}"
    scripts = {"dump": DUMP.replace('"', '\\"')}
    (tmp_path / "package.json").write_text(json.dumps({"name": "n", "scripts": scripts}))
    found = run(base, tmp_path, "npm", "run", "-s", "dump")
    assert found["PATH"] != base["PATH"]
    assert users_environment(found) == users_environment(base)


@pytest.mark.parametrize(
    ("marks", "folder", "is_users"),
    [
        ({}, "/home/me/venv", True),
        ({"PRE_COMMIT": "1"}, "/home/me/venv", True),
        ({"PRE_COMMIT": "1"}, "/home/me/.cache/pre-commit/repo1/py_env-python3.11", False),
        ({"TOX_ENV_NAME": "py", "TOX_ENV_DIR": "/r/.tox/py"}, "/r/.tox/py", False),
        ({"NOX_CURRENT_SESSION": "tests"}, "/r/.nox/tests", False),
        ({"NOX_CURRENT_SESSION": "tests"}, "/home/me/venv", True),
        ({"UV_RUN_RECURSION_DEPTH": "1"}, "/r/.venv", True),
    ],
)
def test_a_virtual_environment_is_the_users_unless_a_hook_has_made_it(
    marks: dict[str, str], folder: str, is_users: bool
) -> None:
    environ = {"PATH": f"{folder}/bin:{PATH}", "VIRTUAL_ENV": folder, "VIRTUAL_ENV_PROMPT": "x"}
    found = users_environment({**environ, **marks})
    assert found == (environ if is_users else {"PATH": PATH})


def test_what_a_ci_service_sets_for_its_job_goes_and_what_is_passed_by_name_stays() -> None:
    environ = {"CI": "true", "GITHUB_TOKEN": "mine", "MY_KEY": "key"}
    jobs = {"CI_JOB_TOKEN": "secret", "GITHUB_ENV": "/file", "ACTIONS_RUNTIME_TOKEN": "secret"}
    assert users_environment({**environ, **jobs}) == environ


def test_all_that_sow_starts_gets_the_users_environment() -> None:
    theirs = {"GIT_DIR": "/r/.git", "GIT_INDEX_FILE": "i", "MAKELEVEL": "1", "MAKEFLAGS": "i"}
    for cleaned in (agent_environment, worker_environment, gh_environment):
        assert not theirs.keys() & cleaned({**theirs, "PATH": PATH}).keys()


def test_a_path_of_nothing_else_stays() -> None:
    environ = {"PATH": "/git-core", "GIT_EXEC_PATH": "/git-core", "GIT_PREFIX": ""}
    assert users_environment(environ) == {"PATH": "/git-core"}


def test_a_variable_is_named_with_its_program() -> None:
    assert setter_of("CI_JOB_TOKEN", {"CI_JOB_TOKEN": ""}) == "GitLab CI"
    assert setter_of("MAKEFLAGS", {"MAKEFLAGS": "-j8"}) is None
    assert setter_of("HOME", os.environ) is None


def test_what_codex_sets_for_its_agents_commands_is_not_the_users() -> None:
    """As measured with 0.171.0 (`tests/real/test_real_secrets.py`)."""
    plain = dict.fromkeys(("PAGER", "GIT_PAGER", "GH_PAGER"), "cat")
    plain |= {"NO_COLOR": "1", "COLORTERM": "", "LC_ALL": "C.UTF-8", "LC_CTYPE": "C.UTF-8"}
    around = {**plain, "TERM": "dumb", "LANG": "C.UTF-8", "HOME": "/home/me"}
    users = {"TERM": "dumb", "LANG": "C.UTF-8", "HOME": "/home/me"}
    of_codex = {"CODEX_CI": "1", "CODEX_MANAGED_BY_NPM": "1", "CODEX_MANAGED_PACKAGE_ROOT": "/x"}
    assert agent_environment({**around, **of_codex}) == users
    assert agent_environment(around) == around
    mine = {**around, "PAGER": "less"}
    assert agent_environment({**mine, **of_codex}) == {**users, "PAGER": "less"}


def test_settings_of_git_that_geminis_session_has_added_are_not_the_users() -> None:
    """As measured with 0.61.0: its commands have eight more, and sow knows how many were there."""
    users = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Me"}
    added = {f"GIT_CONFIG_{part}_{n}": "x" for part in ("KEY", "VALUE") for n in range(1, 9)}
    around = {**users, **added, "GIT_CONFIG_COUNT": "9", "GEMINI_CLI": "1"}
    assert agent_environment({**around, "SOW_USERS_GIT_CONFIG_COUNT": "1"}) == users
    assert agent_environment({**added, "SOW_USERS_GIT_CONFIG_COUNT": ""}) == {}
    mine = {name: value for name, value in around.items() if name != "GEMINI_CLI"}
    assert agent_environment(mine) == mine


def test_what_opencode_and_qwen_set_for_their_agents_commands_is_not_the_users() -> None:
    """As measured with 1.18.33 and 0.24.4 (`tests/real/test_real_secrets.py`)."""
    of_opencode = {"AGENT": "1", "npm_config_user_agent": "npm/undefined node/v24.3.0"}
    assert agent_environment({**of_opencode, "OPENCODE": "1"}) == {}
    assert agent_environment({"AGENT": "smith", "OPENCODE": "1"}) == {"AGENT": "smith"}
    of_qwen = {"PAGER": "cat", "GIT_PAGER": "cat"}
    assert agent_environment({**of_qwen, "QWEN_CODE": "1"}) == {}
    for theirs in (of_opencode, of_qwen):
        assert agent_environment(theirs) == theirs


def test_what_copilot_sets_for_its_agents_commands_is_not_the_users() -> None:
    """As measured with 1.0.102 (`tests/real/test_real_secrets.py`)."""
    quiet = {"SSH_ASKPASS": "", "GIT_ASKPASS": "", "GIT_TERMINAL_PROMPT": "0"}
    quiet |= {"GCM_INTERACTIVE": "Never", "GIT_OPTIONAL_LOCKS": "0"}
    added = {f"GIT_CONFIG_{part}_{n}": "x" for part in ("KEY", "VALUE") for n in range(3)}
    around = {**quiet, **added, "GIT_CONFIG_COUNT": "3", "COPILOT_CLI": "1"}
    assert agent_environment({**around, "SOW_USERS_GIT_CONFIG_COUNT": ""}) == {}
    assert agent_environment(quiet) == quiet
