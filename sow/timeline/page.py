"""The report as one page: no script, no other file, no request to anywhere.

Pure, but for its style sheet, which lies beside this module. A policy in the page forbids the
browser everything but that sheet, known by its hash. Every text goes through `markup.escaped`.
"""

import base64
import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sow import __version__
from sow.clock import parse_time
from sow.schema.output.report import Report
from sow.schema.output.stats import Stats
from sow.timeline.markup import Markup, tag
from sow.timeline.page_parts import (
    figures_section,
    lanes_section,
    path_section,
    tasks_section,
    time_section,
    troubles_section,
)
from sow.timeline.scale import scale_of
from sow.timeline.words import (
    duration,
    money,
    title,
    tokens,
    verdict,
)

MARK = "<!DOCTYPE html>\n<!-- a report of sow -->\n"
"""How every page begins: a file that begins otherwise is never written over."""


def page_of(report: Report, figures: Sequence[Stats] = ()) -> str:
    """Return the whole page, with plots of these figures at its end."""
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    head = tag("head", *_head(report, style))
    body = tag("body", *_body(report, figures))
    return f"{MARK}{tag('html', head, body, lang='en').text}\n"


def _head(report: Report, style: str) -> Iterator[Markup]:
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )
    yield tag("meta", charset="utf-8")
    yield tag("meta", http_equiv="Content-Security-Policy", content=policy)
    yield tag("meta", name="referrer", content="no-referrer")
    yield tag("meta", name="viewport", content="width=device-width, initial-scale=1")
    yield tag("meta", name="generator", content=f"sow {__version__}")
    yield tag("title", f"{title(report)} – sow report")
    yield tag("link", rel="icon", href="data:,")
    yield tag("style", Markup(style))


def _body(report: Report, figures: Sequence[Stats]) -> Iterator[Markup]:
    scale = scale_of(((run.begin, run.end) for run in report.runs), report.totals.seconds)
    yield tag("a", "Skip to the tasks", class_="skip", href="#tasks")
    yield tag(
        "header",
        tag("h1", title(report)),
        tag("p", _when(report), class_="when"),
        tag("p", verdict(report), class_="verdict"),
        tag(
            "nav",
            *(tag("a", words, href=f"#{name}") for name, words in _parts(report, figures).items()),
            aria_label="Parts of the report",
        ),
        _tiles(report),
    )
    yield tag(
        "main",
        *_notes(report),
        *time_section(report),
        *path_section(report, scale),
        *lanes_section(report, scale),
        *tasks_section(report, scale),
        *troubles_section(report),
        *figures_section(figures),
    )
    yield tag("footer", f"Made by sow {__version__}, {_local(report.made_at)}.")


def _parts(report: Report, figures: Sequence[Stats]) -> Mapping[str, str]:
    names = {"time": "Where the time went", "path": "Critical path", "workers": "Workers"}
    shown = names if report.runs else {}
    parts = {**shown, "tasks": "Tasks", "troubles": "Retries and denials"}
    return {**parts, "figures": "Figures"} if figures else parts


def _local(text: str) -> str:
    """Return a time of the report in the zone of whoever made it."""
    moment = time.localtime(parse_time(text))
    return time.strftime("%Y-%m-%d %H:%M:%S %z", moment)


def _when(report: Report) -> str:
    begun = _local(report.began_at)
    if not report.runs:
        return f"as of {_local(report.made_at)}"
    if report.ended_at is None:
        return f"{begun} until now, {_local(report.made_at)}: it still goes on"
    return f"{begun} to {_local(report.ended_at)}"


def _tiles(report: Report) -> Markup:
    totals = report.totals
    done = totals.by_status.get("completed", 0)
    others = ", ".join(
        f"{count} {status.replace('_', ' ')}"
        for status, count in totals.by_status.items()
        if status != "completed"
    )
    retried = sum(totals.retries_by_cause.values())
    used = totals.used
    average = totals.working_seconds / totals.seconds if totals.seconds else 0.0
    facts = (
        ("Elapsed", duration(totals.seconds), f"{duration(totals.working_seconds)} of work"),
        ("Tasks completed", f"{done} of {totals.task_count}", others or "nothing left"),
        ("Attempts", f"{totals.attempt_count:,}", f"{totals.failed_attempts} failed"),
        ("Tried again", f"{retried:,}", _first(totals.retries_by_cause) or "never"),
        ("At once", str(totals.lane_count), f"{average:.1f} at work on average"),
        ("Cost", money(used), f"{tokens(used)} tokens" if used is not None else "no agent ran"),
    )
    tiles = [
        tag("div", tag("dt", name), tag("dd", value, tag("small", more)))
        for name, value, more in facts
    ]
    return tag("dl", *tiles, class_="tiles")


def _first(counts: Mapping[str, int]) -> str:
    """Return the most frequent of some words."""
    return next((f"{count} × {word.replace('_', ' ')}" for word, count in counts.items()), "")


def _notes(report: Report) -> Iterator[Markup]:
    for note in report.notes:
        yield tag("p", f"Note: {note}", class_="hint", role="note")
