"""What `sow init` has commented out in `.sow/config.yaml` is right as soon as the `#` are gone."""

import re
from pathlib import Path

import pytest

from sow.config.batches import policy_of
from sow.config.checks import checks_of, read_repository
from sow.config.clones import clone_settings
from sow.schema.batch_policy import BatchPolicy
from sow.state.workspace_init import init_workspace

SECTIONS = ("artifacts", "worker", "checks", "clones", "batch", "reviews")


def blocks(text: str) -> dict[str, str]:
    """Return each example by its section, uncommented."""
    found = {}
    for block in re.split(r"\n\n+", text):
        lines = [line.removeprefix("# ") for line in block.splitlines()]
        starts = [number for number, line in enumerate(lines) if re.match(r"[a-z_]+:( |$)", line)]
        if starts:
            example = [line.removeprefix("#") for line in lines[starts[0] :]]
            found[example[0].partition(":")[0]] = "\n".join(example) + "\n"
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    init_workspace(tmp_path)
    return tmp_path / ".sow/config.yaml"


def test_each_section_has_an_example(path: Path) -> None:
    assert tuple(blocks(path.read_text())) == SECTIONS


@pytest.mark.parametrize("chosen", [*((name,) for name in SECTIONS), SECTIONS], ids="-".join)
def test_an_example_is_valid_once_it_is_uncommented(path: Path, chosen: tuple[str, ...]) -> None:
    examples = blocks(path.read_text())
    path.write_text("".join(examples[name] for name in chosen))
    source = read_repository(path)
    checks, (clones, _), policy = checks_of(source), clone_settings(source), policy_of(source, {})
    for name in chosen:
        assert getattr(source.content, name) is not None
    assert ("checks" in chosen) == (checks.default == ("unit",)) == ("lint" in checks.commands)
    assert ("clones" in chosen) == (clones.setup == "npm ci")
    assert ("batch" in chosen) == (policy != BatchPolicy())
