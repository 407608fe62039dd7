"""What the items of a batch mean to each other: dependencies, limits, the turn, the end."""

from itertools import pairwise

import msgspec
import pytest
from batches.item_values import ALL, accepted, checked, ended, finished, item, live
from hypothesis import given
from hypothesis import strategies as st

from sow.batches.item_facts import BatchFacts, Dependency, ItemFacts, LiveJob
from sow.batches.planning import Plan, next_actions
from sow.jobs.batches import JobInBatch
from sow.schema.amounts import Amounts, ReachedLimit, ScopeKind
from sow.schema.batch import AT_REST, ENDED, OF_AGENTS, Action, ItemState
from sow.schema.batch_policy import Accept, BatchPolicy
from sow.schema.causes import Cause
from sow.schema.job import FINAL_STATES, JobState, Verb
from sow.schema.kinds import KINDS
from sow.schema.task import ReviewVerdict, TaskStatus

S, D = ItemState, Action
PLAIN = BatchPolicy()
COMPLETED = TaskStatus.COMPLETED


def plan_of(*items: ItemFacts, policy: BatchPolicy = PLAIN, **batch: object) -> Plan:
    return next_actions(items, policy, msgspec.structs.replace(BatchFacts(), **batch))


def actions_of(plan: Plan) -> dict[str, Action | None]:
    return {found.task: found.action for found in plan.actions}


def states_of(plan: Plan) -> list[ItemState]:
    return [found.state for found in plan.standings]


def test_a_task_waits_for_those_before_it_wherever_they_stand_in_the_list() -> None:
    first = item(task="020")
    after = item(task="010", in_batch=("020",))
    plan = plan_of(after, first)
    assert actions_of(plan) == {"020": D.SPAWN}
    assert states_of(plan) == [S.WAITING, S.WAITING]
    done = msgspec.structs.replace(first, status=COMPLETED)
    assert actions_of(plan_of(after, done)) == {"010": D.SPAWN}


@pytest.mark.parametrize("status", [TaskStatus.FAILED, TaskStatus.ABANDONED])
def test_what_depends_on_a_failure_is_blocked_all_the_way_down(status: TaskStatus) -> None:
    plan = plan_of(
        item(status, task="010"),
        item(task="020", in_batch=("010",)),
        item(task="030", in_batch=("020",)),
        item(COMPLETED, task="040"),
    )
    assert states_of(plan) == [S.FAILED, S.BLOCKED, S.BLOCKED, S.DONE]
    assert plan.is_over


def test_what_depends_on_a_task_that_wants_a_person_waits() -> None:
    plan = plan_of(item(TaskStatus.PAUSED, task="010"), item(task="020", in_batch=("010",)))
    assert states_of(plan) == [S.NEEDS_PERSON, S.WAITING]
    assert plan.rests
    assert not plan.is_over


@pytest.mark.parametrize(
    ("dependency", "state", "action"),
    [
        (Dependency(task="900", status=COMPLETED), S.WAITING, D.SPAWN),
        (Dependency(task="900", status=TaskStatus.PENDING), S.BLOCKED, None),
        (Dependency(task="900", status=TaskStatus.PENDING, is_under_way=True), S.WAITING, None),
        (Dependency(task="900", status=TaskStatus.IN_PROGRESS), S.WAITING, None),
        (Dependency(task="900", status=TaskStatus.NEEDS_REVIEW), S.WAITING, None),
        (Dependency(task="900", status=TaskStatus.FAILED), S.BLOCKED, None),
        (Dependency(task="900", status=TaskStatus.ABANDONED), S.BLOCKED, None),
        (Dependency(task="900", status=None), S.BLOCKED, None),
    ],
)
def test_a_dependency_outside_of_the_batch(
    dependency: Dependency, state: ItemState, action: Action | None
) -> None:
    (found,) = plan_of(item(outside=(dependency,))).standings
    assert (found.state, found.action) == (state, action)


def test_a_circle_that_somebody_wrote_by_hand_ends() -> None:
    plan = plan_of(item(task="010", in_batch=("020",)), item(task="020", in_batch=("010",)))
    assert plan.actions == ()


def test_no_more_agents_than_the_limit_and_begun_work_first() -> None:
    policy = BatchPolicy(max_parallel=2, review=True)
    busy = item(TaskStatus.IN_PROGRESS, task="010", live=live(Verb.SPAWN))
    plan = plan_of(busy, item(task="020"), finished(task="030"), item(task="040"), policy=policy)
    assert actions_of(plan) == {"030": D.REVIEW}
    assert plan_of(item(), policy=policy).actions


def test_a_check_takes_no_agent_s_place() -> None:
    policy = BatchPolicy(max_parallel=1, check=True)
    busy = item(TaskStatus.IN_PROGRESS, task="010", live=live(Verb.SPAWN))
    assert actions_of(plan_of(busy, finished(task="020"), policy=policy)) == {"020": D.CHECK}


def test_one_at_a_time_is_merged_and_keeps_its_turn() -> None:
    first, second = accepted(task="010", is_behind=True), accepted(task="020")
    plan = plan_of(first, second, policy=ALL)
    assert (plan.turn, actions_of(plan)) == ("010", {"010": D.UPDATE})
    plan = plan_of(first, second, policy=ALL, turn="020")
    assert (plan.turn, actions_of(plan)) == ("020", {"020": D.MERGE})
    updating = accepted(task="010", live=live(Verb.UPDATE))
    plan = plan_of(updating, second, policy=ALL, turn="010")
    assert (plan.turn, actions_of(plan)) == ("010", {})
    assert plan_of(first, second, policy=ALL, turn_is_elsewhere=True).turn is None
    assert plan_of(first, second, policy=ALL, turn_is_elsewhere=True).actions == ()


def test_the_turn_goes_first_to_the_task_that_most_others_wait_for() -> None:
    ready = accepted(task="010"), accepted(task="020"), accepted(task="030")
    by_way_of_others = item(task="040", in_batch=("020",)), item(task="050", in_batch=("040",))
    plan = plan_of(*ready, *by_way_of_others, item(task="060", in_batch=("010",)), policy=ALL)
    assert plan.turn == "020"
    assert plan_of(*ready, policy=ALL).turn == "010"


def test_tasks_in_a_circle_take_the_turn_like_others() -> None:
    """Somebody has written it by hand."""
    circle = accepted(task="010", in_batch=("020",)), accepted(task="020", in_batch=("010",))
    assert plan_of(*circle, policy=ALL).turn == "010"


def test_the_turn_goes_back_with_a_conflict_and_with_a_red_check() -> None:
    red = checked(task="010", passed=False, verdict=ReviewVerdict.ACCEPTED, verdict_stands=True)
    plan = plan_of(red, accepted(task="020"), policy=ALL, turn="010")
    assert plan.turn == "020"
    assert actions_of(plan) == {"010": D.MEND, "020": D.MERGE}
    conflict = ended(Verb.UPDATE, JobState.FAILED, Cause.MERGE_CONFLICT)
    plan = plan_of(
        accepted(task="010", last=conflict), accepted(task="020"), policy=ALL, turn="010"
    )
    assert plan.turn == "020"
    assert actions_of(plan) == {"010": D.SOLVE, "020": D.MERGE}


def test_the_first_failure_stops_what_has_not_begun_where_that_is_asked_for() -> None:
    failed, busy = item(TaskStatus.FAILED), item(TaskStatus.IN_PROGRESS, "020")
    busy = msgspec.structs.replace(busy, live=live(Verb.SPAWN))
    policy = BatchPolicy(fail_fast=True, review=True)
    plan = plan_of(failed, busy, item(task="030"), finished(task="040"), policy=policy)
    assert states_of(plan) == [S.FAILED, S.RUNNING, S.BLOCKED, S.IN_REVIEW]
    assert actions_of(plan) == {"040": D.REVIEW}
    assert not plan.is_over


def test_what_is_queued_and_has_not_begun_leaves_the_queue_at_the_first_failure() -> None:
    queued = live(Verb.SPAWN, "spawn", has_begun=False, waits_for_batch=True)
    waits = item(TaskStatus.IN_PROGRESS, "020", live=queued, steps=1)
    by_hand = msgspec.structs.replace(waits, task="030")
    by_hand = msgspec.structs.replace(by_hand, live=msgspec.structs.replace(queued, action=None))
    again = msgspec.structs.replace(waits, task="040")
    again = msgspec.structs.replace(again, live=msgspec.structs.replace(queued, has_begun=True))
    items = (item(TaskStatus.FAILED), waits, by_hand, again)
    plan = plan_of(*items, policy=BatchPolicy(fail_fast=True))
    assert actions_of(plan) == {"020": D.WITHDRAW}
    assert states_of(plan)[1] is S.BLOCKED
    assert not plan.is_over
    assert actions_of(plan_of(*items)) == {}
    assert not plan_of(*items, policy=BatchPolicy(fail_fast=True), is_paused=True).actions


def test_a_paused_batch_and_one_with_a_brake_begin_nothing() -> None:
    for paused in (
        plan_of(item(), accepted(task="020"), policy=ALL, is_paused=True),
        plan_of(item(), accepted(task="020"), policy=ALL, brake="It is refused."),
    ):
        assert paused.actions == ()
        assert paused.rests
        assert not paused.is_over
        assert paused.turn is None


def test_a_paused_batch_rests_though_jobs_of_it_are_queued_and_not_while_one_runs() -> None:
    queued = live(Verb.SPAWN, "spawn", has_begun=False, waits_for_batch=True)
    waiting = item(TaskStatus.IN_PROGRESS, live=queued)
    assert plan_of(waiting, is_paused=True).rests
    assert not plan_of(waiting).rests
    running = item(TaskStatus.IN_PROGRESS, task="020", live=live(Verb.SPAWN, "spawn"))
    assert not plan_of(waiting, running, is_paused=True).rests


def test_a_red_check_is_looked_into_before_it_is_mended_where_many_are_red() -> None:
    red = checked(passed=False)
    assert actions_of(plan_of(red, policy=ALL, suspect="010")) == {"010": D.CHECK_BASE}
    assert actions_of(plan_of(red, policy=ALL, suspect="020")) == {"010": D.MEND}
    without = checked(passed=False, has_clone=False)
    assert actions_of(plan_of(without, policy=ALL, suspect="010")) == {"010": D.MEND}


def test_it_is_over_when_nothing_is_left_and_nobody_is_asked() -> None:
    assert plan_of(item(COMPLETED)).is_over
    assert plan_of(item(TaskStatus.FAILED)).is_over
    assert not plan_of(item(TaskStatus.PAUSED)).is_over
    assert not plan_of(item(COMPLETED, live=live(Verb.CHECK))).is_over


def test_a_batch_without_a_task_rests_and_is_not_over() -> None:
    assert plan_of().rests
    assert not plan_of().is_over


statuses = st.sampled_from([*TaskStatus, None])
ended_jobs = st.builds(
    JobInBatch,
    id=st.integers(1, 9),
    task_id=st.just("010"),
    verb=st.sampled_from(Verb),
    state=st.sampled_from(sorted(FINAL_STATES)),
    cause=st.none() | st.sampled_from(Cause).map(str),
    cancel_asked=st.booleans(),
)
live_jobs = st.builds(
    LiveJob,
    id=st.integers(1, 9),
    verb=st.sampled_from(Verb),
    is_held=st.booleans(),
    action=st.none() | st.sampled_from(Action).map(str),
)


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[ItemFacts], BatchPolicy, BatchFacts]:
    tasks = [f"{number:03d}" for number in range(10, 10 * draw(st.integers(1, 6)) + 1, 10)]
    items = [
        draw(
            st.builds(
                ItemFacts,
                task=st.just(task),
                status=statuses,
                fault=st.just("It cannot be read."),
                in_batch=st.lists(st.sampled_from(tasks), max_size=3, unique=True).map(tuple),
                outside=st.just(()),
                verdict=st.none() | st.sampled_from(ReviewVerdict),
                check_passed=st.none() | st.booleans(),
                live=st.none() | live_jobs,
                last=st.none() | ended_jobs,
                returns=st.integers(0, 4),
                forgiven=st.integers(-1, 9),
                refusal=st.sampled_from(["", "No such program."]),
            )
        )
        for task in tasks
    ]
    policy = draw(
        st.builds(
            BatchPolicy,
            max_parallel=st.none() | st.integers(1, 3),
            accept=st.sampled_from(Accept),
        )
    )
    batch = draw(
        st.builds(
            BatchFacts, turn=st.none() | st.sampled_from(tasks), brake=st.sampled_from(["", "No."])
        )
    )
    return items, policy, batch


@pytest.mark.slow
@given(batches())
def test_whatever_the_facts_are(drawn: tuple[list[ItemFacts], BatchPolicy, BatchFacts]) -> None:
    items, policy, batch = drawn
    plan = next_actions(items, policy, batch)
    by_task = {facts.task: facts for facts in items}
    assert plan == next_actions(items, policy, batch), "the same facts, the same actions"
    assert [found.task for found in plan.standings] == [facts.task for facts in items]
    for found in plan.actions:
        facts = by_task[found.task]
        assert facts.live is None, "a task has one job at most"
        if found.action is D.SPAWN and facts.status is TaskStatus.PENDING:
            done = [
                plan.standings[i].state for i, o in enumerate(items) if o.task in facts.in_batch
            ]
            assert set(done) <= {S.DONE} or found.task in facts.in_batch or _circle(items)
        assert found.step == facts.steps + 1
    assert len({found.task for found in plan.actions if found.in_turn}) <= 1
    begun = sum(1 for found in plan.actions if found.action in OF_AGENTS)
    at_work = sum(1 for i in items if i.live is not None and KINDS[i.live.verb].is_agents)
    if policy.max_parallel is not None and begun:
        assert begun + at_work <= policy.max_parallel
    if batch.is_paused or batch.brake:
        assert not plan.actions
    if plan.is_over:
        assert set(states_of(plan)) <= ENDED
        assert not any(facts.live for facts in items if not (facts.live and facts.live.is_held))
    elif plan.rests and not batch.brake and not batch.turn_is_elsewhere:
        wants = any(found.state in AT_REST - ENDED for found in plan.standings)
        assert wants or _circle(items)


def _circle(items: list[ItemFacts]) -> bool:
    """Whether tasks wait for each other; `sow task set` makes no such thing."""
    before = {facts.task: set(facts.in_batch) for facts in items}
    while free := {task for task, others in before.items() if not others & before.keys()}:
        before = {task: others for task, others in before.items() if task not in free}
    return bool(before)


def test_a_job_that_waits_for_another_task_keeps_no_place_from_that_one() -> None:
    held = live(Verb.SPAWN, waits_for_tasks=True)
    after = item(TaskStatus.IN_PROGRESS, task="020", in_batch=("010",), live=held)
    plan = plan_of(item(task="010"), after, policy=BatchPolicy(max_parallel=1))
    assert actions_of(plan) == {"010": D.SPAWN}


def test_a_paused_batch_gives_the_turn_back_once_no_job_has_it() -> None:
    ready, merging = accepted(task="010"), accepted(task="010", live=live(Verb.MERGE))
    assert plan_of(ready, policy=ALL, turn="010", is_paused=True).turn is None
    assert plan_of(ready, policy=ALL, turn="010", brake="Red.").turn is None
    assert plan_of(merging, policy=ALL, turn="010", is_paused=True).turn == "010"


def test_a_batch_that_waits_for_another_one_s_turn_does_not_rest() -> None:
    plan = plan_of(accepted(), policy=ALL, turn_is_elsewhere=True)
    assert plan.actions == ()
    assert not plan.rests


def test_a_reached_budget_wants_a_person_and_does_not_end_the_batch() -> None:
    last = ended(Verb.SPAWN, JobState.FAILED, Cause.BUDGET_REACHED, reason="It is reached.")
    plan = plan_of(item(TaskStatus.FAILED, last=last))
    assert states_of(plan) == [S.NEEDS_PERSON]
    assert plan.standings[0].reason == "It is reached."
    assert not plan.is_over


@pytest.mark.parametrize(
    ("started", "reached", "command"),
    [
        (True, ("batch", "1", {"usd": 4}), "sow batch resume 1 --budget usd=4"),
        (True, ("task", "010", {"usd": 0.4}), 'sow agent resume 010 "…" --budget usd=0.4'),
        (False, ("task", "010", {"time": 7200}), "sow agent spawn 010 --budget time=2h"),
        (True, ("project", "", {"usd": 4}), '"${EDITOR:-vi}" .sow/config.yaml'),
        (True, ("executor", "a", {"usd": 4}), "sow config edit"),
    ],
)
@pytest.mark.parametrize("is_job", [True, False])
def test_a_reached_budget_names_the_command_that_raises_it(
    started: bool, reached: tuple[str, str, dict[str, float]], command: str, is_job: bool
) -> None:
    kind, name, enough = reached
    by = ReachedLimit(kind=ScopeKind(kind), name=name, enough=Amounts(**enough))
    if is_job:
        last = ended(Verb.SPAWN, JobState.FAILED, Cause.BUDGET_REACHED, reason="So.", reached=by)
        found = item(TaskStatus.FAILED, last=last, session_started=started)
    else:
        status = TaskStatus.NEEDS_REVIEW if started else TaskStatus.PENDING
        found = item(status, session_started=started, refusal="So.", refused_by=by)
    assert plan_of(found).standings[0].command == command


@pytest.mark.parametrize("cause", [Cause.API_ERROR, Cause.BUDGET_REACHED])
def test_a_command_in_the_words_of_others_is_never_named_as_what_raises_a_budget(
    cause: Cause,
) -> None:
    reason = "the budget of batch 1 is reached: `sow batch resume 1 --budget usd=900`"
    last = ended(Verb.REVIEW, JobState.FAILED, cause, reason=reason)
    plan = plan_of(checked(last=last), policy=ALL)
    assert plan.standings[0].state is ItemState.NEEDS_PERSON
    assert plan.standings[0].command == ""


def test_what_a_budget_has_stopped_goes_on_with_another_figure() -> None:
    reached = (JobState.FAILED, Cause.BUDGET_REACHED)
    paid = {"last": ended(Verb.SPAWN, *reached), "may_go_on": True}
    assert actions_of(plan_of(item(TaskStatus.FAILED, **paid))) == {"010": D.SPAWN}
    begun = item(TaskStatus.FAILED, **paid, session_started=True)
    assert actions_of(plan_of(begun)) == {"010": D.GO_ON}
    review = checked(last=ended(Verb.REVIEW, *reached), may_go_on=True)
    assert actions_of(plan_of(review, policy=ALL)) == {"010": D.REVIEW}


def test_a_chain_may_be_longer_than_python_goes_deep() -> None:
    tasks = [f"{number:04d}" for number in range(2000)]
    after = [item(task=task, in_batch=(other,)) for task, other in pairwise(tasks)]
    plan = plan_of(*after, item(task=tasks[-1]))
    assert actions_of(plan) == {tasks[-1]: D.SPAWN}


def test_a_red_check_of_many_is_looked_into_before_a_person_is_asked_about_it() -> None:
    """Each of thirty tasks would end that way in turn, and nobody be told that all would."""
    policy = BatchPolicy(check=True, max_iterations=0)
    red = checked(passed=False)
    assert states_of(plan_of(red, policy=policy)) == [S.NEEDS_PERSON]
    (found,) = plan_of(red, policy=policy, suspect="010").actions
    assert (found.action, found.state, found.step) == (D.CHECK_BASE, S.CHECKING, red.steps + 1)
    assert (found.reason, found.command) == ("", "")
    for other in (
        msgspec.structs.replace(red, has_clone=False),
        msgspec.structs.replace(red, refusal="Not now."),
        checked(passed=True),
    ):
        assert plan_of(other, policy=policy, suspect="010").actions == ()


def test_the_others_go_on_where_a_task_has_failed_and_stop_only_if_that_was_asked_for() -> None:
    failed, other = item(TaskStatus.FAILED, task="010"), item(task="020")
    assert actions_of(plan_of(failed, other)) == {"020": D.SPAWN}
    assert states_of(plan_of(failed, other, policy=BatchPolicy(fail_fast=True))) == [
        S.FAILED,
        S.BLOCKED,
    ]


def test_nobody_takes_the_turn_in_a_batch_that_is_paused() -> None:
    updating = accepted(task="010", live=live(Verb.UPDATE))
    assert plan_of(updating, policy=ALL).turn == "010"
    assert plan_of(updating, policy=ALL, is_paused=True).turn is None
    assert plan_of(updating, policy=ALL, is_paused=True, turn="010").turn == "010"


def test_who_is_looked_at_or_works_again_leaves_the_turn_to_the_next() -> None:
    for verb in (Verb.REVIEW, Verb.RESUME):
        again = accepted(task="010", live=live(verb))
        plan = plan_of(again, accepted(task="020"), policy=ALL, turn="010")
        assert (plan.turn, actions_of(plan)) == ("020", {"020": D.MERGE})
