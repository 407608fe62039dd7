"""The report's page in a true browser: inert whatever it says, without requests, by keyboard too.

Chromium runs headless in a network namespace that has only loopback, with a profile of its own. It
is driven by its DevTools protocol over a pipe.
"""

import base64
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from timeline.made_record import make_record

from sow.jobs.database import open_existing_queue
from sow.schema.output.report import Report
from sow.timeline.building import report_of
from sow.timeline.figures import all_figures
from sow.timeline.gathering import gather
from sow.timeline.page import page_of
from sow.timeline.shown_project import shown_project

pytestmark = pytest.mark.browser

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-sync", "--disable-background-networking", "--disable-component-update"),
    *("--hide-scrollbars", "--remote-debugging-pipe"),
)
HOSTILE = (
    "<script>document.title='taken'</script>",
    "\"><img src=http://evil.example/x onerror=document.title='taken'>",
    "</style><link rel=stylesheet href=http://evil.example/x.css>",
    "\u202egnihtyna",
)


class Browser:
    """A browser with one page."""

    def __init__(self, profile: Path) -> None:
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        program = shlex.join(["chromium", *FLAGS, f"--user-data-dir={profile}"])
        self._process = subprocess.Popen(
            ["unshare", "-n", "--", "bash", "-c", f"exec {program} 3<&{to_read} 4>&{to_write}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "HOME": str(profile)},
            pass_fds=(to_read, to_write),
        )
        os.close(to_read)
        os.close(to_write)
        self._buffer = b""
        self._count = 0
        self.events: list[dict[str, Any]] = []
        self._session = ""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        found = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime", "Accessibility"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> Any:
        """Ask the browser, and return its answer; events that come meanwhile are kept."""
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            data = os.read(self._from, 1 << 16)
            assert data, "the browser has ended"
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\0")
        read: dict[str, Any] = json.loads(line)
        return read

    def show(self, path: Path) -> None:
        """Open a file and wait until all of it is loaded."""
        self.events.clear()
        self.ask("Page.navigate", url=path.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read())

    def value(self, script: str) -> Any:
        """Return what a script of the test comes to."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def press(self, key: str, code: int) -> None:
        for kind in ("rawKeyDown", "char", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "char" else {}
            if kind != "char" or text:
                self.ask(
                    "Input.dispatchKeyEvent",
                    type=kind,
                    key=key,
                    code=key,
                    windowsVirtualKeyCode=code,
                    **text,
                )

    def picture(self, path: Path) -> None:
        found = self.ask("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(found["data"]))

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    if shutil.which("chromium") is None:
        pytest.skip("left out: there is no chromium here (apt-get install chromium)")
    made = Browser(tmp_path / "profile")
    yield made
    made.close()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of a record whose tasks have hostile names."""
    folder = tmp_path_factory.mktemp("made")
    workspace = make_record(folder / "repo", 24, names=HOSTILE)
    database = open_existing_queue(workspace)
    assert database is not None
    now = 1_764_000_000.0
    try:
        report: Report = report_of(
            gather(workspace, database, shown_project(workspace, database), None, now=now)
        )
        path = folder / "report.html"
        path.write_text(page_of(report, all_figures(database, now=now)))
    finally:
        database.close()
    return path


def test_nothing_leaves_it_and_nothing_in_it_acts(browser: Browser, page: Path) -> None:
    browser.show(page)
    requests = [
        event["params"]["request"]["url"]
        for event in browser.events
        if event.get("method") == "Network.requestWillBeSent"
    ]
    assert set(requests) <= {page.as_uri(), "data:,"}
    assert browser.value("document.title") == "Sign-in – sow report"
    assert browser.value("document.scripts.length + document.images.length") == 0
    assert browser.value("document.querySelectorAll('iframe, object, embed, form').length") == 0
    bad = [
        event
        for event in browser.events
        if event.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")
    ]
    assert bad == []
    assert browser.value("getComputedStyle(document.body).maxWidth") == "1240px"  # its style holds


def test_the_keyboard_opens_every_story(browser: Browser, page: Path) -> None:
    browser.show(page)
    assert browser.value("document.querySelectorAll('details').length") == 24
    for _ in range(200):
        browser.press("Tab", 9)
        if browser.value("document.activeElement.tagName") == "SUMMARY":
            break
    browser.press("Enter", 13)
    assert browser.value("document.activeElement.parentElement.open") is True
    stops = browser.value("document.querySelectorAll('a[href]:not([tabindex])').length")
    assert stops < 10  # the bars of the timeline are no stops: the list has the same
    browser.value("location.hash = '#task-240'")
    assert browser.value("document.getElementById('task-240').closest('details').open") is True


def test_everything_has_a_name_for_screen_readers(browser: Browser, page: Path) -> None:
    browser.show(page)
    nodes = browser.ask("Accessibility.getFullAXTree")["nodes"]
    roles: dict[str, list[str]] = {}
    for node in nodes:
        if not node.get("ignored"):
            role = node["role"]["value"]
            roles.setdefault(role, []).append(node.get("name", {}).get("value", ""))
    pictures = [*roles.get("image", []), *roles.get("img", [])]
    assert len(pictures) >= 24
    assert all(pictures)
    assert all(roles["region"])
    assert roles["heading"][0] == "Sign-in"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_can_be_read(browser: Browser, page: Path, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.ask("Emulation.setEmulatedMedia", features=features)
    browser.show(page)
    paper, ink = (
        browser.value(f"getComputedStyle(document.body).{name}")
        for name in ("backgroundColor", "color")
    )
    light, dark = _brightness(paper), _brightness(ink)
    assert (light > dark) is (scheme == "light")
    assert (max(light, dark) + 0.05) / (min(light, dark) + 0.05) > 7
    assert browser.value("document.documentElement.scrollWidth <= innerWidth")


def _brightness(colour: str) -> float:
    """Return the relative luminance of `rgb(1, 2, 3)`, about as WCAG counts it."""
    parts = [int(part) / 255 for part in colour.strip("rgb()").split(",")]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_it_prints_on_light_paper(browser: Browser, page: Path, tmp_path: Path) -> None:
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.ask("Emulation.setEmulatedMedia", media="print", features=features)
    browser.show(page)
    assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    printed = base64.b64decode(browser.ask("Page.printToPDF", printBackground=True)["data"])
    assert printed.startswith(b"%PDF")
    assert 2 <= printed.count(b"/Type /Page\n") + printed.count(b"/Type/Page\n") <= 60
