"""A random mangled tree never makes a traceback; `--fix` loses no text, and is done once."""

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from fuzz.arena import MAKERS, damage
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from in_process import run_in_process
from validation.conftest import snapshot
from validation.damages import DAMAGES
from validation.looking import defects_of
from validation.trees import MARKS, make_tree

from sow.paths import Workspace
from sow.validation.kinds import Kind
from sow.validation.reading import is_leftover

pytestmark = pytest.mark.slow

CODES = {0, 1, 4}
ODD = sorted(set(MAKERS) - {"huge", "device"})
"""What may lie in a file's place; reading the other two takes long."""
examples = settings(
    max_examples=min(30, settings.default.max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def mangle(workspace: Workspace, dice: Random) -> None:
    """Change something below `.sow`, in a way that nobody foresaw."""
    there = [path for path in sorted(workspace.sow.rglob("*")) if path != workspace.run]
    path = dice.choice(there)
    if dice.random() < 0.3:
        damage(path, dice.choice(ODD))
    elif path.is_dir() and not path.is_symlink():
        _mangle_folder(path, dice)
    elif path.is_file():
        path.write_bytes(_mangled(path.read_bytes(), dice))


def _mangle_folder(path: Path, dice: Random) -> None:
    other = path.with_name(dice.choice(["010", "020", "777", "Odd Name", ".x", "tasks", "\udcff"]))
    if dice.random() < 0.5:
        shutil.rmtree(path)
    elif not other.exists():
        copy_or_move = shutil.copytree if dice.random() < 0.5 else shutil.move
        with suppress(shutil.Error):  # a pipe that a mangling before has left
            copy_or_move(str(path), str(other))


def _mangled(data: bytes, dice: Random) -> bytes:
    lines = data.split(b"\n")
    at, to = sorted(dice.randrange(len(lines)) for _ in range(2))
    match dice.randrange(8):
        case 0:
            del lines[at:to]
        case 1:
            lines[at:at] = lines[at:to]
        case 2:
            dice.shuffle(lines)
        case 3:
            mine, its = b"\n".join(lines[at:to]), b"\n".join(lines[:at])
            marks = b"<<<<<<< HEAD\n%b\n=======\n%b\n>>>>>>> theirs" % (mine, its)
            lines[at:to] = marks.split(b"\n")
        case 4:
            lines[at] = bytes(dice.randrange(256) for _ in range(dice.randrange(9)))
        case 5:
            lines[at] = lines[at].replace(b":", b": [").replace(b'"', b"", 1)
        case 6:
            word = dice.choice([b"null", b"999999999999999999999", b"~", b"{}", b"&a [*a]", b"2.5"])
            lines[at] = lines[at].partition(b":")[0] + b": " + word
        case _:
            lines[at:at] = [line.encode() for line in MARKS.split("\n")[dice.randrange(3) :]]
    return b"\n".join(lines)


@examples
@given(seed=st.integers(0, 10**9))
def test_no_traceback_and_no_text_lost(
    tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str], seed: int
) -> None:
    dice = Random(seed)
    workspace = make_tree(tmp_path_factory.mktemp("tree"), seed)
    for _ in range(dice.randint(1, 5)):
        mangle(workspace, dice)
    before = lines_of(workspace)
    for words in ((), ("--fix",)):
        ended = run_in_process("validate", "--json", *words, env=environment, cwd=workspace.root)
        assert ended.code in CODES, ended.out + ended.err
        assert "bug" not in ended.err
        record = json.loads(ended.out.splitlines()[-1])
        if ended.code != 4:
            assert record["valid"] is (ended.code == 0)
            assert all(each["path"].startswith(".sow") for each in record["findings"])
    assert before - lines_of(workspace) <= {b"<<<<<<< HEAD", b"=======", b">>>>>>> theirs", b""}
    after = all_of(workspace)
    run_in_process("validate", "--fix", env=environment, cwd=workspace.root)
    assert all_of(workspace) == after


def lines_of(workspace: Workspace) -> set[bytes]:
    """Return every line of every text that people or agents write, wherever it lies."""
    found: set[bytes] = set()
    for folder, _, files in os.walk(workspace.sow):
        for path in (Path(folder, name) for name in files if name.endswith(".md")):
            if path.is_file() and path.stat().st_size < 1 << 20 and not is_leftover(path, False):
                found |= set(path.read_bytes().split(b"\n"))
    return found


def all_of(workspace: Workspace) -> dict[str, bytes]:
    return {name: data for name, data in snapshot(workspace).items() if len(data) < 1 << 20}


@examples
@given(seed=st.integers(0, 10**9), name=st.sampled_from(sorted(DAMAGES)))
def test_a_single_damage_of_any_tree_is_named(
    tmp_path_factory: pytest.TempPathFactory, seed: int, name: str
) -> None:
    workspace = make_tree(tmp_path_factory.mktemp("tree"), seed)
    expected = DAMAGES[name](workspace, Random(seed))
    if expected is not None:
        found = defects_of(workspace)
        assert expected in [(each.kind, each.path, each.line) for each in found]
    else:
        assert defects_of(workspace) == []


def test_folders_that_nobody_may_read_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the tests run as root, for whom modes do not hold."""
    workspace = make_tree(tmp_path, 1)
    tasks = workspace.phases / "implementation" / "tasks"
    really = os.scandir

    def refuse(path: object) -> object:
        if Path(str(path)) == tasks:
            raise PermissionError(13, "Permission denied", str(path))
        return really(path)  # type: ignore[call-overload]

    tasks.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(os, "scandir", refuse)
    found = [each for each in defects_of(workspace) if each.path == tasks]
    assert [each.kind for each in found] == [Kind.UNREADABLE]
