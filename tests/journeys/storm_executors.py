"""A storm over many CLIs: who plays which role, the homes of their sessions, and their logins.

The stand-ins of five CLIs have a home for each session, and an agent over ACP has its sessions in a
folder. Each role has two of them: where the first is not logged in or has reached a limit, the
second begins. Some agents put a renewed login in the place of the one that they find.
"""

import fcntl
import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from journeys.site import Site, wait_until
from standins import read_runs

STAND_IN = Path(__file__).parents[1] / "standins/acp_agent.py"
HOMES = {
    "codex": ("CODEX_HOME", "", ".codex/auth.json"),
    "gemini": ("GEMINI_CLI_HOME", ".gemini", ".gemini/oauth_creds.json"),
    "opencode": ("XDG_DATA_HOME", "opencode", ".local/share/opencode/auth.json"),
    "qwen": ("QWEN_HOME", "", ".qwen/oauth_creds.json"),
    "copilot": ("COPILOT_HOME", "", ".copilot/config.json"),
}
"""Of each CLI: the variable of its home, the folder in it, and its login below the user's HOME."""
BINDINGS = {
    "implementer": ["codex", "gemini"],
    "tester": ["gemini", "opencode"],
    "debugger": ["opencode", "qwen"],
    "refactorer": ["qwen", "copilot"],
    "documenter": ["copilot", "asking"],
    "integrator": ["asking", "codex"],
    "architect": ["claude-code", "codex"],
}
ROLES = tuple(BINDINGS)
FIRST_STAMP = 1_000_000_000
"""What the first login has in it, and how old it is, in nanoseconds since the epoch."""
PLACES = " ".join(
    f"{variable}:{Path(inside, Path(login).name)}" for variable, inside, login in HOMES.values()
)
RENEW = rf"""
    for place in {PLACES}; do
        eval "folder=\$${{place%%:*}}"
        case "$folder" in */sow/homes/*) ;; *) continue ;; esac
        login="$folder/${{place#*:}}"
        at=$(date +%s%N)
        printf '{{"stamp": %s}}' "$at" >"$login.new"
        touch -d "@${{at%?????????}}.${{at#??????????}}" "$login.new"
        mv -T "$login.new" "$login" && echo "${{place%%:*}} $at" >>"$SOW_ROOT/renewed"
    done
""".strip()
"""Puts a new file in the place of the link to a login, as a CLI does that renews it."""


def agents_of(site: Site) -> dict[str, Any]:
    """Return the settings of all executors, and who plays which role."""
    yolo = {"type": "claude", "retries": 100, "settings": {"yolo_mode": True}}
    executors = {name: {**yolo, "type": name, "home": "per-session"} for name in HOMES}
    scripts = site.root / ".standin/asking"
    command = [sys.executable, str(STAND_IN), str(scripts)]
    asking = {"type": "acp", "retries": 100, "settings": {"command": command}}
    return {
        "executors": {"claude-code": yolo, "asking": asking, **executors},
        "bindings": BINDINGS,
    }


def make_logins(site: Site) -> None:
    """Give the user a login of each CLI."""
    for _, _, login in HOMES.values():
        path = Path(site.env["HOME"], login)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"stamp": FIRST_STAMP}))
        path.chmod(0o600)
        os.utime(path, ns=(FIRST_STAMP, FIRST_STAMP))


def tell_agents(site: Site, task: str, runs: list[list[dict[str, Any]]]) -> None:
    """Write down what the agents of a task do, and that their homes are to be noted."""
    homes = [variable for variable, _, _ in HOMES.values()]
    script = {"runs": runs, "record_env": homes}
    (site.root / ".standin").mkdir(exist_ok=True)
    (site.root / f".standin/{task}.json").write_text(json.dumps(script))


def tell_asking(site: Site, task: str, kind: str, work: float) -> None:
    """Write down what the agent over ACP does with a task."""
    folder = site.root / ".standin/asking"
    folder.mkdir(parents=True, exist_ok=True)

    def aside(words: str) -> dict[str, Any]:
        return {"run": f'. "$SOW_ROOT/kinds/asides.sh" && {words}'}

    opens: list[dict[str, Any]] = [aside("begin"), {"run": f"sleep {work:.2f}"}]
    speaks = [{"say": "Reading the task"}, aside("say spoke"), {"run": f"sleep {work:.2f}"}]
    reports = [aside("say report"), aside("report"), aside("say end")]
    good = {"turn": [*opens, *speaks, *reports]}
    runs: list[dict[str, Any]] = [good]
    match kind:
        case "crashing":
            runs = [{"turn": [*opens, *speaks, aside("say end"), {"exit": 3}]}, good]
        case "mute":
            runs = [{"turn": [*opens, {"exit": 3}]}] * 2 + [good]
        case "moving":
            runs = [{"new_error": {"code": -32000, "message": "Authentication required"}}, good]
        case "leaving":
            left = {"run": "(trap '' TERM; exec setsid sleep 60) >/dev/null 2>&1 &"}
            runs = [{"turn": [*opens, *speaks, left, *reports]}]
        case "cancelled":
            runs = [{"turn": [*opens, *speaks, {"hang": True}]}]
    store = str(site.root / ".standin/asking-sessions")
    (folder / f"{task}.json").write_text(json.dumps({"store": store, "runs": runs}))


def broken_homes(site: Site) -> Iterator[str]:
    """Yield what is mixed up, torn, locked or lost when a storm is over."""
    yield from _sessions(site)
    yield from _logins(site)
    yield from _homes_left(site)
    yield from _locks(site)


def _sessions(site: Site) -> Iterator[str]:
    """Each session is of one task and one CLI, begun before it is resumed, in a home of its own."""
    owners: dict[str, tuple[str, str]] = {}
    runs = read_runs(site.root)
    for run in runs:
        session, who = run.session_id or "", (run.cli, run.task)
        if owners.setdefault(session, who) != who:
            yield f"doubled: session {session} of {owners[session]} was used by {who}"
        begun = any(
            each.session_id == session and each.verb == "spawn" and each.started < run.started
            for each in runs
        )
        if run.verb == "resume" and not begun:
            yield f"lost: {who} went on in {session}, which it had not begun"
        variable = HOMES.get(run.cli, ("", ""))[0]
        home = run.env.get(variable, "")
        if variable and f"/task-{run.task}/{run.cli}/" not in f"{home}/":
            yield f"doubled: {who} ran in {variable}={home}"


def _logins(site: Site) -> Iterator[str]:
    """The user's logins are whole, and the last that was renewed."""
    path = site.root / "renewed"
    lines = path.read_text().splitlines() if path.exists() else []
    for variable, _, login in HOMES.values():
        stamps = [int(line.split()[1]) for line in lines if line.startswith(f"{variable} ")]
        users = Path(site.env["HOME"], login)
        try:
            kept = json.loads(users.read_text())["stamp"]
        except (OSError, ValueError) as error:
            yield f"lost: {users}: {error}"
            continue
        if kept < max(stamps, default=FIRST_STAMP):
            yield f"lost: {users} is of {kept}, renewed at {max(stamps)}"
        if users.is_symlink() or (users.stat().st_mode & 0o077 and stamps):
            yield f"left: {users} is open to others"


def _homes(site: Site) -> list[Path]:
    return sorted(Path(site.env["HOME"], ".local/state/sow/homes").glob("*/*/*"))


def _homes_left(site: Site) -> Iterator[str]:
    """Each home is whole while its task is open, and none is left once the project has ended."""
    for home in _homes(site):
        for draft in home.rglob("*.new"):
            yield f"left: {draft}"
        variable, inside, login = HOMES[home.name]
        linked = home / variable.lower() / inside / Path(login).name
        if not (home / variable.lower() / inside).is_dir():
            yield f"left: a home without its folder: {home}"
        elif not linked.is_symlink() or linked.resolve() != Path(site.env["HOME"], login).resolve():
            yield f"left: {linked} is no link to the user's login"
    site.sow("project", "abandon", expect=None)
    site.sow("worker", "--drain")
    with suppress(AssertionError):
        wait_until(lambda: not _homes(site), "the homes go", seconds=15)
    if left := _homes(site):
        yield f"left: homes of tasks that are over: {left}"


def _locks(site: Site) -> Iterator[str]:
    """Nobody holds a lock of a login or of a warm-up."""
    home = Path(site.env["HOME"])
    for path in (*home.rglob(".sow-login.lock"), *home.rglob("warm-ups/*.lock")):
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield f"left: {path} is locked"
