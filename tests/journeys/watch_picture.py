"""The picture of `sow watch` in README.md: the real view of a real project, as SVG.

`python tests/journeys/watch_picture.py` writes docs/watch.svg. The agents are stand-ins, which do
what the script here says and then wait.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).parents[1]))

from journeys.callers import gate, good, report
from journeys.site import Site, make_site
from textual.pilot import Pilot
from watching.driving import drive, shows, text_of, until

from sow.calls.caller import Caller
from sow.paths import Workspace
from sow.watching.app import WatchApp

PICTURE = Path(__file__).parents[2] / "docs/watch.svg"
SIZE = (112, 24)
OUTSIDE = re.compile(r"\s*@font-face \{.*?\}|\s*<!--.*?-->", re.DOTALL)
"""What names other sites: no font is loaded for the picture."""
VARIABLE = re.compile(r"~?\$?\b\d[\d.:]*(?:[smhk]\d*)*\b|[0-9a-f]{6,}")
"""What is different each time: durations, times, counts."""

TASKS = (
    ("010", "Add the login route", "implementer"),
    ("020", "Refuse expired tokens", "implementer"),
    ("030", "Choose how tokens are signed", "architect"),
    ("040", "Document the login route", "documenter"),
    ("050", "Limit failed logins", "implementer"),
)
USED = {"use": {"input": 2400, "output": 900, "cache_read": 18000, "cache_write": 3200}}
QUESTION = "RS256 or HS256? RS256 needs a key pair."
MAKEFILE = "test:\n\t@echo '214 tests pass'; while ! test -e .standin/go.gate; do sleep 0.1; done\n"


def scene(site: Site) -> None:
    """Have one task done, two at work, one with a question and one that waits for a slot."""
    subprocess.run(["git", "init", "-q", "-b", "login"], cwd=site.root, check=True)
    site.sow("init")
    site.sow("project", "new", "Login with JWT", "--type", "quick")
    for task, name, agent in TASKS:
        site.sow("task", "add", name, "--agent", agent, "--id", task)
    rules = {"allowed_tools": ["Bash(make test:*)"]}
    executors = {"claude-code": {"max_parallel": 2, "settings": rules}}
    site.configure({"agents": {"executors": executors}})
    (site.root / "Makefile").write_text(MAKEFILE)
    (site.root / "src").mkdir()
    (site.root / "src/token.py").write_text("def is_expired(token, now): ...\n")
    site.script([[USED, {"sleep": 1}, *good({"say": "Added `POST /login`."})]], task="010")
    site.script(
        [[USED, {"sleep": 1}, {"sow": ["agent", "log", QUESTION]}, report("paused")]], task="030"
    )
    site.sow("agent", "spawn", "010", "030")
    words = (
        {"say": "The token's `exp` is read and never compared. I add the check and a test."},
        {"shell": "cat src/token.py"},
        {"say": "Now the tests."},
        {"shell": "make test"},
    )
    site.script([[USED, *words]], task="020")
    site.script([[USED, {"say": "Reading src/routes.py"}, gate("go")]], task="040")
    site.script([[gate("go")]], task="050")
    site.sow("agent", "spawn", "020", "040", "--detach")
    site.sow("agent", "spawn", "050", "--detach")


def picture(site: Site) -> str:
    """Return the view of the scene, with one agent followed, as SVG."""
    taken = []

    async def steps(app: WatchApp, pilot: Pilot[None]) -> None:
        await shows(
            pilot, "Bash: make test", "Reading src/routes.py", "waits for a slot", QUESTION[:15]
        )
        await until(pilot, lambda: re.search(r" [2-9]s Bash: make test", text_of(app)) is not None)
        await pilot.press("home", "enter")
        await shows(pilot, "Now the tests.", "> Bash: make test")
        taken.append(app.export_screenshot(title="sow watch"))

    drive(Caller(Workspace(site.root), site.environment(), site.root), steps, SIZE)
    return OUTSIDE.sub("", taken[0])


def words_of(svg: str) -> list[str]:
    """Return the lines that a picture shows, without what is different each time."""
    texts = [
        element
        for element in ElementTree.fromstring(svg).iter()
        if element.tag.endswith("}text") and element.get("y")
    ]
    rows: dict[float, list[str]] = {}
    for element in texts:
        rows.setdefault(float(element.get("y", "0")), []).append(element.text or "")
    lines = (" ".join(" ".join(rows[y]).split()) for y in sorted(rows))
    return [" ".join(VARIABLE.sub("#", line).split()) for line in lines]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        made = make_site(Path(folder))
        os.environ["HOME"] = made.env["HOME"]
        try:
            scene(made)
            PICTURE.write_text(picture(made), encoding="utf-8")
        finally:
            made.close()
