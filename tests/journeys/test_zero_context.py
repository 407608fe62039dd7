"""Projects of each type, driven to their end by `sow next` alone, whoever is killed meanwhile."""

from collections.abc import Iterable
from contextlib import closing
from itertools import product

import pytest
from journeys import mishap_projects
from journeys.callers import queue
from journeys.gitsite import git
from journeys.mishap_projects import MISHAPS, WorkerKill, what_happened
from journeys.scripted_projects import BRANCHES, DOCUMENT, begin
from journeys.site import Site
from journeys.staff import drain, nothing_is_taken
from journeys.zero_context import Step, run_to_its_end
from journeys.zero_context_kills import LOOKS, Kills
from proving import FOLDER, drawn, hand_in, need_enough

SEEDS = range(1, 7)
TIMES = {seed: 1 if seed % 3 else 3 for seed in SEEDS}
"""How often each step is cut off before it is let through."""
TRIED = [(kind, seed) for kind, seed in product(BRANCHES, SEEDS) if FOLDER or TIMES[seed] == 1]
"""With three times as many kills in a proof alone."""
TOPIC = {
    *("agent spawn", "agent review", "agent resume", "agent answer", "task set"),
    *("output add", f"approve {DOCUMENT}", "output move"),
}
STANDARD = {
    *("task import", "approve plan", "agent spawn", "agent answer", "agent review"),
    *("agent review --project", "merge", "task add", "project check", "feedback settle"),
}
QUICK = {
    *("task import", "agent spawn", "task check", "agent answer", "agent review", "agent resume"),
    *("merge", "project check"),
}
LINES = {"010.txt": "twice", "020.txt": "blue", "030.txt": "done", "050.txt": "done"}
TAKEN = {
    "standard": {*STANDARD, "agent resume"},
    "standard by batches": {*STANDARD, "batch run"},
    "quick": QUICK,
    "exploration": {"task import", *TOPIC},
    "design": {"output add", f"approve {DOCUMENT}", "output move"},
    "breakdown": {"task import", "approve 010", "approve 030", "project publish"},
}
"""Of each type, how steps begin that it cannot end without, besides its beginning and end."""
LEFT = {
    "standard": LINES,
    "standard by batches": LINES,
    "quick": {name: text for name, text in LINES.items() if name != "050.txt"},
    "exploration": {".sow/knowledge/summaries/knows.md": "What is known."},
    "design": {".sow/knowledge/summaries/knows.md": "What is known."},
    "breakdown": {},
}
"""What a project leaves behind."""


def begins(steps: Iterable[Step], words: str) -> bool:
    return any(" ".join(step.words).startswith(words) for step in steps)


def has_ended_well(site: Site, kind: str, steps: list[Step]) -> None:
    """Fail where a project has not ended as it should, or has left something running or held."""
    wanted = {"advance", "project finish", *TAKEN[kind]}
    wanted |= set() if kind == "quick" else {"project new"}
    assert {words for words in wanted if not begins(steps, words)} == set()
    (ended,) = site.sow("project", "list", "--json").json_lines
    assert (ended["state"], ended["ended"]) == ("completed", "finished")
    assert ended["type"] == kind.partition(" ")[0]
    for name, text in LEFT[kind].items():
        assert (site.root / name).read_text() == f"{text}\n"
    if kind == "breakdown":
        assert len(list(site.root.glob(".sow/knowledge/breakdown/*/*.md"))) == 3
    if "standard" in kind:
        assert git(site, "status", "--porcelain", "--", ".", ":!.sow") == ""
        assert git(site, "fsck", "--strict", "--no-dangling") == ""
    if (site.root / ".sow/run/queue.db").exists():
        drain(site)
        nothing_is_taken(site)


@pytest.mark.one_of("projects driven by sow next")
@pytest.mark.parametrize("kind", BRANCHES)
def test_a_project_is_driven_from_nothing_to_its_end(site: Site, kind: str) -> None:
    has_ended_well(site, kind, run_to_its_end(begin(site, kind)))


@pytest.mark.one_of("projects driven by sow next")
@pytest.mark.parametrize("kind", drawn(*MISHAPS))
def test_a_project_in_which_everything_goes_wrong_once_comes_to_its_end(
    site: Site, kind: str
) -> None:
    """A question, a red check, a conflict, a crash, a hang, a killed worker: nothing is refused."""
    killing = WorkerKill(site)
    steps = run_to_its_end(mishap_projects.begin(site, kind), killing, forgiving=True)
    (ended,) = site.sow("project", "list", "--json").json_lines
    assert (ended["state"], ended["ended"]) == ("completed", "finished")
    for name, text in mishap_projects.LINES.items():
        assert (site.root / name).read_text() == f"{text}\n"
    assert killing.killed
    assert begins(steps, "agent answer 020"), "it has asked"
    causes = what_happened(site)
    for cause in ("check_failed", "merge_conflict", "crashed"):
        assert causes[cause], (cause, causes)
    assert attempts_stalled(site), "it has hung"
    drain(site)
    nothing_is_taken(site)
    hand_in(f"{kind} project led by sow next", 0, {"steps": len(steps), "refused": 0, **causes})


def attempts_stalled(site: Site) -> bool:
    """Whether an attempt was ended because nothing was seen of it."""
    with closing(queue(site)) as database:
        return bool(database.rows("select 1 from attempt where cause = 'stalled'"))


@pytest.mark.storm
@pytest.mark.parametrize(("kind", "seed"), drawn(*TRIED))
def test_it_ends_whatever_is_killed_at_each_of_its_steps(site: Site, kind: str, seed: int) -> None:
    kills = Kills(site, seed, times=TIMES[seed])
    steps = run_to_its_end(begin(site, kind), kills)
    has_ended_well(site, kind, steps)
    due = {step.line for step in steps if not step.line.startswith(LOOKS)}
    killed = {f"{victim} killed": count for victim, count in sorted(kills.victims.items())}
    facts = {"steps": len(steps), "cut off": len(kills.cut_off), "in time": kills.in_time}
    hand_in(f"{kind} project led by sow next", seed, facts | killed)
    need_enough(kills.cut_off == due, f"not at {due ^ kills.cut_off}")
    if "standard" in kind:
        all_killed = {"caller", "worker", "supervisor", "agent"} <= kills.victims.keys()
        need_enough(all_killed, dict(kills.victims))
