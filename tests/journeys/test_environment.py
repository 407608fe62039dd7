"""What agents, checks, setup and notify commands see: the user's environment, whoever calls."""

import subprocess
from pathlib import Path

import yaml
from journeys.callers import await_end
from journeys.gitsite import commit, git, make_repository
from journeys.site import Site, wait_until
from journeys.staff import nothing_is_taken, shell_executor

ENVIRONMENT = "env >{}/$SOW_TASK_ID-{}"
AGENT = """
cat >/dev/null
{environment}
echo "work of $SOW_TASK_ID" >>code.txt
git -c user.name=Agent -c user.email=agent@example.invalid commit -q -a -m "Work of $SOW_TASK_ID"
sow task set status needs_review
"""
CALL = "sow agent spawn 020 --detach"
WORST = {
    **{"npm_lifecycle_event": "test", "npm_config_loglevel": "silent", "INIT_CWD": "/nowhere"},
    **{"PRE_COMMIT": "1", "VIRTUAL_ENV": "/cache/repo1/py_env-python3"},
    **{"TOX_ENV_DIR": "/r/.tox/py", "PYTEST_CURRENT_TEST": "test", "NODE_CHANNEL_FD": "3"},
    **{"CI_JOB_TOKEN": "secret", "GITHUB_ENV": "/nowhere", "NOTIFY_SOCKET": "/nowhere"},
}
OF_THE_JOB = ("SOW_", "_=", "PWD=", "OLDPWD=", "SHLVL=")


def seen(folder: Path, task: str) -> dict[str, set[str]]:
    """Return what each of the four has seen of a call, without what is the job's and a shell's."""
    files = sorted(folder.glob(f"{task}-*"))
    return {
        file.name.removeprefix(task): {
            line for line in file.read_text().splitlines() if not line.startswith(OF_THE_JOB)
        }
        for file in files
    }


def begin(site: Site) -> Path:
    """Make a repository whose every command of the user writes down its environment."""
    dumps = site.base / "dumps"
    dumps.mkdir()
    make_repository(site)
    site.project("010", "020")
    agent = AGENT.format(environment=ENVIRONMENT.format(dumps, "agent"))
    executors = {"mine": shell_executor(site, "agent", agent)}
    command = f'task=${{SOW_MESSAGE#*task }}; env >"{dumps}/${{task%% *}}-told"'
    site.configure(
        {
            "agents": {"executors": executors, "bindings": {"implementer": "mine"}},
            "notify": {"needs_review": command},
        }
    )
    (site.root / "fails.mk").write_text("all:\n\tfalse\n")
    check = f"{ENVIRONMENT.format(dumps, 'check')}; make -s -f fails.mk"
    settings = {
        "clones": {"use": "always", "setup": ENVIRONMENT.format(dumps, "setup")},
        "checks": {"unit": check, "default": ["unit"]},
    }
    (site.root / ".sow/config.yaml").write_text(yaml.safe_dump(settings))
    commit(site, "a project")
    site.sow("trust", "--yes")
    return dumps


def test_a_call_from_the_worst_place_starts_a_worker_like_any_other(site: Site) -> None:
    dumps = begin(site)
    site.sow("agent", "spawn", "010", "--detach")
    await_end(site, "010")
    assert site.sow("task", "check", "010", expect=None).out.startswith("010 failed (check unit")
    wait_until(lambda: len(seen(dumps, "010")) == 4, what="the command is told of the event")
    site.sow("worker", "stop")

    hook = site.root / ".git/hooks/post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\nexec git --git-dir="$PWD/.git" --work-tree="$PWD" call\n')
    hook.chmod(0o755)
    git(site, "config", "alias.call", f"!{CALL}")
    (site.base / "top.mk").write_text("all:\n\tgit commit -q --allow-empty -m 'By a person'\n")
    environ = {**site.environment(WORST), "PATH": f"{WORST['VIRTUAL_ENV']}/bin:{site.env['PATH']}"}
    run(site, "make", "-i", "-f", str(site.base / "top.mk"), environ=environ)
    await_end(site, "020")
    assert git(site, "log", "-1", "--format=%s", "main") == "By a person\n"
    assert git(site, "status", "--porcelain", "--", ".", ":!.sow") == ""
    assert git(site, "log", "-1", "--format=%s", site.task("020")["clone"]["branch"]) == (
        "Work of 020\n"
    )
    assert site.sow("task", "check", "020", expect=None).out.startswith("020 failed (check unit")
    wait_until(lambda: len(seen(dumps, "020")) == 4, what="the command is told of the event")

    assert seen(dumps, "020") == seen(dumps, "010")
    nothing_is_taken(site)


def run(site: Site, *argv: str, environ: dict[str, str]) -> None:
    """Run a program that is not sow in the repository."""
    done = subprocess.run(
        argv, cwd=site.root, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
