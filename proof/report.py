"""The page of a proof: what was run, whom it killed, and which promises were broken.

Pure but for the reading of what the tests have handed in. A test that failed
before it could hand in anything still stands in the list of tests.
"""

import json
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

PROMISES = {
    "failed": "a job failed that could have gone on",
    "lost": "a job, a report or an outcome was lost",
    "doubled": "two agents on one task, one after its report, or a session begun twice",
    "left": "a process, lease, row or lock file was left behind",
}
"""What each word stands for that a storm counts broken promises by."""

LEFT_OUT = "left out: "
"""How a test says that it was not run for lack of something; the page names it then."""
NOT_JUDGED = "could not judge: "
"""How a test fails that has found no broken promise, and has done too little to find one."""

JUDGED_NOTHING = "not judged"

Rows = Sequence[Sequence[object]]


@dataclass(frozen=True)
class Place:
    """Where, when and of what a proof is made."""

    date: str
    commit: str
    has_changes: bool
    python: str
    cores: int
    system: str
    narrowed_by: str = ""
    """The options that left tests out, where some were given."""


@dataclass(frozen=True)
class Test:
    """One test that was run."""

    name: str
    seconds: float
    outcome: str
    """passed, failed, skipped or not judged."""
    reason: str = ""
    """Why it was skipped, or could not judge."""

    @property
    def is_left_out(self) -> bool:
        """Whether it says itself that this machine lacks what it needs."""
        return self.outcome == "skipped" and self.reason.startswith(LEFT_OUT)


@dataclass(frozen=True)
class Results:
    """All that a run has come to."""

    TESTS_FILE: ClassVar[str] = "tests.xml"
    tests: Sequence[Test]
    handed_in: Sequence[Mapping[str, Any]]

    @property
    def storms(self) -> dict[str, list[Mapping[str, Any]]]:
        """What storms have handed in, by their kind, in the order of their seeds."""
        found: dict[str, list[Mapping[str, Any]]] = {}
        for entry in sorted(self.handed_in, key=lambda entry: (entry["name"], entry["seed"])):
            if "kills" in entry:
                found.setdefault(entry["name"], []).append(entry)
        return found

    @property
    def others(self) -> list[Mapping[str, Any]]:
        """What other tests have handed in."""
        plain = (entry for entry in self.handed_in if "kills" not in entry)
        return sorted(plain, key=lambda entry: (entry["name"], entry["seed"]))

    @property
    def all_held(self) -> bool:
        """Whether every promise held, and every test passed that this machine can run."""
        passed = [test for test in self.tests if test.outcome == "passed"]
        return bool(passed) and len(passed) + len(self.left_out) == len(self.tests)

    @property
    def not_judged(self) -> list[Test]:
        """The tests that have done too little to judge."""
        return [test for test in self.tests if test.outcome == JUDGED_NOTHING]

    @property
    def none_broken(self) -> bool:
        """Whether every promise held that was judged, and some were."""
        judged = [test for test in self.tests if test.outcome != JUDGED_NOTHING]
        return Results(judged, self.handed_in).all_held

    @property
    def left_out(self) -> list[Test]:
        """The tests that this machine cannot run."""
        return [test for test in self.tests if test.is_left_out]


def read_results(folder: Path) -> Results:
    """Return what the tests of a run have left in a folder."""
    handed_in = [json.loads(path.read_text("utf-8")) for path in folder.glob("*.json")]
    xml = folder / Results.TESTS_FILE
    tests = list(_tests(ET.parse(xml).getroot())) if xml.exists() else []
    return Results(tests, handed_in)


def _tests(root: ET.Element) -> Iterator[Test]:
    for case in root.iter("testcase"):
        name = f"{case.get('classname', '')}::{case.get('name', '')}"
        yield Test(name, float(case.get("time", "0")), *_ending(case))


def _ending(case: ET.Element) -> tuple[str, str]:
    """Return the outcome of a test, and its reason."""
    faults = [*case.iterfind("failure"), *case.iterfind("error")]
    skipped = case.find("skipped")
    if not faults:
        return ("passed", "") if skipped is None else ("skipped", skipped.get("message", ""))
    _, is_not_judged, reason = faults[0].get("message", "").partition(NOT_JUDGED)
    if is_not_judged and len(faults) == 1:
        return JUDGED_NOTHING, reason
    return "failed", ""


def page(place: Place, results: Results) -> str:
    """Return the whole page."""
    parts = [_head(place, results)]
    parts += [_storm(name, runs) for name, runs in results.storms.items()]
    if results.others:
        parts.append(_others(results.others))
    parts.append(_list_of_tests(results.tests))
    return "\n".join(parts)


def _head(place: Place, results: Results) -> str:
    minutes = sum(test.seconds for test in results.tests) / 60
    commit = f"commit {place.commit}" + (", with changes on top" if place.has_changes else "")
    kills = sum(sum_of_kills(run) for runs in results.storms.values() for run in runs)
    jobs = sum(run["jobs"] for runs in results.storms.values() for run in runs)
    held = "**All promises held.**" if results.all_held else "**NOT all promises held.**"
    if results.not_judged and results.none_broken:
        held = "**No promise was broken, but not all were judged.**"
    if place.narrowed_by:
        held += f" This is no whole proof: it was narrowed by `{place.narrowed_by}`."
    for test in results.not_judged:
        held += f" Nothing was judged by `{test.name}`: {test.reason}."
    for test in results.left_out:
        held += f" Not run is `{test.name}`: {test.reason.removeprefix(LEFT_OUT)}."
    meanings = "\n".join(f"- *{word}*: {meaning}." for word, meaning in PROMISES.items())
    return (
        "# Proof\n\n"
        "`make proof` has written this page: it runs every storm of kills with all of its seeds,"
        " the loss\nof power, the fuzz, a worker in a container where an engine answers, and limits"
        " in a virtual machine\nwhere there can be one. What they promise stands in"
        " [architecture.md](architecture.md).\n\n"
        f"Made on {place.date} of {commit}, with Python {place.python} on {place.cores} cores"
        f" ({place.system}):\n{len(results.tests)} tests in {minutes:.0f} minutes,"
        f" {kills:,} kills in {jobs:,} jobs. {held}\n\n"
        "A kill is a SIGKILL to one process. It counts in a window only if what the victim worked"
        " on was\nthere before and after it. The columns of broken promises:\n\n"
        f"{meanings}\n"
    )


def _storm(name: str, runs: Sequence[Mapping[str, Any]]) -> str:
    title = name[:1].upper() + name[1:]
    tables = [_sums(runs), _by_window(runs), _by_victim(runs)]
    return f"## {title}\n\n" + "\n".join(tables)


def _sums(runs: Sequence[Mapping[str, Any]]) -> str:
    header = ("seed", "jobs", "agents run", "kills", "all at once", "workers stopped")
    counts = [
        (
            *(run["jobs"], run["agents"], sum_of_kills(run), run["moments"], run["stops"]),
            *(run["broken"][word] for word in PROMISES),
            run["seconds"],
        )
        for run in runs
    ]
    rows = [(run["seed"], *row) for run, row in zip(runs, counts, strict=True)]
    return table((*header, *PROMISES, "seconds"), [*rows, ("all", *columns_summed(counts))])


def _by_window(runs: Sequence[Mapping[str, Any]]) -> str:
    windows = dict.fromkeys(window for run in runs for window, _, _ in run["kills"])
    return _kills_by("kills by window", 0, list(windows), runs)


def _by_victim(runs: Sequence[Mapping[str, Any]]) -> str:
    victims = sorted({victim for run in runs for _, victim, _ in run["kills"]})
    return _kills_by("kills by victim", 1, victims, runs)


def _kills_by(
    title: str, place: int, words: Sequence[str], runs: Sequence[Mapping[str, Any]]
) -> str:
    counts = []
    for run in runs:
        kills: Counter[str] = Counter()
        for kill in run["kills"]:
            kills[kill[place]] += kill[2]
        counts.append(tuple(kills[word] for word in words))
    rows = [(run["seed"], *row) for run, row in zip(runs, counts, strict=True)]
    return table((f"{title}, seed", *words), [*rows, ("all", *columns_summed(counts))])


def _others(handed_in: Sequence[Mapping[str, Any]]) -> str:
    def facts(entry: Mapping[str, Any]) -> str:
        return ", ".join(f"{k} {v}" for k, v in entry.items() if k not in ("name", "seed"))

    rows = [(entry["name"], entry["seed"], facts(entry)) for entry in handed_in]
    return "## Beside the storms\n\n" + table(("what", "seed", "what it has come to"), rows)


def _list_of_tests(tests: Sequence[Test]) -> str:
    rows = [(f"`{test.name}`", test.outcome, f"{test.seconds:.0f}") for test in tests]
    return "## The tests that were run\n\n" + table(("test", "outcome", "seconds"), rows)


def sum_of_kills(run: Mapping[str, Any]) -> int:
    """Return how many processes a storm has killed."""
    return sum(kill[2] for kill in run["kills"])


def columns_summed(rows: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the sum of each column."""
    return tuple(map(sum, zip(*rows, strict=True)))


def table(header: Sequence[str], rows: Rows) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(str(cell) for cell in line)} |\n" for line in lines)
