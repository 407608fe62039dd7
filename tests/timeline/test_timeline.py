"""The pure parts of a report: spans without gap or overlap, lanes, the critical path, the scale."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from timeline import random_records

from sow.schema.change import Change
from sow.schema.job import Attempt, Job
from sow.schema.output.report import WORKING, SpanKind, TaskStory
from sow.timeline.building import Bar, lanes_of, longest_chain
from sow.timeline.critical_path import critical_path
from sow.timeline.gathering import own_base
from sow.timeline.scale import scale_of
from sow.timeline.spans import Stay, job_stays, spans_of, turns_of

NOW = 2000.0


def nobody(_job: int | None, begin: float, end: float) -> list[Stay]:
    return [Stay(begin, end, SpanKind.PERSON, "somebody")]


@pytest.mark.slow
@given(random_records.jobs(), random_records.jobs(2))
def test_a_tasks_time_has_neither_gap_nor_overlap(
    first: tuple[Job, list[Change], list[Attempt]], other: tuple[Job, list[Change], list[Attempt]]
) -> None:
    stays = [
        stay
        for job, changes, attempts in (first, other)
        for stay in job_stays(job, turns_of(job, changes), attempts, now=NOW)
    ]
    assert all(stay.begin <= stay.end for stay in stays)
    begin = min((stay.begin for stay in stays), default=0.0)
    end = max((stay.end for stay in stays), default=0.0)
    spans = spans_of(stays, nobody, begin=begin, end=end)
    edges = [begin, *(edge for span in spans for edge in (span.begin, span.end)), end]
    assert edges == sorted(edges)
    assert all(edges[at] == edges[at + 1] for at in range(0, len(edges), 2)) or not spans
    assert sum(span.end - span.begin for span in spans) == pytest.approx(end - begin, abs=0.01)


def test_what_a_job_did_is_told_in_its_order() -> None:
    job = random_records.make_job(
        task_id="010", state="done", created_at=1000.0, queued_at=1001.0, ended_at=1100.0
    )
    changes = [
        random_records.Change(
            seq=seq,
            at=at,
            project=job.project_id,
            task=job.task_id,
            job=job.id,
            kind=kind,
            data=random_records.ChangeData(reason=reason),
        )
        for seq, (at, kind, reason) in enumerate(
            (
                (1000.0, "placed", None),
                (1001.0, "queued", None),
                (1010.0, "running", None),
                (1030.0, "backoff", "it crashed"),
                (1040.0, "queued", None),
                (1041.0, "running", None),
                (1060.0, "parked", "a limit"),
                (1080.0, "running", None),
                (1100.0, "done", None),
            )
        )
    ]
    runs = [
        random_records.Attempt(
            job_id=job.id,
            number=number,
            id=f"{number}",
            verb=job.verb,
            worker_id="w",
            created_at=begin,
            ended_at=end,
        )
        for number, begin, end in ((1, 1011.0, 1030.0), (2, 1041.0, 1060.0), (3, 1080.0, 1099.0))
    ]
    stays = job_stays(job, turns_of(job, changes), runs, now=NOW)
    assert [(stay.kind.value, stay.end - stay.begin) for stay in stays] == [
        ("placing", 1),
        ("slot", 9),
        ("placing", 1),
        ("work", 19),
        ("retry", 10),
        ("slot", 1),
        ("work", 19),
        ("limit", 20),
        ("work", 19),
        ("placing", 1),
    ]


def test_a_gap_between_two_jobs_is_somebody_s() -> None:
    stays = [
        Stay(0, 10, SpanKind.WORK, "", job=1, attempt=1),
        Stay(30, 40, SpanKind.WORK, "", job=2, attempt=1),
    ]
    asked: list[int | None] = []

    def between(job: int | None, begin: float, end: float) -> list[Stay]:
        asked.append(job)
        return [Stay(begin, end, SpanKind.PERSON, "an answer")]

    spans = spans_of(stays, between, begin=-5, end=45)
    assert [(span.begin, span.end, span.kind) for span in spans] == [
        (-5, 0, SpanKind.PERSON),
        (0, 10, SpanKind.WORK),
        (10, 30, SpanKind.PERSON),
        (30, 40, SpanKind.WORK),
        (40, 45, SpanKind.PERSON),
    ]
    assert asked == [None, 1, 2]


@given(
    st.lists(
        st.tuples(st.sampled_from(["w1", "w2", "w3"]), st.integers(0, 50), st.integers(0, 20)),
        max_size=40,
    )
)
def test_no_two_runs_of_a_lane_overlap(drawn: list[tuple[str, int, int]]) -> None:
    bars = [
        Bar((number, 1), worker, begin, begin + length)
        for number, (worker, begin, length) in enumerate(drawn)
    ]
    placed, workers = lanes_of(bars)
    assert set(placed) == {bar.key for bar in bars}
    for lane, names in enumerate(workers):
        mine = sorted((bar for bar in bars if placed[bar.key] == lane), key=lambda bar: bar[2:])
        assert {bar.worker for bar in mine} == set(names)
        for before, after in pairwise(mine):
            assert before.end <= after.begin
    for bar in bars:  # no more lanes than ran at once
        if len({each.worker for each in bars}) == 1:
            busiest = max(sum(b.begin <= at < b.end for b in bars) for at in range(71))
            assert len(workers) <= max(busiest, 1) + sum(b.begin == b.end for b in bars)
        assert bar.worker in workers[placed[bar.key]]


@given(random_records.stories())
def test_the_critical_path_has_neither_gap_nor_overlap(tasks: list[TaskStory]) -> None:
    path = critical_path(tasks)
    by_id = {task.task: task for task in tasks}
    assert path[-1].end == max(task.end for task in tasks)
    for before, after in pairwise(path):
        assert before.end == after.begin
    for step in path:
        assert step.begin < step.end
        task = by_id[step.task]
        inside = [span for span in task.spans if span.begin <= step.begin < span.end]
        assert not inside or inside[0].kind == step.kind
    assert longest_chain(tasks) <= sum(task.end - task.begin for task in tasks)


@pytest.mark.slow
def test_the_critical_path_goes_through_what_was_waited_for() -> None:
    tasks = [
        task("010", [(0, 10, SpanKind.WORK)]),
        task("020", [(0, 10, SpanKind.DEPENDENCY), (10, 40, SpanKind.WORK)], "010"),
        task("030", [(0, 40, SpanKind.SLOT), (40, 60, SpanKind.WORK)]),
        task("040", [(0, 5, SpanKind.WORK)]),
    ]
    path = [(step.task, step.begin, step.end) for step in critical_path(tasks)]
    assert path == [("010", 0, 10), ("020", 10, 40), ("030", 40, 60)]
    assert longest_chain(tasks) == 40  # 010 and 020; 030 would not have waited for a slot


@pytest.mark.slow
def test_a_task_that_somebody_began_late_goes_back_to_what_ended_before() -> None:
    tasks = [task("010", [(0, 10, SpanKind.WORK)]), task("020", [(25, 40, SpanKind.WORK)])]
    path = [(step.task, step.begin, step.end, step.kind) for step in critical_path(tasks)]
    assert path == [
        ("010", 0, 10, "work"),
        ("020", 10, 25, "person"),
        ("020", 25, 40, "work"),
    ]


def task(name: str, spans: list[tuple[float, float, SpanKind]], *after: str) -> TaskStory:
    import msgspec

    from sow.schema.output.report import Span

    made = tuple(Span(begin=begin, end=end, kind=kind, why="") for begin, end, kind in spans)
    blank = random_records.story(_Draw(), name, [name])
    return msgspec.structs.replace(
        blank, spans=made, begin=made[0].begin, end=made[-1].end, depends_on=after
    )


class _Draw:
    """Draws the simplest of anything."""

    def __call__(self, strategy: st.SearchStrategy[object]) -> object:
        from hypothesis import find

        return find(strategy, lambda _: True)


@given(
    st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e4)), max_size=20),
    st.floats(0, 1e6),
)
@example([(60.01824958092766, 0.0)], 524348.6400475475)
def test_a_scale_grows_from_one_end_to_the_other(
    drawn: list[tuple[float, float]], length: float
) -> None:
    scale = scale_of([(begin, begin + took) for begin, took in drawn], length)
    assert scale.at(0) == 0
    assert scale.at(scale.length) == pytest.approx(1)
    places = [scale.at(scale.length * share / 50) for share in range(51)]
    assert places == sorted(places)
    assert len(list(scale.ticks())) <= 18


def test_a_night_without_work_is_drawn_short() -> None:
    hour = 3600.0
    scale = scale_of([(0, hour), (15 * hour, 16 * hour)], 16 * hour)
    assert [piece.is_idle for piece in scale.pieces] == [False, True, False]
    assert scale.at(15 * hour) - scale.at(hour) < 0.05
    assert scale.at(hour) == pytest.approx(0.49, abs=0.02)


@pytest.mark.parametrize(
    ("base", "tip", "project", "expected"),
    [
        ("a", "t", "p", "a"),  # begun at a; the project went on to p
        ("a", "m", "p", "p"),  # m brought p in
        ("a", "t", "t", "a"),  # the branch itself is the project's last commit
        ("a", "t", "", "a"),
    ],
)
def test_a_task_s_change_is_told_against_what_it_has_taken_in(
    base: str, tip: str, project: str, expected: str
) -> None:
    parents = {"a": [], "p": ["a"], "t": ["a"], "m": ["t", "p"]}
    assert own_base(parents, base, tip, project) == expected


def test_the_kinds_of_work_are_kinds() -> None:
    assert set(WORKING) <= set(SpanKind)
