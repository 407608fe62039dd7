"""The page on references: each command of it, in its order, does what the page says."""

import re
import shlex
from pathlib import Path

import pytest
from refs.ref_site import RefSite
from refs.remotes import Remote

PAGE = Path(__file__).parents[2] / "docs/references.md"
SERVER = "https://git.example/"


def commands() -> list[str]:
    """Return the lines of the page's shell blocks."""
    blocks = re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


@pytest.mark.slow
def test_each_command_of_the_page_is_run(
    site: RefSite, tmp_path: Path, poisoned_home: Path
) -> None:
    """The user's own git is told that the server's repositories lie here."""
    remotes = tmp_path / "remotes"
    style = Remote.begun(remotes / "style.git")
    service = Remote.begun(remotes / "service.git")
    service.git("tag", "v1")
    (poisoned_home / ".gitconfig").write_text(f'[url "{remotes}/"]\n\tinsteadOf = {SERVER}\n')
    site.good("project", "new", "Parsing")
    printed = {}
    for line in commands():
        words = shlex.split(line)
        assert words[0] == "sow", line
        if line == "sow refs status":
            style.commit("One more")
        if line == "sow refs init":
            site.link("style").unlink()
        printed[line] = site.good(*words[1:]).out
    assert "style: behind by 1 (sow refs update style)" in printed["sow refs status"]
    assert re.search(r"style: updated from .*behind by 1", printed["sow refs update"])
    assert "style: current" in printed["sow refs update style"]
    assert "style: linked at .sow/refs/style" in printed["sow refs init"]
    (task,) = site.lines("task", "list")
    assert task["references"] == ["ref:style"]
    left = [each["reference"] for each in site.lines("refs", "list")]
    assert left == ["style", "service"]
