"""A role with several executors, as a call sees it: which one begins, and what the job keeps."""

import pytest
from built_in import BUILT_IN
from calls.desk import SESSION, Desk
from msgspec import UNSET
from reports.job_cases import NOW

from sow.calls.admission import RefusedCall
from sow.calls.choosing import MakerHasChanged, MakerIsGone, NoneInstalled
from sow.calls.kinds import place
from sow.calls.request import Placed, Request
from sow.calls.resolution import resolve
from sow.config.configuration import Configuration
from sow.errors import ExecutorError
from sow.executors.executor_errors import ExecutorBinaryNotFound
from sow.executors.registry import can_resume
from sow.executors.session import FIRST
from sow.jobs import jobs
from sow.jobs.usage_limits import limited_until
from sow.schema.amounts import Amounts
from sow.schema.causes import Cause
from sow.schema.job import JobState, Verb
from sow.schema.job_terms import AuthorTerms
from sow.schema.task import SessionFacts, TaskStatus

LIST = {"agents": {"bindings": {"implementer": ["claude-code", "second", "third"]}}}
EXECUTORS = {
    "second": {"type": "command", "settings": {"command": ["second"], "resume": ["second"]}},
    "third": {"type": "command", "settings": {"command": ["third"]}},
}


@pytest.fixture
def desk(desk: Desk) -> Desk:
    """Return a desk with a task whose role has three executors, all of them installed."""
    configure(desk)
    desk.program("second")
    desk.program("third")
    desk.task()
    return desk


def configure(desk: Desk, *names: str, **agents: object) -> None:
    bindings = {"implementer": list(names)} if names else LIST["agents"]["bindings"]
    desk.configure({"agents": {"executors": EXECUTORS, "bindings": bindings, **agents}})


def put(desk: Desk, request: Request) -> Placed:
    return place(desk.caller, desk.database, desk.config, request, None)


def without(desk: Desk, *programs: str) -> None:
    for program in programs:
        (desk.base / "bin" / program).unlink()


def names(desk: Desk, placed: Placed) -> tuple[list[str], str, list[str]]:
    """Return who was left, who begins and who follows."""
    job = placed.job
    left = [each.name for each in job.fallback.left]
    return left, job.executor_name, [each.executor.name for each in job.fallback.next]


def test_a_spawn_begins_with_the_first_and_keeps_the_list(desk: Desk) -> None:
    placed = put(desk, desk.spawn())
    assert names(desk, placed) == ([], "claude-code", ["second", "third"])
    assert (placed.notes, placed.job.warnings) == ((), ())
    assert not placed.job.fallback.hands_over


def test_one_name_keeps_no_list(desk: Desk) -> None:
    configure(desk, "claude-code")
    placed = put(desk, desk.spawn())
    assert placed.job.terms is None
    row = desk.database.row("select terms from job")
    assert row is not None
    assert row["terms"] is None


def test_one_name_and_a_clone_leave_the_record_as_it_was(desk: Desk) -> None:
    job = desk.insert(terms=AuthorTerms(clone=True), task_id="020")
    row = desk.database.row("select terms from job where id = ?", (job.id,))
    assert row is not None
    assert row["terms"] == '{"kind":"author","clone":true}'


def test_a_variable_names_one(desk: Desk) -> None:
    environ = {**desk.caller.environ, "SOW_AGENTS_IMPLEMENTER": "second"}
    config = type(desk.caller)(desk.workspace, environ, desk.caller.cwd).load_configuration()
    placed = place(desk.caller, desk.database, config, desk.spawn(), None)
    assert names(desk, placed) == ([], "second", [])
    assert placed.job.terms is None


def test_a_program_that_is_missing_is_passed_over_and_told(desk: Desk) -> None:
    without(desk, "claude", "second")
    placed = put(desk, desk.spawn())
    assert names(desk, placed) == (["claude-code", "second"], "third", [])
    words = "claude-code is not installed (executor binary not found: claude): third took its place"
    assert placed.notes[0] == placed.job.warnings[0] == words
    assert desk.log().count("Goes on with third") == 2
    assert {each.cause for each in placed.job.fallback.left} == {Cause.MISSING_BINARY}


def test_without_any_program_all_are_named(desk: Desk) -> None:
    without(desk, "claude", "second", "third")
    with pytest.raises(NoneInstalled) as refusal:
        put(desk, desk.spawn())
    for name in ("claude-code", "second", "third"):
        assert name in refusal.value.message
    assert desk.read().status is TaskStatus.PENDING


def test_an_unknown_name_is_refused_when_the_role_is_needed(desk: Desk) -> None:
    configure(desk, "claude-code", "nix")
    with pytest.raises(ExecutorError, match="unknown executor: nix"):
        put(desk, desk.spawn())


def test_a_limit_that_another_job_waits_for_is_passed_over(desk: Desk) -> None:
    other = desk.insert(task_id="020", retry_at=NOW + 60)
    jobs.change_job(desk.database, other.id, state=JobState.PARKED)
    placed = put(desk, desk.spawn())
    assert names(desk, placed) == (["claude-code"], "second", ["third", "claude-code"])
    assert placed.job.fallback.left[0].until == NOW + 60
    assert limited_until(desk.database, "claude-code", now=NOW, without=other.id) == NOW + 60


def test_where_all_others_are_missing_the_limited_one_is_taken(desk: Desk) -> None:
    other = desk.insert(task_id="020", retry_at=NOW + 60)
    jobs.change_job(desk.database, other.id, state=JobState.PARKED)
    without(desk, "second", "third")
    assert names(desk, put(desk, desk.spawn())) == ([], "claude-code", ["second", "third"])


def test_the_same_call_finds_the_job_by_any_of_its_executors(desk: Desk) -> None:
    first = put(desk, desk.spawn())
    without(desk, "claude")
    again = put(desk, desk.spawn())
    assert (again.attached, again.job.id) == (True, first.job.id)
    configure(desk, "third", "second")
    assert put(desk, desk.spawn()).job.id == first.job.id


def test_a_resume_stays_with_the_executor_of_its_session(desk: Desk) -> None:
    desk.change(status=TaskStatus.PAUSED)
    desk.with_session(executor="second")
    without(desk, "second")
    with pytest.raises(ExecutorBinaryNotFound):
        put(desk, desk.resume())
    desk.program("second")
    placed = put(desk, desk.resume())
    assert names(desk, placed) == ([], "second", [])
    assert (placed.job.terms, placed.notes) == (None, ())


def test_a_resume_that_may_be_handed_over_knows_who_follows(desk: Desk) -> None:
    configure(desk, fallback_resume="handover")
    desk.change(status=TaskStatus.PAUSED)
    desk.with_session(executor="second")
    without(desk, "second")
    placed = put(desk, desk.resume())
    assert names(desk, placed) == ([], "second", ["third", "claude-code"])
    assert placed.job.verb is Verb.RESUME
    assert placed.job.fallback.hands_over
    assert desk.read().session_id == SESSION


def test_a_session_that_was_made_outside_of_the_list_may_go_to_all_of_it(desk: Desk) -> None:
    configure(desk, "second", "third", fallback_resume="handover")
    desk.with_session(executor="claude-code")
    found = resolve(desk.caller, desk.config, desk.resume())
    assert [each.name for each in found.others] == ["second", "third"]


@pytest.fixture
def orphan(desk: Desk) -> Desk:
    """Return a desk with a session that an executor has made which is no longer configured."""
    desk.change(status=TaskStatus.PAUSED)
    desk.with_session(executor="gone")
    return desk


def test_a_resume_whose_executor_is_gone_is_refused_with_the_ways_out(orphan: Desk) -> None:
    with pytest.raises(MakerIsGone, match="unknown executor: gone, which made") as refusal:
        put(orphan, orphan.resume())
    for way in ("Define it again", "sow agent spawn 010 --fresh", "fallback_resume: handover"):
        assert way in str(refusal.value.hint)
    assert orphan.read().status is TaskStatus.PAUSED


@pytest.mark.parametrize("bound", [("second",), ("second", "third")])
def test_a_resume_whose_executor_is_gone_goes_to_the_role_s_own(
    orphan: Desk, bound: tuple[str, ...]
) -> None:
    configure(orphan, *bound, fallback_resume="handover")
    placed = put(orphan, orphan.resume())
    assert names(orphan, placed) == ([], "gone", [*bound])
    note = f"gone made this session and is no longer configured: {' or '.join(bound)} takes it over"
    assert placed.notes == (note,)
    assert placed.job.fallback.hands_over
    assert orphan.read().session_id == SESSION, "until the worker hands it over"
    assert put(orphan, orphan.resume()).attached


def test_nobody_can_take_over_whose_program_is_missing(orphan: Desk) -> None:
    configure(orphan, "second", "third", fallback_resume="handover")
    without(orphan, "second", "third")
    with pytest.raises(NoneInstalled) as refusal:
        put(orphan, orphan.resume())
    assert "gone" not in refusal.value.message
    assert "second" in refusal.value.message


def test_a_session_whose_executor_is_gone_is_not_opened(orphan: Desk) -> None:
    configure(orphan, "second", fallback_resume="handover")
    request = Request(verb=Verb.OPEN, task_id=orphan.read().id)  # type: ignore[arg-type]
    with pytest.raises(MakerIsGone):
        resolve(orphan.caller, orphan.config, request)


def be_mine(desk: Desk, kind: str, **agents: object) -> None:
    """Have `mine`, whom the role is bound to, be an executor of a type."""
    executors = {**EXECUTORS, "mine": {"type": kind}}
    bindings = {"implementer": "mine"}
    desk.configure({"agents": {"executors": executors, "bindings": bindings, **agents}})


def made(
    desk: Desk, executor: str = "mine", *, kind: str | None = None, started: bool = True
) -> None:
    """Put a session of an executor on record, with its type or without."""
    facts = SessionFacts(executor=executor, type=kind or UNSET, started=started)
    desk.change(status=TaskStatus.PAUSED, session_id=SESSION, session=facts)


@pytest.mark.parametrize("verb", [Verb.RESUME, Verb.OPEN])
def test_a_name_that_is_of_another_type_now_begins_no_other_conversation(
    desk: Desk, verb: Verb
) -> None:
    made(desk, kind="codex")
    be_mine(desk, "claude")
    request = Request(verb=verb, task_id=desk.read().id)  # type: ignore[arg-type]
    words = "executor mine is of type claude now; the session of task 010 was made by type codex"
    with pytest.raises(MakerHasChanged, match=words) as refusal:
        resolve(desk.caller, desk.config, request)
    for way in ("agents.executors.mine.type: codex", "010 --fresh", "fallback_resume: handover"):
        assert way in str(refusal.value.hint)
    assert can_resume(desk.config, desk.read()), "so that a batch asks, and begins none either"


def test_each_way_out_of_a_changed_type_leads_on(desk: Desk) -> None:
    made(desk, kind="codex")
    be_mine(desk, "codex")
    desk.program("codex")
    assert resolve(desk.caller, desk.config, desk.resume()).executor.config.type == "codex"
    be_mine(desk, "claude", fallback_resume="handover")
    placed = put(desk, desk.resume())
    assert names(desk, placed) == ([], "mine", ["mine"])
    own, following = placed.job.agents_executor, placed.job.fallback.next[0].executor
    assert (own.type, following.type) == ("codex", "claude")
    assert placed.notes == ("mine made this session and is of type claude now: mine takes it over",)
    desk.end(placed.job.id, TaskStatus.PAUSED)
    be_mine(desk, "claude")
    begun = put(desk, desk.spawn(fresh=True))
    assert begun.job.agents_executor.type == "claude"
    session = desk.read().session
    assert session is not UNSET
    assert (desk.read().session_id == SESSION, session.type) == (False, "claude")


def test_a_session_that_never_began_is_not_handed_to_another_type(desk: Desk) -> None:
    made(desk, kind="codex", started=False)
    desk.change(status=TaskStatus.FAILED)
    be_mine(desk, "claude")
    put(desk, desk.spawn())
    assert desk.read().session_id != SESSION


def test_no_spawn_takes_the_place_of_a_resume_where_the_new_type_has_none(desk: Desk) -> None:
    made(desk, kind="codex")
    be_mine(desk, "windsurf")
    with pytest.raises(RefusedCall, match="because its session has started"):
        put(desk, desk.spawn())


def test_a_built_in_name_of_the_first_sow_tells_the_type_without_a_record(desk: Desk) -> None:
    for name in ("claude-code", "cursor", "windsurf"):
        made(desk, name)
        desk.configure({"agents": {"executors": {name: {"type": "codex"}}}})
        with pytest.raises(MakerHasChanged):
            resolve(desk.caller, desk.config, desk.resume())


OWN: dict[str, dict[str, object]] = {
    "command": {"type": "command", "settings": {"command": ["c"], "resume": ["c", "{session_id}"]}},
    "acp": {"type": "acp", "settings": {"command": ["c"]}},
}
"""What a user of the first sow may have called by a name that is built in now."""


@pytest.mark.parametrize("handover", [{}, {"fallback_resume": "handover"}])
@pytest.mark.parametrize("kind", OWN)
def test_a_name_that_was_free_in_the_first_sow_resumes_as_before(
    desk: Desk, kind: str, handover: dict[str, str]
) -> None:
    for name in ("mine", *(BUILT_IN.keys() - FIRST.keys())):
        made(desk, name)
        agents = {"executors": {name: OWN[kind]}, "bindings": {"implementer": name}}
        desk.configure({"agents": {**agents, **handover}})
        resolved = resolve(desk.caller, desk.config, desk.resume())
        assert (resolved.executor.name, resolved.executor.config.type) == (name, kind)
        assert resolved.notes == ()


def test_what_a_type_made_that_this_sow_does_not_know_is_not_handed_over(desk: Desk) -> None:
    made(desk, kind="unheard")
    be_mine(desk, "claude", fallback_resume="handover")
    with pytest.raises(MakerHasChanged, match="was made by type unheard"):
        resolve(desk.caller, desk.config, desk.resume())


def test_the_type_is_on_record_where_the_name_does_not_tell(desk: Desk) -> None:
    desk.program("gemini")
    for name, kind in (("claude-code", UNSET), ("mine", "claude"), ("gemini", "gemini")):
        be_mine(desk, "claude")
        environ = {**desk.caller.environ, "SOW_AGENTS_IMPLEMENTER": name}
        config = type(desk.caller)(desk.workspace, environ, desk.caller.cwd).load_configuration()
        placed = place(desk.caller, desk.database, config, desk.spawn(fresh=True), None)
        session = desk.read().session
        assert session is not UNSET
        assert (session.executor, session.type) == (name, kind)
        desk.end(placed.job.id, TaskStatus.PAUSED)


def test_fresh_goes_through_the_list_again(desk: Desk) -> None:
    desk.change(status=TaskStatus.PAUSED)
    desk.with_session(executor="claude-code")
    without(desk, "claude")
    placed = put(desk, desk.spawn(fresh=True))
    assert names(desk, placed) == (["claude-code"], "second", ["third"])


def test_each_executor_has_its_own_limits_and_one_that_cannot_keep_them_is_left_out(
    desk: Desk,
) -> None:
    executors = {
        "claude-code": {"budget": {"usd": 3.0}},
        "second": {"type": "claude", "budget": {"usd": 2.0}},
        "third": {**EXECUTORS["third"], "budget": {"usd": 1.0}},
    }
    desk.configure({"agents": {"executors": executors, "bindings": LIST["agents"]["bindings"]}})
    placed = put(desk, desk.spawn())
    assert names(desk, placed) == ([], "claude-code", ["second"])
    assert placed.job.budgets is not None
    assert placed.job.budgets.executor == Amounts(usd=3.0)
    assert placed.job.fallback.next[0].limits == Amounts(usd=2.0)


def test_a_review_begins_with_the_first_that_is_free(desk: Desk) -> None:
    bindings = {"reviewer": ["claude-code", "second"]}
    desk.configure({"agents": {"executors": EXECUTORS, "bindings": bindings}})
    desk.change(status=TaskStatus.NEEDS_REVIEW)
    without(desk, "claude")
    request = Request(verb=Verb.REVIEW, task_id=desk.read().id)  # type: ignore[arg-type]
    placed = put(desk, request)
    assert names(desk, placed) == (["claude-code"], "second", [])
    assert placed.job.warnings == placed.notes
    assert put(desk, request).attached


def test_the_configuration_lists_them(desk: Desk) -> None:
    config: Configuration = desk.config
    assert config.bound("implementer") == ("claude-code", "second", "third")
    assert config.bound("tester") == ("claude-code",)
    assert config.bound("nobody") == ()
    assert config.bindings["implementer"] == "claude-code"
