"""What attempts have used, summed up by SQLite: compared with sums that are made one by one."""

import time
from collections import defaultdict
from random import Random

import pytest
from queue_cases import PROJECT, WORKER, make_job

from sow.ids import AttemptId, ProjectId, TaskId
from sow.jobs import jobs, spending
from sow.jobs.database import Database
from sow.schema.job import Attempt, Job, JobState
from sow.schema.spending import By, Spending
from sow.schema.usage import ModelUsage, RunUsage, Tokens

pytestmark = pytest.mark.slow

NOW = 1_770_000_000.0
DAY = 86_400
OTHER = ProjectId("5e0a7d7c-1111-4b58-9d8e-0e0e0e0e0e0e")


def fill(database: Database, seed: int) -> list[Spending]:
    """Put attempts of two projects on record; return those of ours."""
    dice = Random(seed)
    mine = []
    for _ in range(30):
        project = dice.choice([PROJECT, PROJECT, OTHER])
        task = TaskId(f"{dice.randint(1, 3):02d}0")
        agent = dice.choice(["implementer", "tester"])
        executor = dice.choice(["claude-code", "cursor"])
        made = make_job(task, executor=executor, project_id=project, agent=agent)
        job = jobs.insert_job(database, made)
        for number in range(1, dice.randint(2, 3)):
            run, ended = some_run(dice), dice.choice([None, NOW - dice.randint(0, 4) * DAY])
            note(database, job, number, run, NOW - 5 * DAY, ended)
            if project == PROJECT:
                mine.append(as_record(job, number, run, NOW - 5 * DAY, ended))
        jobs.change_job(database, job.id, state=JobState.DONE, ended_at=NOW)
    return mine


def some_run(dice: Random) -> RunUsage:
    models = {
        name: ModelUsage(
            tokens=some_tokens(dice),
            usd=dice.choice([None, dice.random()]),
            is_estimate=dice.random() < 0.3,
        )
        for name in dice.sample(["", "large", "small"], dice.randint(0, 3))
    }
    return RunUsage(
        models=models,
        tokens=dice.choice([None, some_tokens(dice)]),
        usd=dice.choice([None, dice.random()]),
        is_estimate=dice.random() < 0.3,
        is_partial=dice.random() < 0.3,
        is_unpriced=dice.random() < 0.3,
    )


def some_tokens(dice: Random) -> Tokens:
    names = ("input", "output", "cache_read", "cache_write")
    return Tokens(**{name: dice.choice([0, dice.randint(1, 10**9)]) for name in names})


def note(
    database: Database, job: Job, number: int, run: RunUsage, began: float, ended: float | None
) -> None:
    attempt = Attempt(
        job_id=job.id,
        number=number,
        id=AttemptId(f"{job.id}.{number}.x"),
        verb=job.verb,
        worker_id=WORKER,
        created_at=began,
    )
    jobs.insert_attempt(database, attempt)
    spending.note(database, job, attempt, run, None, ended_at=ended)


def as_record(job: Job, number: int, run: RunUsage, began: float, ended: float | None) -> Spending:
    tokens = run.tokens
    return Spending(
        job_id=job.id,
        number=number,
        project_id=job.project_id,
        task_id=job.task_id,
        agent=job.agent,
        executor=job.executor_name,
        began_at=began,
        ended_at=ended,
        **(
            {
                name: getattr(tokens, name)
                for name in ("input", "output", "cache_read", "cache_write")
            }
            if tokens
            else {}
        ),
        usd=run.usd,
        is_estimate=run.is_estimate,
        is_partial=run.is_partial,
        is_unpriced=run.is_unpriced,
        models=dict(run.models),
    )


def summed(several: list[Spending]) -> dict[str, object]:
    """Return the sums of attempts as `Used` has them, without a key."""
    ended = [each for each in several if each.ended_at is not None]
    counted = [each for each in several if each.input is not None]
    known = [each.usd for each in several if each.usd is not None]
    return {
        "runs": len(several),
        "running": len(several) - len(ended),
        "seconds": sum((each.ended_at or NOW) - each.began_at for each in several),
        **{
            name: sum(getattr(each, name) for each in counted)
            for name in ("input", "output", "cache_read", "cache_write")
        },
        "usd": pytest.approx(sum(known)) if known else None,
        "estimated_usd": pytest.approx(sum(each.usd or 0 for each in several if each.is_estimate)),
        "runs_without_tokens": sum(each.input is None for each in ended),
        "runs_without_cost": sum(each.is_unpriced for each in ended),
        "runs_cut_off": sum(each.is_partial and each.input is not None for each in ended),
    }


def parts_of(each: Spending) -> dict[str, Spending]:
    """Return what an attempt has used of each model, as an attempt of its own."""
    from msgspec.structs import asdict, replace

    if not each.models:
        return {"unknown": each}
    return {
        model or "unknown": replace(
            each,
            **asdict(usage.tokens),
            usd=usage.usd,
            is_estimate=usage.is_estimate,
            is_unpriced=usage.usd is None,
        )
        for model, usage in each.models.items()
    }


KEYS = {
    By.TASK: lambda each: {each.task_id: each},
    By.AGENT: lambda each: {each.agent: each},
    By.EXECUTOR: lambda each: {each.executor: each},
    By.BATCH: lambda each: {"": each},
    By.DAY: lambda each: {time.strftime("%Y-%m-%d", time.localtime(each.ended_at or NOW)): each},
    By.MODEL: parts_of,
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("by", By)
@pytest.mark.parametrize("since", [0.0, NOW - 2 * DAY])
def test_each_sum_is_that_of_its_attempts(
    database: Database, seed: int, by: By, since: float
) -> None:
    mine = fill(database, seed)
    counted = [each for each in mine if each.ended_at is None or each.ended_at >= since]
    groups = defaultdict(list)
    for each in counted:
        for key, part in KEYS[by](each).items():
            groups[key].append(part)

    total, found = spending.used_in_project(database, PROJECT, by, now=NOW, since=since)

    assert as_dict(total) == {"key": "", **summed(counted)}
    assert [as_dict(used) for used in found] == [
        {"key": key, **summed(groups[key])} for key in sorted(groups)
    ]


def as_dict(used: object) -> dict[str, object]:
    from msgspec.structs import asdict

    return asdict(used)


def test_the_sums_of_a_task_of_a_job_and_of_its_attempts(database: Database) -> None:
    mine = fill(database, 7)
    task = mine[0].task_id
    used = spending.used_for_task(database, PROJECT, task, now=NOW)
    assert as_dict(used) == {"key": "", **summed([each for each in mine if each.task_id == task])}
    job = next(each.job_id for each in mine if each.number == 2)
    of_job = [each for each in mine if each.job_id == job]
    used = spending.used_by_job(database, job, now=NOW)
    assert as_dict(used) == {"key": "", **summed(of_job)}
    by_attempt = spending.used_by_attempts(database, job, now=NOW)
    assert {number: as_dict(each) for number, each in by_attempt.items()} == {
        each.number: {"key": str(each.number), **summed([each])} for each in of_job
    }


def test_what_somebody_else_has_written_there_is_no_reason_to_fail(database: Database) -> None:
    fill(database, 1)
    database.run("update spending set models = '{not json'")
    total, groups = spending.used_in_project(database, PROJECT, By.MODEL, now=NOW, since=0.0)
    assert [group.key for group in groups] == ["unknown"]
    assert groups[0].runs == total.runs
