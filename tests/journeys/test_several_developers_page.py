"""The page on several developers: each command of it, in its order, does what the page says."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from journeys.callers import all_jobs, good
from journeys.gitsite import git, make_repository
from journeys.site import Site

PAGE = Path(__file__).parents[2] / "docs/several-developers.md"


def commands() -> list[str]:
    """Return the lines of the page's shell blocks."""
    blocks = re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


@pytest.fixture
def others(site: Site, tmp_path: Path) -> Iterator[list[Site]]:
    """Return the page's other two checkouts, as sites; each `repo` leads to one."""
    made = []
    for name in ("fix", "bobs"):
        base = tmp_path / f"site-of-{name}"
        base.mkdir()
        (base / "repo").symlink_to(tmp_path / name)
        made.append(Site(base, site.env))
    yield made
    for other in made:
        if other.root.exists():
            other.close()


def test_each_command_of_the_page_is_run(site: Site, others: list[Site], tmp_path: Path) -> None:
    make_repository(site)
    (site.root / ".git/info/exclude").write_text(".standin/\n")
    (tmp_path / "shop").symlink_to(site.root)
    (tmp_path / "home/.gitconfig").write_text("[user]\nname = A\nemail = a@b.example\n")
    fix, bobs = others
    here, printed = site.root, {}
    for line in commands():
        program, *words = shlex.split(line)
        if program == "cd":
            here = (tmp_path / words[0].removeprefix("../")).resolve()
            continue
        assert program in ("sow", "git"), line
        (here / ".standin").mkdir(exist_ok=True)
        (here / ".standin/default.json").write_text(f"[{good()}]".replace("'", '"'))
        if program == "sow":
            done = site.sow(*words, cwd=here)
            printed[here.name, line] = done.out
        else:
            subprocess.run(
                ["git", *words], cwd=here, env=site.environment(), check=True, capture_output=True
            )

    assert [(job.id, job.task_id) for job in all_jobs(site)] == [(1, "010")]
    assert [(job.id, job.task_id) for job in all_jobs(fix)] == [(1, "010")]
    assert all_jobs(bobs) == []
    assert printed["repo", "sow job list"].count("\n") == 2
    assert {"010", "020"} <= set(re.findall(r"^\d+", printed["repo", "sow task list"], re.M))
    log = site.sow("task", "log", "020").out + site.sow("task", "log", "010").out
    assert "I document it" in log
    assert "Bob documents it" in log
    assert git(site, "status", "--porcelain", "--", ".sow") == ""
    assert len(commands()) > 25
