"""A project of plain facts, and what each command that sow names makes of it.

A stand-in for the rest of sow: a command that would be refused fails here, and what
agents, checks and merges come to is left to chance. It knows nothing of how
commands are chosen.
"""

import random
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from sow.lifecycle.lifecycle_facts import DocumentFacts, Facts, TaskFacts
from sow.lifecycle.types import Effect, find_event, obvious_event, refusals

ENDINGS = ("needs_review", "needs_review", "needs_review", "completed", "paused", "failed")
FREE = {"is_at_work": False, "held_for": "", "batch": 0}


class World:
    """One project; `run` answers a command as sow would, or fails where sow would refuse it."""

    def __init__(self, facts: Facts, chance: random.Random) -> None:
        self.facts = standing_at_gate(facts)
        self.chance = chance

    def run(self, command: str) -> None:
        """Carry out one command. Raises AssertionError where sow would refuse it."""
        words = shlex.split(command)
        for length in (4, 3, 2, 1):
            act = COMMANDS.get(" ".join(words[1 : 1 + length]))
            if act is not None:
                act(self, words[1 + length :])
                self.facts = standing_at_gate(self.facts)
                return
        raise AssertionError(f"nobody knows {command}")

    def task(self, task_id: str) -> TaskFacts:
        return next(task for task in self.facts.tasks if task.id == task_id)

    def change(self, task_id: str, **fields: Any) -> None:
        tasks = tuple(
            replace(task, **fields) if task.id == task_id else task for task in self.facts.tasks
        )
        self.facts = replace(self.facts, tasks=tasks)

    def end(self, task_id: str) -> None:
        """Have the agent of a task come to an end: its work is another one then."""
        status = self.chance.choice(ENDINGS)
        in_clone = self.task(task_id).has_clone
        self.change(
            task_id,
            **FREE,
            status=status,
            has_session=status != "completed",
            can_resume=True,
            verdict_holds=False,
            feedback_is_open=False,
            is_unmerged=in_clone and status == "completed",
            clone="",
            check="missing" if self.task(task_id).check else "",
            ended="",
            ended_in_merge=False,
            ended_in_review=False,
            vain_reviews=0,
            raises="",
        )
        self.facts = replace(self.facts, verdict_holds=False, check_is_green=False)


def standing_at_gate(facts: Facts) -> Facts:
    """Return a standing in which each task knows whether it waits for the plan to begin."""
    is_planned = facts.type == "standard" and facts.state == "planning"
    return replace(
        facts,
        tasks=tuple(
            replace(
                task,
                waits_for_plan=is_planned
                and task.phase == "implementation"
                and not task.has_ended
                and (task.status == "pending" or not task.has_session),
            )
            for task in facts.tasks
        ),
    )


def is_taken(task: TaskFacts) -> bool:
    """Whether something is about to take a task on."""
    return task.is_at_work or bool(task.held_for) or bool(task.batch)


def add_task(world: World, _: Sequence[str]) -> None:
    number = 10 * (1 + max((int(task.id) // 10 for task in world.facts.tasks), default=0))
    new = TaskFacts(f"{number:03d}", "pending")
    world.facts = replace(world.facts, tasks=(*world.facts.tasks, new), plan_is_approved=False)


def spawn(world: World, words: Sequence[str]) -> None:
    tasks = (
        [word for word in words[: words.index("--prompt")] if word.isdecimal()]
        if ("--prompt" in words)
        else [word for word in words if word.isdecimal()]
    )
    for task in map(world.task, tasks):
        assert task.status not in ("completed", "abandoned"), task
        assert not is_taken(task), task
        assert not task.waits_for_plan, task
        assert not task.has_session or "--fresh" in words, task
        unmet = [other for other in task.depends_on if world.task(other).status != "completed"]
        assert not unmet, f"{task.id} waits for {unmet}"
        world.change(task.id, status="in_progress", is_at_work=True)


def resume(world: World, words: Sequence[str]) -> None:
    task = world.task(words[0])
    assert not task.waits_for_plan, task
    assert task.status not in ("pending", "completed", "abandoned"), task
    assert task.has_session, task
    assert task.can_resume, task
    assert not is_taken(task), task
    if "--feedback" in words:
        assert task.feedback_is_open, task
    if "--conflict" in words:
        assert task.clone == "conflict", task
    world.change(task.id, status="in_progress", is_at_work=True)


def answer(world: World, words: Sequence[str]) -> None:
    assert world.task(words[0]).status == "paused", words
    resume(world, words)


def wait(world: World, words: Sequence[str]) -> None:
    task = world.task(words[0])
    assert task.is_at_work or task.held_for, task
    world.end(task.id)


def review(world: World, words: Sequence[str]) -> None:
    if "--project" in words:
        assert world.facts.state in ("reviewing", "finalizing"), world.facts.state
        judge_whole(world, world.chance.choice(("accepted", "accepted", "corrections")))
        return
    for task in map(world.task, words):
        judge(world, task, accepts=world.chance.random() < 0.7)


def judge(world: World, task: TaskFacts, *, accepts: bool) -> None:
    assert task.status == "needs_review", task
    assert not is_taken(task), task
    assert task.clone != "gone", task
    verdict = "accepted" if accepts else "corrections"
    holds = {"verdict": verdict, "verdict_holds": True, "feedback_is_open": not accepts}
    world.change(task.id, vain_reviews=0, **holds)


def accept(world: World, words: Sequence[str]) -> None:
    judge(world, world.task(words[0]), accepts=True)


def correct(world: World, words: Sequence[str]) -> None:
    judge(world, world.task(words[0]), accepts=False)


def judge_whole(world: World, verdict: str) -> None:
    feedback = world.facts.open_feedback
    more = () if verdict == "accepted" else (f"{len(feedback) + 1:03d}",)
    counts = world.chance.random() < 0.5
    world.facts = replace(
        world.facts,
        verdict=verdict,
        verdict_counts=counts,
        verdict_holds=True,
        open_feedback=(*feedback, *more),
    )


def accept_whole(world: World, _: Sequence[str]) -> None:
    assert world.facts.state in ("reviewing", "finalizing")
    judge_whole(world, "accepted")
    world.facts = replace(world.facts, verdict_counts=True)


def correct_whole(world: World, _: Sequence[str]) -> None:
    assert world.facts.state in ("reviewing", "finalizing")
    judge_whole(world, "corrections")


def set_task(world: World, words: Sequence[str]) -> None:
    task = world.task(words[0])
    if words[1] == "depends_on":
        world.change(task.id, depends_on=())
        return
    assert words[1:] == ["status", "completed"], words
    assert task.verdict == "accepted", task
    assert task.check not in ("red", "missing"), task
    assert not task.has_clone, task
    world.change(task.id, status="completed", has_session=False)


def merge(world: World, words: Sequence[str]) -> None:
    tasks = [world.task(word) for word in words]
    for task in tasks:
        assert task.is_unmerged or task.check not in ("red", "missing"), task
        accepted = task.status == "needs_review" and task.verdict == "accepted"
        assert task.is_unmerged or (accepted and task.verdict_holds), task
        assert task.has_clone, task
        assert not is_taken(task), task
        for other in task.depends_on:
            before = next((found for found in world.facts.tasks if found.id == other), None)
            if before is not None and before.has_clone and other not in words:
                assert before.has_ended, (task, before)
                assert not before.is_unmerged, (task, before)
    outcome = world.chance.random()
    if outcome < 0.6:
        for task in tasks:
            world.change(
                task.id, status="completed", is_unmerged=False, has_session=False, ended=""
            )
        world.facts = replace(world.facts, verdict_holds=False)
        return
    cause, clone = ("check_failed", "") if outcome < 0.8 else ("merge_conflict", "behind")
    fields = {"ended_in_merge": True, "ended_in_review": False, "was_together": len(tasks) > 1}
    world.change(tasks[0].id, ended=cause, clone=clone, **fields)


def update(world: World, words: Sequence[str]) -> None:
    task = world.task(words[0])
    assert task.clone in ("behind", "untaken"), task
    world.change(task.id, clone=world.chance.choice(("", "conflict")))


def reopen(world: World, words: Sequence[str]) -> None:
    task = world.task(words[0])
    assert task.status in ("completed", "abandoned"), task
    fields = {"is_unmerged": False, "has_session": False, "verdict": "", "ended": ""}
    world.change(task.id, status="pending", **fields)


def batch_wait(world: World, words: Sequence[str]) -> None:
    driven = [task for task in world.facts.tasks if task.batch == int(words[0])]
    assert driven, words
    for task in driven:
        world.end(task.id)


def trust(world: World, _: Sequence[str]) -> None:
    held = [task for task in world.facts.tasks if task.held_for == "trust"]
    assert held
    for task in held:
        world.change(task.id, held_for="", is_at_work=True)


def finish_phase(world: World, words: Sequence[str]) -> None:
    left = [task for task in world.facts.tasks if task.phase == words[0] and not task.has_ended]
    assert not left, left
    phases = tuple(phase for phase in world.facts.open_phases if phase != words[0])
    world.facts = replace(world.facts, open_phases=phases)


def approve(world: World, words: Sequence[str]) -> None:
    if words == ["plan"]:
        assert world.facts.tasks
        world.facts = replace(world.facts, plan_is_approved=True)
        return
    for word in words:
        if word.isdecimal():
            world.change(word, is_approved=True)
        else:
            assert document(world, word).is_there
            change_document(world, word, is_approved=True)


def document(world: World, path: str) -> DocumentFacts:
    return next(found for found in world.facts.outputs if found.path == path)


def change_document(world: World, path: str, **fields: Any) -> None:
    outputs = tuple(
        replace(found, **fields) if found.path == path else found for found in world.facts.outputs
    )
    world.facts = replace(world.facts, outputs=outputs)


def add_output(world: World, _: Sequence[str]) -> None:
    path = f"new {len(world.facts.outputs)}.md"
    new = DocumentFacts(path, is_approved=False, is_kept=world.chance.random() < 0.5)
    world.facts = replace(world.facts, outputs=(*world.facts.outputs, new))


def move_output(world: World, words: Sequence[str]) -> None:
    assert document(world, words[0]).is_there
    change_document(world, words[0], is_kept=True)


def remove_output(world: World, words: Sequence[str]) -> None:
    gone = document(world, words[0])
    left = tuple(found for found in world.facts.outputs if found is not gone)
    world.facts = replace(world.facts, outputs=left)


def settle(world: World, words: Sequence[str]) -> None:
    left = tuple(number for number in world.facts.open_feedback if number not in words)
    assert left != world.facts.open_feedback
    world.facts = replace(world.facts, open_feedback=left)


def publish(world: World, _: Sequence[str]) -> None:
    for task in world.facts.tasks:
        world.change(task.id, is_published=True)


def check(world: World, _: Sequence[str]) -> None:
    is_green = world.chance.random() < 0.6
    world.facts = replace(world.facts, check_is_green=is_green, check_is_red=not is_green)


def check_task(world: World, words: Sequence[str]) -> None:
    task = world.task(words[0])
    assert task.status == "needs_review", task
    assert not is_taken(task), task
    assert task.clone != "gone", task
    assert task.check == "missing", "it was checked as it stands"
    world.change(task.id, check="green" if world.chance.random() < 0.6 else "red")


def advance(world: World, words: Sequence[str]) -> None:
    """Take the project along an event, all of whose guards are met."""
    facts = world.facts
    event = find_event(facts, words[0]) if words else obvious_event(facts)
    assert event is not None, (words, facts.state)
    assert not refusals(event, facts), (event.name, refusals(event, facts))
    assert all(not guard.unmet(facts) for guard in event.guards), "no guard is skipped"
    assert event.source == facts.state
    world.facts = replace(facts, state=event.target)
    if event.effect is Effect.NEW_ITERATION:
        undone = {"plan_is_approved": False, "verdict": "", "check_is_red": False}
        iteration = facts.iteration + 1
        world.facts = replace(world.facts, check_is_green=False, iteration=iteration, **undone)


Act = Callable[[World, Sequence[str]], None]

COMMANDS: Mapping[str, Act] = {
    "task add": add_task,
    "task import": add_task,
    "task set": set_task,
    "task check": check_task,
    "task reopen": reopen,
    "agent spawn": spawn,
    "agent resume": resume,
    "agent answer": answer,
    "agent wait": wait,
    "agent review": review,
    "review accept --project": accept_whole,
    "review correct --project": correct_whole,
    "review accept": accept,
    "review correct": correct,
    "merge": merge,
    "clone update": update,
    "batch wait": batch_wait,
    "trust": trust,
    "phase finish": finish_phase,
    "approve": approve,
    "output add": add_output,
    "output move": move_output,
    "output remove": remove_output,
    "feedback settle": settle,
    "project publish": publish,
    "project check": check,
    "advance": advance,
}
