"""Random standings of projects, none of which sow could not come to."""

import random
from typing import Any

from msgspec.structs import replace

from sow.lifecycle.lifecycle_facts import DocumentFacts, Facts, TaskFacts
from sow.lifecycle.stages import ProjectType
from sow.lifecycle.types import LIFECYCLES

STATUSES = ("pending", "in_progress", "paused", "needs_review", "failed", "completed", "abandoned")
IDS = ("010", "020", "030", "040")
ENDINGS = (
    ("", ""),
    ("", ""),
    ("merge_conflict", "merge"),
    ("check_failed", "merge"),
    ("merge_refused", "merge"),
    ("session_unknown", "resume"),
    ("budget_reached", "spawn"),
    ("no_verdict", "review"),
    ("cancelled", "resume"),
)
"""Causes of a last job that came to nothing, with what it was to do."""


def random_task(chance: random.Random, task_id: str) -> TaskFacts:
    """Return a task that may stand so."""
    maybe = (False, True)
    status = chance.choice(STATUSES)
    has_ended = status in ("completed", "abandoned")
    has_clone = chance.choice(maybe)
    cause, verb = chance.choice(ENDINGS)
    fields: dict[str, Any] = {
        "depends_on": tuple(chance.sample((*IDS, "990"), chance.choice((0, 0, 1, 2)))),
        "phase": chance.choice(("implementation", "implementation", "discovery")),
        "is_unmerged": has_clone and status == "completed" and chance.choice(maybe),
        "is_approved": chance.choice(maybe),
        "is_published": chance.choice(maybe),
        "has_session": not has_ended and status != "pending" and chance.choice(maybe),
        "can_resume": chance.choice((True, True, False)),
        "verdict": chance.choice(("", "accepted", "corrections")),
        "verdict_holds": chance.choice(maybe),
        "feedback_is_open": chance.choice(maybe),
        "has_clone": has_clone,
        "clone": chance.choice(("", "", "behind", "conflict", "untaken", "gone"))
        if has_clone
        else "",
        "check": chance.choice(("", "", "green", "red", "missing")),
        "ended": cause,
        "ended_in_merge": verb == "merge",
        "ended_in_review": verb == "review",
        "ended_job": 7 if cause else 0,
        "ended_words": chance.choice(("", "it was not to be")),
        "vain_reviews": chance.choice((1, 2)) if verb == "review" else 0,
        "raises": "--budget usd=2" if cause == "budget_reached" else "",
    }
    task = TaskFacts(task_id, status, **fields)
    if task.clone == "behind" and cause != "merge_conflict":
        task = replace(task, clone="")
    return task if has_ended else _taken(chance, task)


def _taken(chance: random.Random, task: TaskFacts) -> TaskFacts:
    """Return a task that something may be about to take on."""
    match chance.choice(("", "", "", "work", "held", "batch")):
        case "work":
            return replace(task, is_at_work=True)
        case "held" if task.status in ("pending", "in_progress"):
            return replace(task, held_for=chance.choice(("trust", "dependencies")))
        case "batch":
            return replace(task, batch=chance.choice((1, 2)))
        case _:
            return task


def random_document(chance: random.Random, number: int) -> DocumentFacts:
    """Return a document that may stand so."""
    is_there = chance.random() < 0.8
    is_kept = chance.random() < 0.5
    return DocumentFacts(
        chance.choice((f"it's {number}.md", f".sow/project/context/{number}.md")),
        is_approved=is_there and chance.random() < 0.5,
        is_kept=is_kept,
        is_there=is_there,
    )


def random_facts(chance: random.Random, kind: ProjectType) -> Facts:
    """Return how a project of a type may stand."""
    maybe = (False, True)
    verdict = chance.choice(("", "accepted", "corrections"))
    has_checks, outcome = chance.choice(maybe), chance.choice(("", "green", "red"))
    ids = IDS[: chance.choice((0, 1, 2, 4))]
    return Facts(
        type=kind.value,
        state=chance.choice(list(LIFECYCLES[kind].states)),
        tasks=tuple(random_task(chance, task) for task in ids),
        clones=chance.choice(("never", "parallel", "always")),
        outputs=tuple(random_document(chance, number) for number in range(chance.choice((0, 2)))),
        open_feedback=("001",) if chance.choice(maybe) else (),
        open_phases=("discovery",) if chance.choice(maybe) else (),
        plan_is_approved=chance.choice(maybe),
        verdict=verdict,
        verdict_counts=chance.choice(maybe),
        verdict_holds=chance.choice(maybe),
        vain_reviews=("900", "910")[: chance.choice((0, 0, 1, 2))],
        has_checks=has_checks,
        check_is_green=has_checks and outcome == "green",
        check_is_red=has_checks and outcome == "red",
    )
