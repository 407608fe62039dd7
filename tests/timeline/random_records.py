"""Records of jobs as hypothesis draws them: any states in any order, at any times."""

from itertools import pairwise

from hypothesis import strategies as st
from reports.job_cases import make_job

from sow.ids import AttemptId, JobId, ProjectId, TaskId, WorkerId
from sow.schema.causes import Cause
from sow.schema.change import Change, ChangeData
from sow.schema.job import Attempt, Job, JobState, Verb
from sow.schema.output.report import Span, SpanKind, TaskStory

MOMENTS = st.integers(0, 400).map(lambda tenths: 1000.0 + tenths / 4)
STATES = ("placed", "queued", "running", "backoff", "parked", "held", "done", "failed", "cancelled")


@st.composite
def jobs(draw: st.DrawFn, number: int = 1) -> tuple[Job, list[Change], list[Attempt]]:
    """A job with its changes and attempts; nothing says that they fit each other."""
    times = sorted(draw(st.lists(MOMENTS, min_size=4, max_size=4)))
    job = make_job(
        task_id="010",
        verb=draw(st.sampled_from(list(Verb))),
        state=draw(st.sampled_from(list(JobState))),
        created_at=times[0],
        queued_at=draw(st.sampled_from([None, times[1]])),
        started_at=draw(st.sampled_from([None, times[2]])),
        ended_at=draw(st.sampled_from([None, times[3]])),
        id=JobId(number),
    )
    words = draw(st.lists(st.sampled_from(STATES), max_size=8))
    changes = [
        Change(
            seq=seq,
            at=draw(MOMENTS),
            project=ProjectId("p"),
            task=TaskId("010"),
            job=job.id,
            kind=word,
            data=ChangeData(reason=draw(st.sampled_from([None, "why", "see sow trust"]))),
        )
        for seq, word in enumerate(words)
    ]
    return job, changes, draw(st.lists(attempts(number), max_size=4))


@st.composite
def attempts(draw: st.DrawFn, job: int = 1) -> Attempt:
    begin, end = sorted((draw(MOMENTS), draw(MOMENTS)))
    number = draw(st.integers(1, 9))
    return Attempt(
        job_id=JobId(job),
        number=number,
        id=AttemptId(f"{job}.{number}"),
        verb=Verb.SPAWN,
        worker_id=WorkerId(draw(st.sampled_from(["w1", "w2", "w3"]))),
        cause=draw(st.sampled_from([None, *Cause])),
        created_at=begin,
        started_at=draw(st.sampled_from([None, begin])),
        ended_at=draw(st.sampled_from([None, end])),
    )


@st.composite
def stories(draw: st.DrawFn) -> list[TaskStory]:
    """Tasks whose time is whole, and which depend on each other in any way, in circles too."""
    ids = [f"{number}0" for number in range(1, draw(st.integers(1, 7)) + 1)]
    return [story(draw, name, ids) for name in ids]


def story(draw: st.DrawFn, name: str, ids: list[str]) -> TaskStory:
    edges = sorted(draw(st.sets(st.integers(0, 60), min_size=2, max_size=9)))
    spans = [
        Span(
            begin=float(begin),
            end=float(end),
            kind=draw(st.sampled_from(list(SpanKind))),
            why="",
            job=1,
        )
        for begin, end in pairwise(edges)
    ]
    return TaskStory(
        task=name,
        name=name,
        phase="p",
        status="completed",
        agent="implementer",
        iteration=1,
        depends_on=tuple(draw(st.lists(st.sampled_from(ids), max_size=3, unique=True))),
        waiting_for="",
        job_count=1,
        attempt_count=1,
        hosts=(),
        retries_by_cause={},
        begin=spans[0].begin,
        end=spans[-1].end,
        spans=tuple(spans),
        seconds_in={},
        used=None,
        denied_tools=(),
        faults=(),
        diff_stat=None,
        log=(),
        log_left_out=0,
    )
