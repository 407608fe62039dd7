"""Each single damage of a valid tree is named with its file and line; every kind is provoked."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from in_process import run_in_process
from validation.conftest import snapshot
from validation.damages import DAMAGES, Expected
from validation.looking import defects_of
from validation.trees import make_tree

from sow.paths import Workspace
from sow.validation.kinds import MEANINGS, Kind
from sow.validation.mending import MENDERS, mend

pytestmark = pytest.mark.slow

NOWHERE = Path("/nonexistent/config.yaml")
MOST_TREES = 400
NAMED: Counter[Kind] = Counter()
"""How often each kind was named."""


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory):
    """Return a function that makes the tree of a seed, once."""
    base = tmp_path_factory.mktemp("trees")

    def tree(seed: int) -> Path:
        folder = base / str(seed)
        if not folder.exists():
            folder.mkdir()
            make_tree(folder, seed)
        return folder

    return tree


def damaged(name: str, trees, tmp_path: Path, skip: int = 0) -> tuple[Workspace, Expected]:
    """Damage a copy of the first tree that has what it takes."""
    import shutil

    for seed in range(skip, MOST_TREES):
        root = tmp_path / f"{name}-{seed}"
        shutil.copytree(trees(seed), root, symlinks=True)
        workspace = Workspace(root)
        expected = DAMAGES[name](workspace, Random(seed))
        if expected is not None:
            return workspace, expected
        shutil.rmtree(root)
    raise AssertionError(f"no tree has what it takes for {name}")


@pytest.mark.few(16)
@pytest.mark.parametrize("name", DAMAGES)
def test_it_is_named_with_its_line_and_what_is_mended_is_mended_for_good(
    name: str, trees, tmp_path: Path
) -> None:
    workspace, expected = damaged(name, trees, tmp_path)
    found = defects_of(workspace)
    NAMED.update(each.kind for each in found)
    assert [(each.kind, each.path, each.line) for each in found] == [expected]
    (defect,) = found
    assert defect.what
    assert defect.why
    assert defect.advice
    before = snapshot(workspace)
    done, failed = mend(workspace, NOWHERE, now=0)
    assert failed == []
    assert bool(done) == defect.is_mended
    after = snapshot(workspace)
    if not done:
        assert after == before, "what nobody can mend is left as it is"
        return
    assert expected.kind in MENDERS
    assert defects_of(workspace) == []
    assert mend(workspace, NOWHERE, now=0) == ([], [])
    assert snapshot(workspace) == after


def test_every_kind_is_provoked(trees, tmp_path: Path) -> None:
    """The report: how often each kind was named."""
    for name in DAMAGES:
        workspace, _ = damaged(name, trees, tmp_path)
        NAMED.update(each.kind for each in defects_of(workspace))
    print({kind.value: NAMED[kind] for kind in Kind})
    assert [kind for kind in Kind if not NAMED[kind]] == []
    assert set(MEANINGS) == set(Kind)


def test_it_is_shown_to_people(trees, tmp_path: Path, environment) -> None:
    workspace, expected = damaged("a_task_that_waits_for_itself", trees, tmp_path)
    ended = run_in_process("validate", env=environment, cwd=workspace.root)
    assert ended.code == 1
    place = f"{expected.path.relative_to(workspace.root)}, line {expected.line}"
    task = expected.path.parent.name
    assert ended.out.splitlines() == [
        f"✗ Error: {place}: it would wait for itself: {task} → {task}",
        "  None of them can start.",
        '  Remove one of these dependencies: sow task set TASK depends_on "…"',
        "",
        "1 finding.",
    ]
