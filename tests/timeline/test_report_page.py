"""The page: nothing that anybody says becomes an element or leaves it, and it stays small."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from timeline.made_record import PROJECT, make_record

from sow.jobs.database import open_existing_queue
from sow.schema.output.report import Report
from sow.terminal_text import CONTROL, DIRECTION, cells
from sow.timeline.building import report_of
from sow.timeline.gathering import gather
from sow.timeline.markup import escaped, tag
from sow.timeline.page import MARK, page_of
from sow.timeline.shown_project import shown_project
from sow.timeline.text import lines_of

pytestmark = pytest.mark.slow

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onload='alert(1)' x='",
    "</style></title></svg><iframe src=//evil.example>",
    "]]><!--<a href='javascript:alert(1)'>-->",
    "\u202etxt.exe\u202c \u2066x\u2069 \x1b[31mred\x1b[0m \x00\x08",
    "\ud800 lone",
    "A" * 5000,
    "ログインe\u0301" * 40,
    "&lt;b&gt; &amp;amp;",
    "@import url(https://evil.example/x.css);",
)
ELEMENTS = set(
    str.split(
        "html head meta title link style body a header h1 h2 h3 p nav dl div dt dd small main "
        "section ul ol li svg rect line text table caption thead tbody tr th td b span details "
        "summary pre time footer"
    )
)
ATTRIBUTES = set(
    str.split(
        "lang charset http-equiv content name rel href class role aria-label aria-labelledby "
        "aria-hidden id width height x y x1 x2 y1 y2 dx rx text-anchor tabindex scope datetime"
    )
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return report_at(tmp_path_factory.mktemp("made"), 14)


def report_at(folder: Path, tasks: int) -> Report:
    workspace = make_record(folder, tasks)
    database = open_existing_queue(workspace)
    assert database is not None
    try:
        return report_of(
            gather(
                workspace, database, shown_project(workspace, database), None, now=1_764_000_000.0
            )
        )
    finally:
        database.close()


class Elements(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.comments: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


def parsed(page: str) -> Elements:
    elements = Elements()
    elements.feed(page)
    elements.close()
    return elements


def holds(page: str) -> None:
    """Fail where a page has anything that is not ours, or refers to anything outside."""
    elements = parsed(page)
    assert {name for name, _ in elements.found} <= ELEMENTS
    assert len(elements.comments) == 1
    for name, attributes in elements.found:
        assert set(attributes) <= ATTRIBUTES, name
        href = attributes.get("href")
        assert href is None or re.fullmatch(r"#[a-z0-9-]+|data:,", href), href
    assert sum(name == "style" for name, _ in elements.found) == 1
    style = page.partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style
    policy = next(each["content"] for _, each in elements.found if "http-equiv" in each)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )
    body = page.partition("</style>")[2]
    assert not re.search(f"{CONTROL}|{DIRECTION}", body)
    page.encode("utf-8")


def poisoned(value: Any, text: str) -> Any:
    """Return a report in which everything that others may say is this text."""
    if isinstance(value, dict):
        kept = {"kind", "made_at", "began_at", "ended_at", "outcome"}
        return {
            (text if key not in KNOWN else key): (each if key in kept else poisoned(each, text))
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [poisoned(each, text) for each in value]
    return text if isinstance(value, str) else value


KNOWN = {
    name
    for struct in vars(__import__("sow.schema.output.report", fromlist=["x"])).values()
    if isinstance(struct, type) and issubclass(struct, msgspec.Struct)
    for name in struct.__struct_fields__
} | set(
    str.split(
        "runs running seconds tokens cost_usd estimated_usd runs_without_tokens runs_without_cost "
        "runs_cut_off input output cache_read cache_write work review step open dependency slot "
        "worker limit retry person placing"
    )
)


def poison(report: Report, text: str) -> Report:
    found: Report = msgspec.convert(poisoned(msgspec.to_builtins(report), text), Report)
    return found


def test_a_page_is_whole_and_says_what_happened(made: Report) -> None:
    page = page_of(made)
    assert page.startswith(MARK)
    holds(page)
    text = " ".join(parsed(page).texts)
    for words in ("Sign-in", "14 of 14", "Where the time went", "agents at work", "140"):
        assert words in text
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert {href[1:] for href in re.findall(r' href="(#[^"]+)"', page)} <= set(ids)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_that_others_say_becomes_part_of_the_page(made: Report, text: str) -> None:
    hostile = poison(made, text)
    holds(page_of(hostile))
    for line in lines_of(hostile, 80, lambda _word, shown: shown):
        assert cells(line) <= 80
        assert line.isprintable()


@given(st.text())
def test_any_text_stays_a_text(text: str) -> None:
    elements = parsed(tag("p", text, class_=text).text)
    assert [name for name, _ in elements.found] == ["p"]
    assert set(elements.found[0][1]) == {"class"}
    assert not re.search(r"[<>\"']", escaped(text))


def test_every_drawing_says_what_it_shows(made: Report) -> None:
    for name, attributes in parsed(page_of(made)).found:
        if name == "svg":
            assert attributes.get("aria-hidden") == "true" or (
                attributes["role"] == "img" and attributes["aria-label"]
            )


def test_an_empty_project_has_a_page_and_a_text(tmp_path: Path) -> None:
    from sow.paths import Workspace
    from sow.state.projects import new_project
    from sow.state.workspace_init import init_workspace

    init_workspace(tmp_path)
    workspace = Workspace(tmp_path)
    new_project(workspace, name="New", project_id=PROJECT, now=1.0)
    report = report_of(gather(workspace, None, shown_project(workspace, None), None, now=100.0))
    holds(page_of(report))
    assert "Nothing has run yet." in list(lines_of(report, 80, lambda _word, shown: shown))


def test_a_page_of_many_tasks_stays_small(tmp_path: Path) -> None:
    report = report_at(tmp_path, 60)
    size = len(page_of(report).encode())
    assert size < 60 * 8_000, f"{size} bytes: 300 tasks would be more than 2.4 MB"


def test_words_fit_into_eighty_columns(made: Report) -> None:
    lines = list(lines_of(made, 80, lambda _word, shown: shown))
    assert all(len(line) <= 80 for line in lines)
    assert any(line.startswith("010") and "#" in line for line in lines)
