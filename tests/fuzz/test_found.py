"""What made sow say that it has a bug, escape its boundary, or hang; each was found once."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from fuzz.arena import MAKERS, copy_arena, damage, make_template, usual_environment

pytestmark = pytest.mark.slow  # each case starts a command line

SECONDS = 240.0
TASK = ".sow/project/phases/implementation/tasks/010"
ODD = ("folder", "pipe", "socket", "loop", "device", "huge")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_template(tmp_path_factory.mktemp("fuzz"))


@pytest.fixture
def arena(template: Path, tmp_path: Path) -> Path:
    copy_arena(template, tmp_path / "arena")
    return tmp_path / "arena"


def sow(
    arena: Path,
    *words: str,
    redirect: str = "",
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
) -> tuple[int, str]:
    """Run the command line as a shell would; return its exit code and what it said of errors."""
    command = [sys.executable, "-P", "-m", "sow", *words]
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirect}', "sh", *command],
        cwd=arena,
        env={**usual_environment(arena), **(env or {})},
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    printed = done.stderr.decode("utf-8", "replace")
    for words_of_a_bug in ("This is a bug", "Traceback"):
        assert words_of_a_bug not in printed
    assert list(arena.glob("tmp/sow-error-*")) == []
    return done.returncode, printed


@pytest.mark.few(3)
@pytest.mark.parametrize("verb", ["show", "explain", "cancel", "logs"])
@pytest.mark.parametrize("number", ["99999999999999999999", "9" * 5000])
def test_a_job_number_that_fits_into_no_record(arena: Path, verb: str, number: str) -> None:
    assert sow(arena, "job", verb, number)[0] == 4


@pytest.mark.parametrize(
    "words",
    [
        ("job", "list", "--limit"),
        ("job", "logs", "1", "--attempt"),
        ("worker", "--drain", "--concurrency"),
        ("worker", "logs", "--lines"),
        ("changes", "--limit"),
    ],
    ids=" ".join,
)
def test_a_count_that_fits_into_no_record(arena: Path, words: tuple[str, ...]) -> None:
    code, errors = sow(arena, *words, "99999999999999999999")
    assert (code, "is not between" in errors) == (2, True)


@pytest.mark.parametrize(
    "place",
    [
        "worker: {concurrency: %s}",
        "retry: {worker_deaths: %s}",
        "agents: {executors: {claude-code: {max_parallel: %s}}}",
        "agents: {executors: {claude-code: {retries: %s}}}",
    ],
)
def test_a_setting_that_fits_into_no_record(arena: Path, place: str) -> None:
    (arena / "home/.config/sow/config.yaml").write_text(place % "99999999999999999999" + "\n")
    code, errors = sow(arena, "agent", "spawn", "040", "--detach")
    assert (code, "expected an integer <= 1000000" in errors) == (3, True)


@pytest.mark.one_of
@pytest.mark.parametrize("place", ["workers", "jobs", "waiters"])
def test_a_file_where_a_folder_of_the_queue_should_be(arena: Path, place: str) -> None:
    damage(arena / ".sow/run" / place, "text")
    for words in (["worker", "list"], ["job", "list"], ["agent", "spawn", "040"], ["doctor"]):
        code, errors = sow(arena, *words)
        assert code in (0, 1, 6), errors
    code, errors = sow(arena, "worker", "--drain")
    assert code == (6 if place == "workers" else 0), errors


def test_standard_output_that_is_closed(arena: Path) -> None:
    for words in (["doctor"], ["config", "validate"], ["job", "logs", "1"], ["task", "list"]):
        code, errors = sow(arena, *words, redirect=">&-")
        assert (code in (0, 1), errors) == (True, ""), words


def test_standard_output_that_is_full(arena: Path) -> None:
    code, errors = sow(arena, "task", "list", redirect=">/dev/full")
    assert (code, "cannot write to standard output" in errors) == (1, True)
    assert sow(arena, "agent", "task", redirect=">/dev/full")[0] == 1  # a help, shown as an error


@pytest.mark.parametrize("redirect", ["2>/dev/full", "2>&-", "2</dev/null"])
def test_an_error_that_nobody_can_be_told_of(arena: Path, redirect: str) -> None:
    assert sow(arena, "task", "show", "999", redirect=redirect)[0] == 4
    assert sow(arena, "task", "nonsense", redirect=redirect)[0] == 2


def test_a_cancel_whose_reader_has_gone(arena: Path) -> None:
    code, _ = sow(arena, "task", "abandon", "010", "--cancel-job", redirect="| true")
    assert code == 0  # the shell's own: what counts is that nothing was said


def test_a_configuration_in_the_home_of_nobody(arena: Path) -> None:
    env = {"SOW_CONFIG": "~nobody-here/config.yaml"}
    assert sow(arena, "config", "path", env=env)[0] == 0


def test_a_configuration_whose_path_is_no_utf8(arena: Path) -> None:
    env = {"SOW_CONFIG": os.fsdecode(b"\xff.yaml")}
    assert sow(arena, "config", "init", env=env)[0] == 0


@pytest.mark.few(12)
@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize(
    ("place", "words", "code"),
    [
        (f"{TASK}/state.yaml", "task show 010", 4),
        (f"{TASK}/state.yaml", "task set 010 name Another", 4),
        (".sow/project/state.yaml", "project status", 4),
        (".sow/.version", "task list", 4),
        (".sow/config.yaml", "config show", 3),
        ("home/.config/sow/config.yaml", "config show", 3),
        (".sow/run/jobs/1/1/output.jsonl", "job logs 1", 4),
    ],
)
def test_a_file_that_is_none(arena: Path, place: str, words: str, code: int, kind: str) -> None:
    if kind == "huge" and "job logs" in words:
        code = 0  # as long as it may be
    if place == ".sow/project/state.yaml" and kind != "huge":
        code = 0  # it is put back, since jobs live here
    damage(arena / place, kind)
    found, errors = sow(arena, *words.split())
    assert found == code
    assert code == 0 or Path(place).name in errors


@pytest.mark.parametrize("kind", [kind for kind in ODD if kind != "huge"])
def test_a_log_that_is_none(arena: Path, kind: str) -> None:
    damage(arena / TASK / "log.md", kind)
    code, errors = sow(arena, "agent", "log", "Did it", "--task", "010")
    assert (code, "log.md" in errors) == (4, True)


@pytest.mark.few(6)
@pytest.mark.parametrize("kind", sorted(MAKERS))
def test_a_lock_of_a_worker_that_is_none(arena: Path, kind: str) -> None:
    damage(arena / ".sow/run/workers/w1-dead.lock", kind)
    assert sow(arena, "worker", "list")[0] == 0


def test_a_text_without_end(arena: Path) -> None:
    for words in (
        ["task", "add", "Name", "--agent", "tester", "--description-file", "zero"],
        ["agent", "resume", "--detach", "020", "--file", "zero"],
    ):
        code, errors = sow(arena, *words)
        assert (code, "16 MiB" in errors) == (2, True)


def test_a_text_from_a_pipe_is_welcome(arena: Path) -> None:
    words = ("task", "add", "Name", "--agent", "tester", "--id", "070", "--description-file")
    assert sow(arena, *words, "/dev/stdin", stdin=b"From a pipe.\n")[0] == 0
    (description,) = arena.glob(".sow/project/phases/*/tasks/070/description.md")
    assert description.read_text() == "From a pipe.\n"


@pytest.mark.parametrize("words", ["batch run 040 --detach", "agent spawn 040 --detach"])
def test_a_path_variable_that_is_no_text(arena: Path, words: str) -> None:
    """A record holds it, and a record is text."""
    path = f"{usual_environment(arena)['PATH']}:/b\udcff"
    assert sow(arena, *words.split(), env={"PATH": path})[0] == 0


def test_an_index_of_git_that_is_none(arena: Path) -> None:
    """Git is asked of a file in conflict, and knows nothing; the marks are told all the same."""
    damage(arena / ".git/index", "garbage")
    state = arena / TASK / "state.yaml"
    lines = state.read_text().split("\n")
    marks = ["<<<<<<< HEAD", "  name: A", "=======", "  name: B", ">>>>>>> theirs"]
    state.write_text("\n".join([*lines[:4], *marks, *lines[4:]]))
    for words in ((), ("--fix",)):
        assert sow(arena, "validate", *words)[0] == 1
