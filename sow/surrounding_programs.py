"""What programs around sow set for their own child, and how the user's environment is told from it.

Owns the table of these programs: git, make, npm, hook managers, test runners, CI
services, a service manager, a shell. An agent or a check outlives the command that
such a program runs, works in another folder, and is nobody's child of it. Knows
nothing of sow's own variables.
"""

import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import PurePath

from sow.plain_record import PlainRecord


class Surrounding(PlainRecord):
    """One program, and the variables that describe its own child.

    A name that ends in `*` stands for all that begin so; `NAME=value` only for that value, and
    `NAME=value*` for values that begin so.
    """

    program: str
    names: str
    """With spaces between them."""
    why: str
    shown_by: tuple[str, ...] = ()
    """The variables of which one must be set: without them, the names may be the user's own.
    Empty where nobody else sets the names."""


IN_GIT = ("GIT_PREFIX", "GIT_INDEX_FILE", "GIT_DIR")
"""One of them is set in an alias, a hook and a command of `rebase -x` (measured with git 2.39)."""
IN_NPM = ("npm_execpath", "npm_lifecycle_event", "npm_command")

SURROUNDINGS = (
    Surrounding(
        "git",
        "GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_INDEX_FILE GIT_PREFIX GIT_OBJECT_DIRECTORY"
        " GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_QUARANTINE_PATH GIT_CONFIG GIT_CONFIG_PARAMETERS"
        " GIT_IMPLICIT_WORK_TREE GIT_NAMESPACE GIT_GRAFT_FILE GIT_SHALLOW_FILE"
        " GIT_NO_REPLACE_OBJECTS GIT_REPLACE_REF_BASE GIT_INTERNAL_* GIT_PUSH_* GITHEAD_*"
        " GIT_REFLOG_ACTION GIT_CHERRY_PICK_HELP GIT_PAGER_IN_USE GIT_PROTOCOL"
        " GIT_LITERAL_PATHSPECS GIT_GLOB_PATHSPECS GIT_NOGLOB_PATHSPECS GIT_ICASE_PATHSPECS"
        " GIT_NO_LAZY_FETCH GIT_DIFF_PATH_* GIT_EDITOR=: GIT_SEQUENCE_EDITOR=:",
        "They name the repository, the index and the settings of the git that runs: a git of an"
        " agent in another folder would write there.",
    ),
    Surrounding(
        "git",
        "GIT_EXEC_PATH",
        "It is where the git that runs has its commands. Set by the user, it stays.",
        shown_by=IN_GIT,
    ),
    Surrounding(
        "git commit",
        "GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_DATE",
        "They are the author and the dates of the commit that is being made. Set by the user,"
        " outside of a commit, they are the user's.",
        shown_by=("GIT_INDEX_FILE", "GIT_AUTHOR_DATE=@*"),
    ),
    Surrounding(
        "git filter-branch",
        "GIT_COMMIT GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL",
        "They are the commit that is being rewritten, and whoever has made it.",
        shown_by=("GIT_COMMITTER_DATE=@*",),
    ),
    Surrounding(
        "git difftool",
        "GIT_DIFFTOOL_* GIT_DIFF_TOOL GIT_EXTERNAL_DIFF=git-difftool--helper GIT_PAGER= BASE",
        "They name the tool, which every `git diff` of an agent would start.",
        shown_by=("GIT_DIFFTOOL_TRUST_EXIT_CODE",),
    ),
    Surrounding(
        "git submodule foreach",
        "GIT_PROTOCOL_FROM_USER=0 displaypath name sha1 sm_path toplevel",
        "They describe a submodule, and limit the addresses from which git may fetch.",
        shown_by=("sm_path",),
    ),
    Surrounding(
        "a script of git",
        "TEXTDOMAIN TEXTDOMAINDIR",
        "They name git's translations.",
        shown_by=("TEXTDOMAIN=git",),
    ),
    Surrounding(
        "make",
        "MAKEFLAGS MFLAGS GNUMAKEFLAGS MAKEOVERRIDES MAKELEVEL MAKE_TERMOUT MAKE_TERMERR"
        " MAKE_RESTARTS",
        "The options of the make that runs: under `-i` every make of a check would pass.",
        shown_by=("MAKELEVEL",),
    ),
    Surrounding(
        "npm, pnpm, yarn",
        "npm_* INIT_CWD NODE COLOR EDITOR=vi PNPM_SCRIPT_SRC_DIR PROJECT_CWD BERRY_BIN_FOLDER",
        "They describe the package and the script that is run.",
        shown_by=IN_NPM,
    ),
    Surrounding(
        "node",
        "NODE_CHANNEL_FD NODE_CHANNEL_SERIALIZATION_MODE NODE_UNIQUE_ID NODE_TEST_CONTEXT"
        " JEST_WORKER_ID VITEST VITEST_*",
        "They name open files of the parent, and have a test runner below speak to the one above.",
    ),
    Surrounding(
        "cargo",
        "CARGO CARGO_MANIFEST_* CARGO_PKG_* CARGO_CRATE_NAME CARGO_BIN_NAME"
        " CARGO_PRIMARY_PACKAGE CARGO_MAKEFLAGS MAKEFLAGS RUST_RECURSION_COUNT",
        "They describe the crate that is run.",
        shown_by=("CARGO_MANIFEST_DIR",),
    ),
    Surrounding(
        "pytest, coverage",
        "PYTEST_CURRENT_TEST PYTEST_VERSION PYTEST_XDIST_WORKER PYTEST_XDIST_WORKER_COUNT"
        " PYTEST_XDIST_TESTRUNUID COV_CORE_* COVERAGE_RUN",
        "They name the test that runs: programs behave otherwise below one.",
    ),
    Surrounding(
        "tox",
        "TOX_ENV_NAME TOX_ENV_DIR TOX_WORK_DIR TOX_PACKAGE PYTHONHASHSEED",
        "They describe tox's own environment.",
        shown_by=("TOX_ENV_NAME", "TOX_ENV_DIR"),
    ),
    Surrounding("nox", "NOX_CURRENT_SESSION", "It names the session that runs."),
    Surrounding(
        "pre-commit",
        "PRE_COMMIT PRE_COMMIT_FROM_REF PRE_COMMIT_TO_REF PRE_COMMIT_ORIGIN PRE_COMMIT_SOURCE"
        " PRE_COMMIT_REMOTE_* PRE_COMMIT_LOCAL_BRANCH PRE_COMMIT_CHECKOUT_TYPE"
        " PRE_COMMIT_IS_SQUASH_MERGE PRE_COMMIT_REWRITE_COMMAND PRE_COMMIT_COMMIT_MSG_SOURCE"
        " PRE_COMMIT_COMMIT_OBJECT_NAME PRE_COMMIT_PRE_REBASE_*",
        "They describe the hook that runs.",
    ),
    Surrounding("uv", "UV_RUN_RECURSION_DEPTH", "It counts the `uv run` above."),
    Surrounding(
        "GitHub Actions, Gitea",
        "ACTIONS_RUNTIME_TOKEN ACTIONS_RUNTIME_URL ACTIONS_RESULTS_URL ACTIONS_CACHE_URL"
        " ACTIONS_ID_TOKEN_REQUEST_TOKEN ACTIONS_ID_TOKEN_REQUEST_URL GITHUB_ENV GITHUB_OUTPUT"
        " GITHUB_PATH GITHUB_STATE GITHUB_STEP_SUMMARY",
        "The runner's own tokens, and the files by which a step changes the steps after it."
        " A token that a workflow's author passes by name (GITHUB_TOKEN) stays.",
    ),
    Surrounding(
        "GitLab CI",
        "CI_JOB_TOKEN CI_JOB_JWT CI_JOB_JWT_V1 CI_JOB_JWT_V2 CI_BUILD_TOKEN"
        " CI_REGISTRY_PASSWORD CI_DEPLOY_PASSWORD CI_REPOSITORY_URL CI_DEPENDENCY_PROXY_PASSWORD"
        " CI_RUNNER_SHORT_TOKEN",
        "They are the job's own tokens and passwords; the address holds the token too.",
    ),
    Surrounding(
        "CircleCI, Buildkite, Bitbucket, Semaphore, Drone, Woodpecker, Azure Pipelines",
        "CIRCLE_OIDC_TOKEN CIRCLE_OIDC_TOKEN_V2 BUILDKITE_AGENT_ACCESS_TOKEN BUILDKITE_ENV_FILE"
        " BITBUCKET_STEP_OIDC_TOKEN SEMAPHORE_OIDC_TOKEN DRONE_NETRC_PASSWORD CI_NETRC_PASSWORD"
        " SYSTEM_ACCESSTOKEN",
        "They are tokens of one job, which the runner makes.",
    ),
    Surrounding(
        "systemd",
        "NOTIFY_SOCKET WATCHDOG_PID WATCHDOG_USEC LISTEN_PID LISTEN_FDS LISTEN_FDNAMES"
        " INVOCATION_ID JOURNAL_STREAM SYSTEMD_EXEC_PID MEMORY_PRESSURE_WATCH"
        " MEMORY_PRESSURE_WRITE",
        "They are for the one process that the service starts.",
    ),
    Surrounding(
        "Gemini CLI",
        "GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_CONFIG_NOSYSTEM=1"
        " GIT_ASKPASS= SSH_ASKPASS= GIT_TERMINAL_PROMPT=0 GIT_PAGER=cat PAGER=cat"
        " GCM_INTERACTIVE=never GH_PROMPT_DISABLED=1 DISPLAY= DBUS_SESSION_BUS_ADDRESS=",
        "They take the user's settings from every git, and keep programs from asking anybody"
        " (measured with 0.61.0).",
        shown_by=("GEMINI_CLI",),
    ),
    Surrounding(
        "Codex",
        "NO_COLOR=1 COLORTERM= PAGER=cat GIT_PAGER=cat GH_PAGER=cat LC_ALL=C.UTF-8"
        " LC_CTYPE=C.UTF-8",
        "They keep the output of its agents' commands plain (measured with 0.171.0). LANG and TERM,"
        " which it sets too, stay: every program needs some value.",
        shown_by=("CODEX_CI",),
    ),
    Surrounding(
        "OpenCode",
        "AGENT=1 npm_config_user_agent=npm/undefined*",
        "They say who runs the command (measured with 1.18.33).",
        shown_by=("OPENCODE",),
    ),
    Surrounding(
        "Qwen Code",
        "PAGER=cat GIT_PAGER=cat",
        "They keep the output of its agents' commands plain (measured with 0.24.4).",
        shown_by=("QWEN_CODE",),
    ),
    Surrounding(
        "Copilot CLI",
        "SSH_ASKPASS= GIT_ASKPASS= GIT_TERMINAL_PROMPT=0 GCM_INTERACTIVE=Never"
        " GIT_OPTIONAL_LOCKS=0",
        "They keep git from asking anybody (measured with 1.0.102).",
        shown_by=("COPILOT_CLI",),
    ),
    Surrounding(
        "a shell",
        "_ PWD OLDPWD SHLVL",
        "They describe the caller's shell and folder; each shell sets its own.",
    ),
)
"""Every program whose variables sow knows. What is not here is the user's: ssh-agent, tmux, direnv,
conda, an activated virtual environment, variables on make's command line."""


class HooksOwn(PlainRecord):
    """A virtual environment that a program has made for what it runs, and how it is known."""

    shown_by: str
    folder: str
    """How a part of its path begins."""


HOOKS_OWN = (
    HooksOwn("PRE_COMMIT", "py_env-"),
    HooksOwn("PRE_COMMIT", "node_env-"),
    HooksOwn("TOX_ENV_DIR", ".tox"),
    HooksOwn("NOX_CURRENT_SESSION", ".nox"),
)
"""Any other is the user's: whoever activates one, or says `uv run`, `poetry run` or `hatch run`,
means it for what they call."""
ENVIRONMENT_FOLDERS = ("VIRTUAL_ENV", "NODE_VIRTUAL_ENV")
NAMES_BESIDE = {
    "VIRTUAL_ENV": ("VIRTUAL_ENV_PROMPT",),
    "NODE_VIRTUAL_ENV": ("NPM_CONFIG_PREFIX", "npm_config_prefix", "NODE_PATH"),
}
"""What is set together with such a folder."""


def users_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return `environ` less what programs around us have set for their own child.

    Where PATH begins with folders that such a program has put there, it is as before.
    """
    foreign = _foreign_names(tuple(environ.items()))
    result = {name: value for name, value in environ.items() if name not in foreign}
    path = users_path(environ)
    return result if path is None else {**result, "PATH": path}


def users_path(environ: Mapping[str, str]) -> str | None:
    """Return PATH without the folders at its head that the programs around us have put there."""
    path = environ.get("PATH")
    if path is None:
        return None
    folders = path.split(os.pathsep)
    foreign = _foreign_names(tuple(environ.items()))
    theirs = {f"{environ[name]}/bin" for name in ENVIRONMENT_FOLDERS if name in foreign}
    if "GIT_EXEC_PATH" in foreign:
        theirs.add(environ["GIT_EXEC_PATH"])
    below_npm = any(name in environ for name in IN_NPM)
    kept = list(folders)
    while kept and (kept[0] in theirs or (below_npm and _is_npms(kept[0]))):
        kept.pop(0)
    return os.pathsep.join(kept or folders)


def setter_of(name: str, environ: Mapping[str, str]) -> str | None:
    """Return the program that has set a variable for its own child; None where it is the user's."""
    for row in SURROUNDINGS:
        if name in _names_of(row, environ):
            return row.program
    return None


@lru_cache(maxsize=4)
def _foreign_names(variables: tuple[tuple[str, str], ...]) -> frozenset[str]:
    """Return which of an environment are not the user's: it is asked several times for a job."""
    environ = dict(variables)
    names = {name for row in SURROUNDINGS for name in _names_of(row, environ)}
    for variable in ENVIRONMENT_FOLDERS:
        if _is_hooks_own(environ, variable):
            names |= {variable, *NAMES_BESIDE[variable]}
    return frozenset(names)


def _names_of(row: Surrounding, environ: Mapping[str, str]) -> Iterator[str]:
    if row.shown_by and not any(any(_matching(each, environ)) for each in row.shown_by):
        return
    for pattern in row.names.split():
        yield from _matching(pattern, environ)


def _matching(pattern: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the names of the variables that a pattern of the table stands for."""
    name, has_value, value = pattern.partition("=")
    if not has_value and name.endswith("*"):
        yield from (each for each in environ if each.startswith(name[:-1]))
    elif name in environ and (not has_value or _is_value(environ[name], value)):
        yield name


def _is_value(value: str, pattern: str) -> bool:
    return value.startswith(pattern[:-1]) if pattern.endswith("*") else value == pattern


def _is_hooks_own(environ: Mapping[str, str], variable: str) -> bool:
    parts = PurePath(environ.get(variable, "")).parts
    return any(
        own.shown_by in environ and any(part.startswith(own.folder) for part in parts)
        for own in HOOKS_OWN
    )


def _is_npms(folder: str) -> bool:
    """Whether a folder of PATH is one that npm puts before the user's own (measured with 11.19)."""
    return folder.startswith("/") and folder.endswith(("/node_modules/.bin", "/node-gyp-bin"))
