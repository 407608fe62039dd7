"""References with the real Claude Code: its agent reads them, and is refused to write them."""

import json
from pathlib import Path
from typing import Any

import pytest
from journey import Journey, tool_results
from refs.remotes import Remote
from scripted_model import REPORT

pytestmark = pytest.mark.real


@pytest.fixture
def referring(journey: Journey, tmp_path: Path) -> Journey:
    """A journey whose task names a reference."""
    remote = Remote.begun(tmp_path / "remotes" / "style")
    for words in (
        ("refs", "add", remote.url, "--description", "How we write."),
        ("task", "set", journey.task_id, "references", "ref:style"),
    ):
        done = journey.sandbox.sow(*words)
        assert done.returncode == 0, done.stderr
    return journey


def using(tool: str, **arguments: str) -> str:
    """Return the use of a tool, as the scripted model writes it."""
    return f"!{tool} {json.dumps(arguments)}"


def reads(folder: Path) -> tuple[str, ...]:
    """Return what reads a file below a folder."""
    file = folder / "docs/style.md"
    return using("Read", file_path=str(file)), f"cat '{file}'"


def writes(folder: Path) -> tuple[str, ...]:
    """Return what would write below a folder, by each tool that writes files."""
    file, new = str(folder / "docs/style.md"), str(folder / "new.md")
    return (
        using("Write", file_path=new, content="x"),
        using("Edit", file_path=file, old_string="Be", new_string="Do not be"),
        f"echo x >'{new}'",
        f"touch '{new}'",
        f"sed -i s/Be/Do/ '{file}'",
        f"rm -f '{file}'",
    )


@pytest.mark.one_of
@pytest.mark.parametrize("settings", [{}, {"yolo_mode": True}], ids=["rules", "yolo"])
def test_its_agent_reads_it_and_is_refused_to_write_it(
    referring: Journey, settings: dict[str, Any]
) -> None:
    """By its own path as by the link's; without `yolo_mode` it may run no other program there."""
    sandbox = referring.sandbox
    referring.configure(settings=settings)
    link = sandbox.repository / ".sow/refs/style"
    real = link.resolve(strict=True)
    before = contents(real)
    reading, writing = (*reads(real), *reads(link)), (*writes(real), *writes(link))
    if not settings:
        writing = (*writing, f'python3 -c \'open("{real}/new.md", "w")\'', f"ln -sfn / '{link}'")
    sandbox.behave(commands=(*reading, *writing, *REPORT))
    done = referring.spawn()
    assert (done.returncode, referring.task()["status"]) == (0, "needs_review"), done.stderr
    results = tool_results(sandbox.requests()[-1])
    passed = [not result.get("is_error") for result in results]
    assert passed == [True] * len(reading) + [False] * len(writing) + [True] * len(REPORT)
    assert all("Be brief." in json.dumps(result["content"]) for result in results[: len(reading)])
    assert (contents(real), link.resolve()) == (before, real)
    assert f"- style (knowledge): {real}" in json.dumps(sandbox.requests()[0]["messages"])
    assert sandbox.failures() == []


def contents(folder: Path) -> dict[Path, str]:
    """Return what the files below a folder hold."""
    return {path: path.read_text() for path in folder.rglob("*") if path.is_file()}
