"""The drawings of the page: what is told where nothing covers it."""

from sow.schema.output.report import PathStep, SpanKind
from sow.timeline.drawing import axis, path_line
from sow.timeline.scale import scale_of


def test_how_long_a_pause_was_stands_where_no_bar_is_drawn_over_it() -> None:
    scale = scale_of([(0.0, 600.0), (90_000.0, 90_600.0)], 90_600.0)
    words = ">24h50m</text>"
    assert words in "".join(mark.text for mark in axis(scale, 24))
    waits = PathStep(task="010", begin=600.0, end=90_000.0, kind=SpanKind.PERSON, why="a verdict")
    assert words not in path_line([waits], scale).text
