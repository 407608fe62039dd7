"""Every way in which a run can end badly, played by the stand-ins and judged by the executors."""

import json
import os
import signal
from pathlib import Path

import pytest
from case_forms import UUID, Fault
from cli_bench import TAIL, Bench, judge
from executor_cases import FAULTS
from msgspec.structs import replace
from standins import read_runs, write_script

from sow.attempts.launch import denied_to_role
from sow.executors.base import Ending, Executor
from sow.executors.registry import make_executor
from sow.executors.session import Session, SessionSource
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType
from sow.schema.job import Cause

pytestmark = pytest.mark.slow  # each case starts a stand-in

RECORDINGS = Path(__file__).resolve().parents[1] / "recordings"


def claude(**settings: object) -> Executor:
    return make_executor(ExecutorConfig(name="claude-code", type=ExecutorType.CLAUDE, **settings))


def begin(bench: Bench, executor: Executor) -> Session | None:
    if executor.session_source in (SessionSource.NONE, SessionSource.LEARNED):
        return None
    return executor.create_session(bench.run_command)


@pytest.mark.few(40)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.config.type}: {fault.title}")
def test_verdict(fault: Fault, bench: Bench) -> None:
    write_script(bench.root, [list(fault.steps)])
    executor = make_executor(fault.config)
    outcome = bench.run(executor, executor.spawn(bench.request(begin(bench, executor))))
    assert outcome.verdict.cause is fault.cause
    assert fault.reason in outcome.verdict.reason
    assert outcome.verdict.resets_at == fault.resets_at
    assert len(outcome.verdict.reason) <= 600


RECORDED = [
    (fault, version)
    for fault in FAULTS
    if fault.recording
    for version in sorted(RECORDINGS.glob(f"{fault.config.type}-*"))
]


@pytest.mark.parametrize(
    ("fault", "version"),
    RECORDED,
    ids=[f"{version.name}: {fault.title}" for fault, version in RECORDED],
)
def test_the_real_cli_is_judged_as_its_stand_in(fault: Fault, version: Path) -> None:
    facts = json.loads((version / f"{fault.recording}.json").read_text(encoding="utf-8"))
    output = (version / f"{fault.recording}.jsonl").read_bytes()
    code, number = facts["exit_code"], facts["signal"]
    ending = Ending(code, number, facts["stderr"], output[-TAIL:].decode(errors="replace"))
    outcome = judge(make_executor(fault.config), ending, output)
    assert outcome.verdict.cause is fault.cause
    assert outcome.verdict.resets_at == fault.resets_at


def test_a_session_spawned_twice_is_in_use(bench: Bench) -> None:
    write_script(bench.root, [[{"say": "one"}]])
    executor = claude()
    session = executor.create_session(bench.run_command)
    bench.run(executor, executor.spawn(bench.request(session)))
    again = bench.run(executor, executor.spawn(bench.request(session)))
    assert again.verdict.cause is Cause.SESSION_IN_USE
    assert session.id in again.verdict.reason
    assert again.seen.session_id is None


def test_a_resume_of_a_session_that_never_began_is_unknown(bench: Bench) -> None:
    executor = claude()
    session = executor.create_session(bench.run_command)
    outcome = bench.run(executor, executor.resume(bench.request(session)))
    assert outcome.verdict.cause is Cause.SESSION_UNKNOWN
    assert outcome.seen.session_id is None, "a result that names a session does not begin it"


def test_a_session_that_was_lost_is_unknown_from_then_on(bench: Bench) -> None:
    write_script(bench.root, [[{"say": "one"}, {"forget_session": True}]])
    executor = claude()
    session = executor.create_session(bench.run_command)
    first = bench.run(executor, executor.spawn(bench.request(session)))
    second = bench.run(executor, executor.resume(bench.request(session)))
    assert first.seen.session_id == session.id
    assert second.verdict.cause is Cause.SESSION_UNKNOWN


@pytest.mark.skipif(os.geteuid() != 0, reason="the CLI refuses only root")
def test_root_needs_the_sandbox_variable(bench: Bench) -> None:
    write_script(bench.root, [[{"say": "free"}]])
    executor = claude(yolo_mode=True)
    request = bench.request(executor.create_session(bench.run_command))
    refused = bench.run(executor, executor.spawn(replace(request, as_root=False)))
    allowed = bench.run(executor, executor.spawn(replace(request, as_root=True)))
    assert refused.verdict.cause is Cause.BAD_FLAGS
    assert "cannot be used with root" in refused.verdict.reason
    assert allowed.ending.code == 0


def test_a_denied_tool_is_named_as_the_setting_takes_it(bench: Bench) -> None:
    write_script(bench.root, [[{"shell": "npm test"}, {"say": "x"}]])
    denied = claude()
    outcome = bench.run(denied, denied.spawn(bench.request(denied.create_session(str))))
    assert outcome.seen.denied_tools == ("Bash(npm test)",)
    assert "agents.executors.claude-code.settings.allowed_tools" in outcome.verdict.reason

    allowed = claude(allowed_tools=outcome.seen.denied_tools)
    outcome = bench.run(allowed, allowed.spawn(bench.request(allowed.create_session(str))))
    assert outcome.seen.denied_tools == ()


@pytest.mark.parametrize("type_", [ExecutorType.CLAUDE, ExecutorType.OPENCODE])
def test_an_agent_may_report_with_the_rules_that_sow_gives(
    type_: ExecutorType, bench: Bench
) -> None:
    commands = {
        "sow task set status needs_review": True,
        "sow agent log 'a; b | c'": True,
        "sow agent task state set-status paused": True,
        "sow prompt guidance/implementer/base": True,
        "sow project status && sow task show": True,
        "sow task abandon 020": True,  # sow itself refuses what is not its own
        "sow review accept 020": False,
        "sow agent spawn implementer 020": False,
        "sow agent logx": False,
        "sow config edit": False,
        'sow task set name "$(cat /etc/hostname)"': False,
        "SOW_TASK_ID=020 sow task set status failed": False,
        "sow worker list": True,  # below one that is refused
        "sow worker stop": False,
    }
    write_script(bench.root, [[{"shell": command} for command in commands]])
    executor = make_executor(ExecutorConfig(name="x", type=type_))
    bench.run(executor, executor.spawn(bench.request(begin(bench, executor))))
    ran = {tool.command: tool.exit is not None for tool in read_runs(bench.root)[0].tools}
    assert ran == commands


def test_gemini_lets_an_agent_report_and_refuses_the_rest(bench: Bench) -> None:
    commands = {
        "sow task set status needs_review": True,
        "sow agent log 'a; b | c'": True,
        'sow agent log "x" && sow task set status needs_review': True,
        "sow task show 010 2>&1": True,
        "sow task show 010 > file": False,
        "sow task show && touch file": False,
        'sow task set name "$(cat /etc/hostname)"': False,
        "sow agent spawn implementer 020": False,
        "sow agent logx": False,
        "sow worker stop": False,
    }
    write_script(bench.root, [[{"shell": command} for command in commands]])
    executor = make_executor(ExecutorConfig(name="gemini", type=ExecutorType.GEMINI))
    bench.run(executor, executor.spawn(bench.request(executor.create_session(str))))
    ran = {tool.command: tool.exit is not None for tool in read_runs(bench.root)[0].tools}
    assert ran == commands


def test_gemini_finds_a_session_in_its_folder_alone_and_begins_it_once(bench: Bench) -> None:
    write_script(bench.root, [[{"say": "one"}]])
    executor = make_executor(ExecutorConfig(name="gemini", type=ExecutorType.GEMINI))
    session = executor.create_session(str)
    request = bench.request(session)
    bench.run(executor, executor.spawn(request))
    again = bench.run(executor, executor.spawn(request))
    assert again.verdict.cause is Cause.SESSION_IN_USE
    (bench.root / "below").mkdir()
    elsewhere = replace(request, cwd=bench.root / "below")
    lost = bench.run(executor, executor.resume(elsewhere))
    assert lost.verdict.cause is Cause.SESSION_UNKNOWN
    assert bench.run(executor, executor.resume(request)).ending.code == 0


def test_what_a_prompt_names_reaches_gemini_as_text(bench: Bench) -> None:
    (bench.root / "NAME").write_text("what stands in the file", encoding="utf-8")
    write_script(bench.root, [[{"say": "one"}]])
    executor = make_executor(ExecutorConfig(name="gemini", type=ExecutorType.GEMINI))
    for prompt in ("See @NAME.", "/clear @NAME"):
        request = bench.request(executor.create_session(str), prompt)
        bench.run(executor, executor.spawn(request))
        launch = executor.spawn(replace(request, home=bench.root))
        [(name, text)] = launch.home_files.items()
        command = Path(bench.environ["HOME"], ".gemini", name)
        command.parent.mkdir(parents=True, exist_ok=True)
        command.write_text(text, encoding="utf-8")
        begun = bench.request(executor.create_session(str), prompt)
        bench.run(executor, replace(launch, argv=executor.spawn(begun).argv))
        escaped, given = (run.prompt for run in read_runs(bench.root)[-2:])
        assert escaped.strip() == prompt.replace("@", "\\@")
        assert given.endswith(f"\n{prompt}")


def test_what_an_agent_says_of_errors_is_not_an_error(bench: Bench) -> None:
    """An agent at work on a login page talks of 401 and of unknown options all day."""
    talk = "Session ID x is already in use. 401 Invalid API key. error: unknown option '--x'"
    write_script(bench.root, [[{"say": talk}, {"crash": 1}]])
    for type_ in (
        *(ExecutorType.CLAUDE, ExecutorType.GEMINI, ExecutorType.QWEN),
        *(ExecutorType.CURSOR, ExecutorType.WINDSURF),
    ):
        executor = make_executor(ExecutorConfig(name="x", type=type_))
        outcome = bench.run(executor, executor.spawn(bench.request(begin(bench, executor))))
        assert outcome.verdict.cause is Cause.CRASHED, type_


def test_for_several_commands_at_once_no_rule_is_named_that_allows_all_of_them(
    bench: Bench,
) -> None:
    write_script(bench.root, [[{"shell": "for name in *; do npm test; done"}]])
    denied = claude()
    outcome = bench.run(denied, denied.spawn(bench.request(denied.create_session(str))))
    assert outcome.seen.denied_tools == ("Bash",)
    assert "Bash alone allows every command" in outcome.verdict.reason


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_copilot_that_a_signal_has_ended_with_code_0_has_crashed(
    sign: signal.Signals, bench: Bench
) -> None:
    command = f"kill -{int(sign)} $PPID; sleep 30"
    write_script(bench.root, [[{"shell": command}]])
    copilot = make_executor(
        ExecutorConfig(name="copilot", type=ExecutorType.COPILOT, yolo_mode=True)
    )
    outcome = bench.run(copilot, copilot.spawn(bench.request(copilot.create_session(str))))
    assert outcome.ending.code == 0
    assert (outcome.seen.result is not None) is (sign is signal.SIGINT)
    assert outcome.verdict.cause is Cause.CRASHED


def test_codex_goes_on_in_another_thread_when_it_does_not_know_an_id(bench: Bench) -> None:
    write_script(bench.root, [[{"say": "one"}]])
    codex = make_executor(ExecutorConfig(name="codex", type=ExecutorType.CODEX))
    unknown = bench.run(codex, codex.resume(bench.request(Session(UUID))))
    assert unknown.verdict.cause is Cause.SESSION_UNKNOWN
    other = bench.run(codex, codex.resume(bench.request(Session("lost-one-letter"))))
    assert other.ending.code == 0
    assert other.seen.session_id not in (None, "lost-one-letter")


def test_an_agent_of_copilot_may_report_and_not_what_others_may(bench: Bench) -> None:
    commands = {
        "sow task set status needs_review": True,
        'sow agent log "a" && sow task set status paused': True,
        "sow worker list": True,
        "sow worker stop": False,
        "sow task show; touch made": False,
        "npm test": False,
    }
    write_script(bench.root, [[{"shell": command} for command in commands]])
    copilot = make_executor(ExecutorConfig(name="copilot", type=ExecutorType.COPILOT))
    request = replace(
        bench.request(copilot.create_session(str)), denied=denied_to_role("implementer")
    )
    bench.run(copilot, copilot.spawn(request))
    ran = {tool.command: tool.exit is not None for tool in read_runs(bench.root)[0].tools}
    assert ran == commands
