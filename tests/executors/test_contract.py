"""What every executor promises, whichever CLI it drives."""

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from built_in import BUILT_IN
from cli_bench import Bench, make_bench
from executor_cases import (
    CASES,
    CHOSEN,
    COMMANDS,
    SEEDS,
    SESSION_ROWS,
    SOW_RULES,
    TODAY,
    Case,
    SessionRow,
)
from msgspec.structs import replace
from standins import CursorDialect, read_runs, write_script

from sow.executors.base import EventKind, Executor, Launch, LaunchRequest
from sow.executors.executor_errors import (
    BeginningNotSupported,
    ExecutorBinaryNotFound,
    OpeningNotSupported,
    ResumptionNotSupported,
)
from sow.executors.registry import make_executor
from sow.executors.session import Session, SessionSource
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType
from sow.schema.job import Cause, Verb

SECRET = "sk-not-to-be-seen"
PROMPT = f"Do task 010. The key is {SECRET}.\n"


def config(type_: ExecutorType, **settings: object) -> ExecutorConfig:
    """Return settings that give every type what it needs."""
    if type_ is ExecutorType.COMMAND:
        settings = {"command": ("claude", "-p"), "resume": ("claude", "-c"), **settings}
    if type_ is ExecutorType.ACP:
        settings = {"command": ("my-agent", "--acp"), **settings}
    return ExecutorConfig(name=f"my-{type_}", type=type_, **settings)


def request(session: Session | None, *, as_root: bool = False) -> LaunchRequest:
    return LaunchRequest(
        session=session,
        prompt=PROMPT,
        prompt_file=Path("/run/prompt.md"),
        task_dir=Path("/repo/tasks/010"),
        cwd=Path("/repo"),
        as_root=as_root,
        commands=COMMANDS,
        writable=(Path("/repo/.sow"),),
    )


def launching(executor: Executor, verb: Verb) -> Callable[[LaunchRequest], Launch]:
    """Return the method that carries out a verb."""
    return {
        Verb.SPAWN: executor.spawn,
        Verb.RESUME: executor.resume,
        Verb.OPEN: executor.take_over,
    }[verb]


def launch_argv(executor: Executor, verb: Verb, session: Session | None) -> tuple[str, ...]:
    return launching(executor, verb)(request(session)).argv


def test_a_transcript_of_claude_without_a_message_holds_no_conversation() -> None:
    """So it begins (recorded of 2.1.330), and a resume finds nothing in it."""
    claude = make_executor(config(ExecutorType.CLAUDE))
    queued = (
        b'{"type":"queue-operation","operation":"enqueue","content":"{\\"type\\":\\"user\\"}"}\n'
    )
    assert not claude.holds_conversation(b"")
    assert not claude.holds_conversation(queued)
    assert claude.holds_conversation(queued + b'{"parentUuid":null,"type":"user"}\n')


def test_a_transcript_of_qwen_without_a_prompt_holds_no_conversation() -> None:
    """Killed while it is empty (0.24.4), a resume finds no session, and a spawn may have its id."""
    qwen = make_executor(config(ExecutorType.QWEN))
    assert not qwen.holds_conversation(b"")
    assert qwen.holds_conversation(b'{"uuid":"1","parentUuid":null,"type":"user"}\n')


def test_qwen_keeps_a_session_in_its_own_folder(tmp_path: Path) -> None:
    qwen = make_executor(config(ExecutorType.QWEN))
    for home, environ in (
        (tmp_path / ".qwen", {"HOME": str(tmp_path)}),
        (tmp_path / "own", {"HOME": str(tmp_path), "QWEN_HOME": str(tmp_path / "own")}),
    ):
        file = home / "projects/-repo/chats" / f"{CHOSEN.id}.jsonl"
        file.parent.mkdir(parents=True)
        file.touch()
        assert list(qwen.transcripts(CHOSEN.id, environ)) == [file]
        assert list(qwen.transcripts("another", environ)) == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.executor}: {case.title}")
def test_command_line(case: Case) -> None:
    executor = make_executor(case.config)
    made = launching(executor, case.verb)(request(case.session, as_root=case.as_root))
    assert made.argv == case.argv
    assert dict(made.env) == dict(case.env)
    assert made.stdin == ("" if case.verb is Verb.OPEN else PROMPT)
    assert made.cwd == Path("/repo")


SESSIONS = [
    (ExecutorType.CODEX, CHOSEN, (), ("resume", CHOSEN.id)),
    (ExecutorType.GEMINI, CHOSEN, ("--session-id",), ("--resume",)),
    (ExecutorType.OPENCODE, CHOSEN, ("--title", "sow-010"), ("-s", CHOSEN.id)),
    (ExecutorType.QWEN, CHOSEN, ("--session-id",), ("--resume",)),
    (
        ExecutorType.COPILOT,
        CHOSEN,
        ("--session-id", CHOSEN.id),
        ("-C", "/repo", f"--resume={CHOSEN.id}"),
    ),
    (ExecutorType.CLAUDE, CHOSEN, ("--session-id",), ("--resume",)),
    (ExecutorType.CURSOR, TODAY, ("--resume",), ("--resume",)),
    (ExecutorType.CURSOR, SEEDS, ("--chat-id",), ("--resume",)),
    (ExecutorType.COMMAND, CHOSEN, ("-p",), ("-c",)),
]


@pytest.mark.parametrize(("type_", "session", "spawn_words", "resume_words"), SESSIONS)
@pytest.mark.parametrize("yolo", [False, True])
@pytest.mark.parametrize("model", [None, "opus"])
@pytest.mark.parametrize("custom", [(), ("--effort", "low")])
@pytest.mark.parametrize("allowed", [(), ("Bash(make:*)",)])
def test_a_resume_carries_all_that_the_spawn_did(
    type_: ExecutorType,
    session: Session,
    spawn_words: tuple[str, ...],
    resume_words: tuple[str, ...],
    yolo: bool,
    model: str | None,
    custom: tuple[str, ...],
    allowed: tuple[str, ...],
) -> None:
    executor = make_executor(
        config(type_, yolo_mode=yolo, model=model, custom_args=custom, allowed_tools=allowed)
    )
    spawned = launch_argv(executor, Verb.SPAWN, session)
    resumed = launch_argv(executor, Verb.RESUME, session)
    assert [word for word in spawned if word not in spawn_words] == [
        word for word in resumed if word not in resume_words
    ]
    assert set(spawn_words) <= set(spawned)
    assert set(resume_words) <= set(resumed)


FULL = {"model": "opus", "custom_args": ("--x", "1"), "allowed_tools": ("Bash(make:*)",)}


@pytest.mark.parametrize("verb", [Verb.SPAWN, Verb.RESUME])
@pytest.mark.parametrize(("type_", "session"), [each[:2] for each in SESSIONS])
@pytest.mark.parametrize("yolo", [False, True])
def test_settings_reach_the_command_line(
    type_: ExecutorType, session: Session, verb: Verb, yolo: bool
) -> None:
    argv = launch_argv(make_executor(config(type_, yolo_mode=yolo, **FULL)), verb, session)
    bare = launch_argv(make_executor(config(type_)), verb, session)
    joined = " ".join(argv)
    assert ("--x", "1") in itertools.pairwise(argv)
    assert "--x" not in bare
    if type_ in {ExecutorType.CLAUDE, ExecutorType.CURSOR}:
        assert "--model opus" in joined
        assert "--model" not in bare
    flag = {ExecutorType.CLAUDE: "--dangerously-skip-permissions", ExecutorType.CURSOR: "--force"}
    if type_ in flag:
        assert (flag[type_] in argv) is yolo
    if type_ is ExecutorType.CLAUDE:
        assert ("Bash(make:*)" in joined) is not yolo


@pytest.mark.parametrize("type_", list(ExecutorType))
@pytest.mark.parametrize("verb", [Verb.SPAWN, Verb.RESUME])
def test_the_prompt_and_its_secrets_stay_out_of_argv_and_environment(
    type_: ExecutorType, verb: Verb
) -> None:
    executor = make_executor(config(type_, yolo_mode=True, **FULL))
    if verb is Verb.RESUME and not executor.supports_resumption:
        return
    launch = executor.spawn if verb is Verb.SPAWN else executor.resume
    made = launch(request(CHOSEN, as_root=True))
    assert not any(SECRET in word for word in (*made.argv, *made.env.values()))
    assert made.stdin == PROMPT


@pytest.mark.parametrize("type_", list(ExecutorType))
def test_a_launch_is_a_value(type_: ExecutorType) -> None:
    first, second = (make_executor(config(type_, **FULL)) for _ in range(2))
    assert first == second
    assert first.spawn(request(CHOSEN)) == second.spawn(request(CHOSEN))


@pytest.mark.parametrize("as_root", [False, True])
@pytest.mark.parametrize("yolo", [False, True])
def test_only_claude_as_root_with_yolo_is_told_that_it_is_in_a_sandbox(
    as_root: bool, yolo: bool
) -> None:
    for type_ in ExecutorType:
        made = make_executor(config(type_, yolo_mode=yolo)).spawn(request(CHOSEN, as_root=as_root))
        expected = as_root and yolo and type_ is ExecutorType.CLAUDE
        assert ("IS_SANDBOX" in made.env) is expected


def test_no_argument_of_the_user_can_be_taken_for_an_allowed_tool() -> None:
    """`--allowedTools` takes every word up to the next flag."""
    executor = make_executor(config(ExecutorType.CLAUDE, custom_args=("stray",)))
    argv = launch_argv(executor, Verb.SPAWN, CHOSEN)
    following = argv[argv.index("--allowedTools") + 2]
    assert following.startswith("--")


def test_claude_lets_an_agent_run_what_it_is_told_and_nothing_more() -> None:
    argv = launch_argv(make_executor(config(ExecutorType.CLAUDE)), Verb.SPAWN, CHOSEN)
    assert argv[argv.index("--allowedTools") + 1] == SOW_RULES
    bare = replace(request(CHOSEN), commands=())
    assert "--allowedTools" not in make_executor(config(ExecutorType.CLAUDE)).spawn(bare).argv


@pytest.mark.parametrize("type_", list(ExecutorType))
def test_a_missing_binary_is_told_with_its_name_and_remedy(
    type_: ExecutorType, tmp_path: Path
) -> None:
    executor = make_executor(config(type_))
    with pytest.raises(ExecutorBinaryNotFound) as caught:
        executor.validate_availability(str(tmp_path))
    error = caught.value
    assert error.message == f"executor binary not found: {executor.binary}"
    first = (
        f'Executor "{executor.name}" requires the {executor.binary} CLI to be installed and'
        " available on PATH."
    )
    assert error.hint.startswith(first + "\n\n")
    assert error.exit_code == 5


def test_the_seeds_words_for_a_missing_cursor_agent(tmp_path: Path) -> None:
    executor = make_executor(ExecutorConfig(name="cursor", type=ExecutorType.CURSOR))
    with pytest.raises(ExecutorBinaryNotFound) as caught:
        executor.validate_availability(str(tmp_path))
    lines = f"{caught.value.message}\n\n{caught.value.hint}".splitlines()
    assert lines[:4] == [
        "executor binary not found: cursor-agent",
        "",
        'Executor "cursor" requires the cursor-agent CLI to be installed and available on PATH.',
        "",
    ]
    assert lines[4].startswith("Install cursor-agent: ")


@pytest.mark.parametrize(
    "type_",
    [*BUILT_IN.values(), ExecutorType.COMMAND],
)
def test_an_installed_binary_is_found_on_the_path_given(type_: ExecutorType, bench: Bench) -> None:
    executor = make_executor(config(type_))
    program = bench.root.parent / "bin" / executor.binary
    if not program.exists():  # a CLI without a stand-in of its own
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    assert executor.validate_availability(bench.path) == str(program)


@pytest.mark.parametrize("type_", ExecutorType)
def test_a_person_takes_over_on_a_terminal_or_is_told_that_there_is_none(
    type_: ExecutorType,
) -> None:
    executor = make_executor(config(type_))
    if executor.has_terminal_mode:
        argv = executor.take_over(request(CHOSEN)).argv
        assert CHOSEN.id in argv
        assert not {"-p", "--print"} & set(argv)
        return
    with pytest.raises(OpeningNotSupported, match="has no interactive mode") as refusal:
        executor.take_over(request(CHOSEN))
    assert "sow agent resume 010" in refusal.value.hint


@pytest.mark.parametrize("type_", ExecutorType)
def test_a_person_begins_on_a_terminal_or_is_told_that_there_is_none(type_: ExecutorType) -> None:
    executor = make_executor(config(type_))
    begun = replace(request(CHOSEN), instructions="Lead it.")
    if executor.has_terminal_mode:
        argv = executor.begin_on_terminal(begun).argv
        assert argv[-1].endswith(PROMPT)
        assert any("Lead it." in word for word in argv)
        assert not {"-p", "--print"} & set(argv)
        return
    with pytest.raises(BeginningNotSupported, match="has no interactive mode") as refusal:
        executor.begin_on_terminal(begun)
    assert "sow start --headless" in refusal.value.hint


def test_claude_begins_with_its_rules_and_what_the_user_adds_to_its_instructions() -> None:
    custom = ("--append-system-prompt", "Be brief.", "--effort", "low")
    claude = make_executor(config(ExecutorType.CLAUDE, custom_args=custom))
    begun = replace(request(CHOSEN), instructions="Lead it.")
    asking = ("--permission-mode", "acceptEdits", "--allowedTools", SOW_RULES)
    assert claude.begin_on_terminal(begun).argv == (
        *("claude", *asking, "--session-id", CHOSEN.id, "--effort", "low"),
        *("--append-system-prompt", "Be brief.\n\nLead it.", "--", PROMPT),
    )


@pytest.mark.parametrize(
    "executor",
    [
        make_executor(config(ExecutorType.WINDSURF)),
        make_executor(config(ExecutorType.COMMAND, resume=())),
    ],
    ids=["windsurf", "command"],
)
def test_without_resumption_a_resume_is_refused(executor: Executor) -> None:
    assert not executor.supports_resumption
    assert executor.session_source is SessionSource.NONE
    with pytest.raises(ResumptionNotSupported, match="does not support session resumption"):
        executor.resume(request(None))
    with pytest.raises(ValueError, match="keeps no sessions"):
        executor.create_session(lambda _argv: "")


@pytest.mark.parametrize("type_", [ExecutorType.CLAUDE, ExecutorType.CURSOR])
def test_a_launch_without_its_session_is_a_mistake_of_ours(type_: ExecutorType) -> None:
    with pytest.raises(ValueError, match="none was given"):
        make_executor(config(type_)).spawn(request(None))


@pytest.mark.parametrize("row", SESSION_ROWS, ids=lambda row: row.executor)
def test_where_sessions_come_from(row: SessionRow) -> None:
    executor = make_executor(row.config)
    assert executor.session_source is row.source
    assert executor.supports_resumption is row.resumes


def test_a_command_has_sessions_where_it_asks_for_one() -> None:
    source = {
        "mentions": make_executor(config(ExecutorType.COMMAND, command=("a", "{session_id}"))),
        "resumes": make_executor(config(ExecutorType.COMMAND)),
        "neither": make_executor(config(ExecutorType.COMMAND, resume=())),
    }
    assert {name: executor.session_source for name, executor in source.items()} == {
        "mentions": SessionSource.CHOSEN,
        "resumes": SessionSource.CHOSEN,
        "neither": SessionSource.NONE,
    }


@pytest.mark.few(6)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("type_", "dialect"),
    [
        (ExecutorType.CLAUDE, "today"),
        (ExecutorType.GEMINI, "today"),
        (ExecutorType.QWEN, "today"),
        (ExecutorType.CODEX, "today"),
        (ExecutorType.COPILOT, "today"),
        (ExecutorType.CURSOR, "today"),
        (ExecutorType.CURSOR, "seeds"),
        (ExecutorType.COMMAND, "today"),
    ],
)
@pytest.mark.parametrize("yolo", [False, True])
def test_a_session_is_created_begun_and_continued(
    type_: ExecutorType, dialect: str, yolo: bool, benches: dict[str, Bench]
) -> None:
    bench = benches[dialect]
    write_script(bench.root, [[{"say": "one"}], [{"say": "two"}]])
    settings: dict[str, object] = {"yolo_mode": yolo, "model": "opus"}
    if type_ is ExecutorType.COMMAND:
        shape = ("claude", "-p", "--output-format", "stream-json", "--verbose")
        settings = {
            "command": (*shape, "--session-id", "{session_id}"),
            "resume": (*shape, "--resume", "{session_id}"),
        }
    executor = make_executor(config(type_, **settings))
    kept = None
    if executor.session_source is not SessionSource.LEARNED:
        session = executor.create_session(bench.run_command)
        kept = replace(session, dialect=str(session.dialect) if session.dialect else None)

    begun = bench.run(executor, executor.spawn(bench.request(kept, "First.")))
    kept = kept or Session(begun.seen.session_id or "")
    continued = bench.run(executor, executor.resume(bench.request(kept, "Second.")))

    assert [run.verb for run in read_runs(bench.root)] == ["spawn", "resume"]
    assert [run.prompt for run in read_runs(bench.root)] == ["First.", "Second."]
    assert {run.session_id for run in read_runs(bench.root)} == {kept.id}
    for outcome, last_text in ((begun, "one"), (continued, "two")):
        assert outcome.ending.code == 0
        assert outcome.seen.session_id == kept.id
        assert outcome.seen.last_text == last_text
        assert outcome.seen.result is not None
        assert not outcome.seen.result.is_error


@pytest.mark.slow
@pytest.mark.parametrize("yolo", [False, True])
def test_a_session_that_the_output_tells_is_continued(yolo: bool, bench: Bench) -> None:
    write_script(bench.root, [[{"say": "one"}], [{"say": "two"}]])
    executor = make_executor(config(ExecutorType.OPENCODE, yolo_mode=yolo, model="a/b"))
    begun = bench.run(executor, executor.spawn(bench.request(None, "First.")))
    assert begun.seen.session_id is not None
    session = Session(begun.seen.session_id)
    continued = bench.run(executor, executor.resume(bench.request(session, "Second.")))

    assert [run.verb for run in read_runs(bench.root)] == ["spawn", "resume"]
    assert [run.prompt for run in read_runs(bench.root)] == ["First.", "Second."]
    for outcome, last_text in ((begun, "one"), (continued, "two")):
        assert outcome.ending.code == 0
        assert outcome.seen.session_id == session.id
        assert outcome.seen.has_begun
        assert outcome.seen.last_text == last_text
        assert outcome.seen.has_finished_turn
    unknown = bench.run(executor, executor.resume(bench.request(CHOSEN)))
    assert unknown.verdict.cause is Cause.SESSION_UNKNOWN


@pytest.fixture
def benches(bench: Bench, tmp_path: Path) -> dict[str, Bench]:
    other = tmp_path / "seeds"
    other.mkdir()
    return {"today": bench, "seeds": make_bench(other, CursorDialect.SEEDS)}


def test_a_windsurf_run_is_read_as_text(bench: Bench) -> None:
    write_script(
        bench.root, [[{"say": "thinking"}, {"noise": '{"type":"system","subtype":"init"'}]]
    )
    executor = make_executor(config(ExecutorType.WINDSURF, custom_args=("--cascade",)))
    outcome = bench.run(executor, executor.spawn(bench.request(None)))
    assert outcome.ending.code == 0
    assert {event.kind for event in outcome.events} == {EventKind.TEXT}
    assert outcome.events[0].text == "thinking"
    assert read_runs(bench.root)[0].argv == ("--cascade",)


@pytest.mark.slow
def test_sessions_made_one_after_another_differ(bench: Bench) -> None:
    for type_ in (ExecutorType.CLAUDE, ExecutorType.CURSOR, ExecutorType.COMMAND):
        executor = make_executor(config(type_))
        ids = [executor.create_session(bench.run_command).id for _ in range(3)]
        assert len(set(ids)) == 3


def test_no_row_of_the_table_stands_twice() -> None:
    for first, second in itertools.combinations(CASES, 2):
        assert (first.executor, first.title) != (second.executor, second.title)
