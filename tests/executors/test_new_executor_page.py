"""docs/new-executor.md, followed to the letter in a copy of the tree: a CLI is added to it."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from own_queue import give_secret
from repository.markdown import REPOSITORY

pytestmark = [
    pytest.mark.slow,  # it runs make, workers and pytest in a copy of the tree
    pytest.mark.one_of("additions to a copy of the tree", "an executor by its page"),
]

PAGE = REPOSITORY / "docs/new-executor.md"
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COPIED = ("sow", "worker", "tests", "scripts", "docs")
MADE = ("__pycache__", ".venv", "bin", "trial", ".pytest_cache")
"""What the page has made that is no file of the tree."""
SECONDS = "300"


class Checkout:
    """A copy of the tree in which `make run` has worked, and somebody who works in it."""

    def __init__(self, place: Path) -> None:
        self.root = place / "checkout"
        leave_out = shutil.ignore_patterns("__pycache__", "journeys", "real", "browser")
        for folder in COPIED:
            shutil.copytree(REPOSITORY / folder, self.root / folder, ignore=leave_out)
        for name in ("Makefile", "pyproject.toml"):
            shutil.copy(REPOSITORY / name, self.root)
        (self.root / "bin").mkdir()
        (place / "home").mkdir()
        give_secret(place / "home")
        self.env = {"PATH": os.environ["PATH"], "HOME": str(place / "home"), "LANG": "C.UTF-8"}
        self._make_environment()
        self.output = ""

    def _make_environment(self) -> None:
        """Make `.venv` as `make run` does, of the packages that are installed here."""
        own = self.root / ".venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(own)], check=True)
        (packages,) = own.glob("lib/python*/site-packages")
        here = sysconfig.get_path("purelib")
        (packages / "checkout.pth").write_text(f"{self.root}\n{here}\n")
        script = (self.root / "scripts/sow").read_text()
        (own / "bin/sow").write_text(script.replace("#!python", f"#!{own}/bin/python", 1))
        (own / "bin/sow").chmod(0o755)
        for name in (".ready-for-use", ".ready-for-work"):
            (own / name).touch()

    def follow(self, page: str) -> None:
        """Save what the page says to save, and run what it says to run, in its order."""
        commands = []
        for language, path, body in BLOCK.findall(page):
            if path:
                commands.append(f"cat >{path} <<'END-OF-FILE'\n{body}END-OF-FILE")
            elif language == "bash":
                commands.append(body)
        done = subprocess.run(
            ["timeout", SECONDS, "bash", "-eux", "-c", "\n".join(commands)],
            cwd=self.root,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.output = done.stdout
        assert done.returncode == 0, self.output[-4000:]

    def sow(self, *words: str) -> list[Any]:
        """Return what a command prints in the trial's repository."""
        done = subprocess.run(
            [str(self.root / ".venv/bin/sow"), *words],
            cwd=self.root / "trial",
            env=self.env,
            capture_output=True,
            text=True,
            check=True,
        )
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    made = Checkout(tmp_path_factory.mktemp("scratch"))
    try:
        made.follow(PAGE.read_text(encoding="utf-8"))
        yield made
    finally:
        if (made.root / "trial/.sow").is_dir():
            made.sow("worker", "stop", "--json")


def sessions_of(checkout: Checkout, task: str) -> list[tuple[str, str, str]]:
    jobs = checkout.sow("job", "list", "--task", task, "--json")
    return [(job["verb"], job["executor"], job["session_id"]) for job in reversed(jobs)]


def test_both_ways_come_to_a_report(checkout: Checkout) -> None:
    statuses = {row["task"]: row["status"] for row in checkout.sow("task", "list", "--json")}
    assert statuses == {"010": "needs_review", "020": "needs_review"}


@pytest.mark.parametrize(("task", "executor"), [("010", "mine"), ("020", "foo")])
def test_a_resume_goes_on_in_the_session(checkout: Checkout, task: str, executor: str) -> None:
    (spawn, first, session), (resume, second, again) = sessions_of(checkout, task)
    assert (spawn, resume, first, second) == ("spawn", "resume", executor, executor)
    assert session
    assert session == again


def test_its_events_are_read_with_code_alone(checkout: Checkout) -> None:
    by_task = {group["key"]: group for group in checkout.sow("cost", "--json")[0]["groups"]}
    assert by_task["020"]["tokens"]["output"] == 18
    assert by_task["010"]["runs_without_tokens"] == 2
    kinds = [each["kind"] for each in checkout.sow("task", "output", "020", "--json")]
    assert {"session", "tool_use", "tool_result", "text", "result"} <= set(kinds)


def test_the_doctor_and_the_list_know_it(checkout: Checkout) -> None:
    assert f"foo: foo ({checkout.root}/bin/foo)" in checkout.output
    assert re.search(r"^foo +foo +foo +yes +no ", checkout.output, re.MULTILINE)


def test_three_files_are_new_and_a_word(checkout: Checkout) -> None:
    now, before = files_in(checkout.root), files_in(REPOSITORY)
    assert sorted(now.keys() - before.keys()) == [
        "sow/agent_clis/foo.py",
        "sow/executors/foo.py",
        "tests/executors/cases_foo.py",
    ]
    changed = sorted(path for path in now.keys() & before.keys() if now[path] != before[path])
    assert changed == ["docs/compatibility.md", "sow/schema/executor_type.py"]
    more = now[changed[1]].count(b"\n") - before[changed[1]].count(b"\n")
    assert more == 1


def files_in(root: Path) -> dict[str, bytes]:
    paths = (path for folder in COPIED for path in (root / folder).rglob("*") if path.is_file())
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in paths
        if not set(path.parts) & set(MADE)
    }


def test_the_files_are_as_ours(checkout: Checkout) -> None:
    new = ["sow/agent_clis/foo.py", "sow/executors/foo.py", "tests/executors/cases_foo.py"]
    for words in (["check"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *words, "--no-cache", *new]
        done = subprocess.run(ruff, cwd=checkout.root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_the_cli_of_the_page_is_as_short_as_it_says(checkout: Checkout) -> None:
    lines = (checkout.root / "bin/foo").read_text().splitlines()
    code = [line for line in lines if line and not line.startswith(("#", "import"))]
    assert len(code) <= 20


def test_what_is_there_is_not_overwritten(checkout: Checkout) -> None:
    for name, words in (
        ("foo", "foo is there already"),
        ("codex", "there already"),
        ("A-b", "Usage"),
    ):
        done = subprocess.run(
            ["make", "--no-print-directory", "executor", f"NAME={name}"],
            cwd=checkout.root,
            env=checkout.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert words in done.stderr
