"""A person works on the project's branch under a batch: that is merged into, and never forced."""

from pathlib import Path

import pytest
import yaml
from journeys.batch_site import YOLO, accept, shell
from journeys.callers import report
from journeys.gitsite import git, make_repository
from journeys.site import Site

PERSON = """
mkdir "{notes}/$1.done" 2>/dev/null || exit 0  # once in each window, however often it is run
cd "{root}"
commit() {{ echo "$1" >"by-$1"; git add "by-$1"; git commit -qm "$1" $2; }}
{deed}
git rev-parse main >>"{notes}/tips"
"""
DEEDS = {
    "commits": 'commit "$1"',
    "amends": 'if [ "$1" = running ]; then commit "$1"; else commit "$1" --amend; fi',
    "goes back": '[ "$1" = running ] && commit gone || git reset -q --hard HEAD~1; commit "$1"',
    "works elsewhere": 'git switch -q main; commit "$1"; git switch -q -c "on-$1"',
    "leaves every branch": 'git switch -q main; commit "$1"; git switch -q --detach HEAD',
}
WINDOWS = ("running", "checking", "in_review", "merging")


def prepare(site: Site, deed: str) -> Path:
    """Make a project on main in which a person is at work whatever goes on."""
    make_repository(site)
    notes = site.base / "notes"
    notes.mkdir()
    person = site.base / "person.sh"
    person.write_text(PERSON.format(notes=notes, root=site.root, deed=DEEDS[deed]))
    (site.root / ".git/info/exclude").write_text(".standin\n.sow/run\n.sow/project\n")
    site.configure(YOLO)
    site.sow("init")
    site.sow("project", "new", "Night", "--type", "quick")
    site.sow("task", "add", "Work", "--agent", "implementer")
    checks = {"unit": f"sh {person} checking", "late": f"sh {person} merging", "default": ["unit"]}
    settings = {"checks": checks, "clones": {"merge_check": "late"}, "batch": {"clone": True}}
    (site.root / ".sow/config.yaml").write_text(yaml.safe_dump(settings))
    git(site, "add", "-A")
    git(site, "commit", "-qm", "settings")
    site.sow("trust", "--yes")
    author = [shell("echo work >work"), {"aside": f"sh {person} running"}, report()]
    reviewer = [{"aside": f"sh {person} in_review"}, *accept("010")]
    site.script([author, reviewer], "010")
    return notes


RUN = ("batch", "run", "--check", "--review", "--merge", "--json")
TAKES_BACK = ("amends", "goes back")


@pytest.mark.one_of
@pytest.mark.parametrize("deed", DEEDS)
def test_what_a_person_does_there_meanwhile_stands_and_the_batch_goes_on(
    site: Site, deed: str
) -> None:
    notes = prepare(site, deed)
    done = site.sow(*RUN, expect=None).json
    assert sorted(path.stem for path in notes.glob("*.done")) == sorted(WINDOWS)
    *_, last = (notes / "tips").read_text().split()
    if deed in TAKES_BACK:
        (item,) = done["items"]
        assert (item["state"], git(site, "rev-parse", "main").strip()) == ("needs_person", last)
        assert "has commits that the project's branch no longer has" in item["reason"]
        assert item["command"] == 'sow review accept 010 --summary "…"'
        site.sow("review", "accept", "010", "--summary", "Bring them back.")
        done = site.sow(*RUN).json
    assert done["counts"] == {"done": 1}, done
    assert git(site, "show", "main:work") == "work\n"
    git(site, "merge-base", "--is-ancestor", last, "main")
    befores = [git(site, "rev-parse", f"{commit}^1").strip() for commit in moved_by_sow(site)]
    assert befores == [last], "it is merged into what the person has left"
    assert git(site, "status", "--porcelain") == ""
    git(site, "fsck", "--no-dangling")


def moved_by_sow(site: Site) -> list[str]:
    """Return to which commits sow has moved the project's branch."""
    lines = git(site, "reflog", "show", "--format=%H %gs", "main").splitlines()
    moves = [line.split(" ", 1) for line in lines]
    return [commit for commit, words in moves if words.startswith("sow: ")]
