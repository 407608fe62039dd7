"""`python -m proof`: run every storm and kill point with all of its seeds, and write docs/proof.md.

Owns the run and the facts of the place it was made in. The tests count their
kills themselves (`tests/proving.py`); the page's form is `report`.
"""

import datetime
import os
import platform
import shlex
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from proof.report import Place, Results, page, read_results

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/proof.md"
TESTS = (
    "tests/journeys/test_worker_storm.py",
    "tests/journeys/test_batch_storm.py",
    "tests/journeys/test_mcp_storm.py",
    "tests/journeys/test_sandbox_storm.py",
    "tests/journeys/test_report_storm.py",
    "tests/journeys/test_power_loss.py",
    "tests/journeys/test_zero_context.py",
    "tests/journeys/test_cancel_kills.py",
    "tests/journeys/test_from_breakdown_kills.py",
    "tests/journeys/test_worker_kills.py",
    "tests/journeys/test_travel_kills.py",
    "tests/hosts/test_hosts_storm.py",
    "tests/hosts/test_hosts_batch.py",
    "tests/hosts/test_several_hosts_page.py",
    "tests/jobs/test_queue_storm.py",
    "tests/clones/test_inventory.py",
    "tests/clones/test_make_killed.py",
    "tests/clones/test_merge_tasks.py",
    "tests/clones/test_rebasing.py",
    "tests/clones/test_update_of_clone.py",
    "tests/install/test_install_kills.py",
    "tests/jobs/test_queue_upgrade.py",
    "tests/refs/test_refs_storm.py",
    "tests/refs/test_refs_swapped.py",
    "tests/situation/test_run_the_first.py",
    "tests/fuzz",
    "tests/containers",
    "tests/machine",
)
PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider")
AT_ONCE = ("-n", str(2 * (os.cpu_count() or 1)), "--dist", "worksteal")
"""Storms wait for their agents most of the time: one after another they take two hours. The long
ones come first: whoever has ended its own takes from the others."""
FUZZ_CASES = "5000"
TELLING = ("-v", "-vv", "-s")
"""Options of pytest that only show more; any other may leave tests out."""
INTERRUPTED = 2
"""pytest's exit code for a run that somebody has ended."""


def main(options: list[str]) -> int:
    """Run the proof and write its page, whatever it has come to; return pytest's exit code."""
    place = here(options)
    with tempfile.TemporaryDirectory(prefix="sow-proof-") as folder:
        code = run_tests(Path(folder), options)
        results = read_results(Path(folder))
    if code == INTERRUPTED:
        place = replace(place, narrowed_by=f"{place.narrowed_by} (interrupted)".strip())
    PAGE.write_text(page(place, results), encoding="utf-8")
    sys.stdout.write(f"{PAGE.relative_to(ROOT)} is written\n")
    return code if results.tests else code or 1


def run_tests(folder: Path, options: list[str]) -> int:
    """Run the tests, two at a time for each processor; what they hand in goes to a folder."""
    junit = f"--junit-xml={folder / Results.TESTS_FILE}"
    return subprocess.run(
        [*PYTEST, *TESTS, junit, *AT_ONCE, *options],
        cwd=ROOT,
        env={**os.environ, "SOW_PROOF": str(folder), "SOW_FUZZ": FUZZ_CASES},
        check=False,
    ).returncode


def here(options: list[str]) -> Place:
    """Return on which machine, when, and of which commit the proof is made."""
    return Place(
        date=datetime.datetime.now(tz=datetime.UTC).strftime("%Y-%m-%d"),
        commit=git("rev-parse", "HEAD")[:12] or "no commit",
        has_changes=bool(git("status", "--porcelain", "--", ":!docs")),
        python=platform.python_version(),
        cores=os.cpu_count() or 0,
        system=f"{platform.system()} {platform.release().split('-')[0]} {platform.machine()}",
        narrowed_by=shlex.join(option for option in options if option not in TELLING),
    )


def git(*words: str) -> str:
    """Return what git prints; nothing where this is no clone."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
