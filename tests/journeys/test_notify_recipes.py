"""docs/notify.md: its examples load, and the recipes that it calls run are run."""

import re
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest
import yaml
from journeys.site import Site

from sow.reports.notices import OF_BATCHES
from sow.schema.config import UserConfigFile
from sow.schema.notification import Notification, NotifyEvent

PAGE = (Path(__file__).parents[2] / "docs/notify.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
PROGRAMS = [program for program in ("curl", "cat") if shutil.which(program)]


def recipes(program: str) -> list[tuple[str, str]]:
    """Return event and command line of each recipe that begins with a program."""
    commands = [yaml.safe_load(text)["notify"] for text in EXAMPLES]
    return [
        (event, run)
        for command in commands
        for event, run in command.items()
        if isinstance(run, str) and run.startswith(f"{program} ")
    ]


class Hook(ThreadingHTTPServer):
    """A webhook on loopback that keeps what it gets."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies: list[bytes] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/sow"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Hook)
        self.server.bodies.append(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def hook() -> Iterator[Hook]:
    server = Hook()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("text", EXAMPLES)
def test_every_example_loads(text: str) -> None:
    loaded = msgspec.convert(yaml.safe_load(text), UserConfigFile)
    assert loaded.notify is not None


def test_every_event_and_every_key_is_on_the_page() -> None:
    for event in NotifyEvent:
        assert f"| `{event}` |" in PAGE
    for field in msgspec.structs.fields(Notification):
        assert f"`{field.name}`" in PAGE, field.name


@pytest.mark.parametrize("program", PROGRAMS)
def test_recipes_arrive(site: Site, hook: Hook, program: str) -> None:
    found = recipes(program)
    assert found
    site.project()
    for event, run in found:
        site.configure({"notify": {event: run.replace("http://127.0.0.1:8777/sow", hook.address)}})
        (site.config_file.parent / "webhook").write_text(f"{hook.address}\n")
        assert site.sow("notify", "test", "--json").json["state"] == "delivered"
    events = site.base / "home/sow-events.jsonl"
    arrived = events.read_bytes().splitlines() if events.exists() else hook.bodies
    assert len(arrived) == len(found)
    for (event, _), body in zip(found, arrived, strict=True):
        content = msgspec.json.decode(body)
        words = content.get("text") or content["message"]
        behind = "(a test)" if event in OF_BATCHES else "(job 1) (a test)"
        assert words.endswith(behind), event
