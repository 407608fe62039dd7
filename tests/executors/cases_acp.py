"""The contract's rows of agents over ACP, with a scripted agent below the client of sow's own."""

import json
import sys
from shlex import quote

from case_forms import REAL, UUID, Case, Fault, SessionRow

from sow.executors.session import Session, SessionSource
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType, Preset
from sow.schema.job import Cause, Verb

ACP = (sys.executable, "-E", "-P", "-m", "sow.acp", "/run/acp.json")
ACP_OTHER = json.dumps({"id": 1, "result": {"protocolVersion": 2}})
ACP_FIT = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
ACP_LOGIN = {"id": 2, "error": {"code": -32000, "message": "Authentication required"}}
ACP_SAYS = {
    "method": "session/update",
    "params": {
        "sessionId": UUID,
        "update": {
            "sessionUpdate": "agent_message_chunk",
            "content": {"type": "text", "text": "That is all."},
        },
    },
}
ACP_ASKS = {
    "id": 0,
    "method": "session/request_permission",
    "params": {
        "sessionId": UUID,
        "toolCall": {"toolCallId": "1", "kind": "execute", "rawInput": {"command": "npm test"}},
        "options": [{"optionId": "no", "name": "No", "kind": "reject_once"}],
    },
}


def _acp(**settings: object) -> ExecutorConfig:
    return ExecutorConfig(name="my-agent", type=ExecutorType.ACP, **settings)


def _answer(message: dict[str, object]) -> str:
    return f"read request; echo {quote(json.dumps(message))}; "


def _acp_agent(*answers: dict[str, object], **settings: object) -> ExecutorConfig:
    """Return an agent that gives these answers over ACP, one for each request from the third on."""
    begun = {"sessionId": UUID, "modes": {"currentModeId": "yolo"}}
    steps = ""
    for message in ({"id": 1, "result": ACP_FIT}, {"id": 2, "result": begun}, *answers):
        # What is no update comes when it was asked for.
        steps += f"{'' if steps.endswith('update; ') else 'read request; '}"
        steps += f"echo {quote(json.dumps(message))}; "
        steps += ": update; " if "id" not in message else ""
    return _acp(command=("/bin/sh", "-c", f"{steps}cat > /dev/null"), **settings)


CASES = (
    Case(
        title="spawn, `preset: cline`",
        executor="acp",
        config=_acp(command=("cline", "--acp"), preset=Preset.CLINE),
        verb=Verb.SPAWN,
        argv=ACP,
        env=(("CLINE_SESSION_BACKEND_MODE", "local"),),
        evidence=REAL,
    ),
    Case(
        title="resume, `preset: pi` and `custom_args`",
        executor="acp",
        config=_acp(command=("pi-acp",), preset=Preset.PI, custom_args=("--effort", "low")),
        verb=Verb.RESUME,
        session=Session(UUID),
        argv=ACP,
        evidence=REAL,
    ),
)

SESSION_ROWS = (
    SessionRow(
        "acp",
        _acp(command=("a",)),
        SessionSource.LEARNED,
        True,
        "the agent's own, told before its prompt",
        REAL,
    ),
)

SETTINGS = (
    (
        *("acp", "whatever it asks for is allowed once", "RULES, by what it asks for", "refused"),
        *("refused", "the agent and its arguments", "refused"),
    ),
)
"""What each setting becomes, as in `compatibility.SETTINGS_HEADER`."""

FAULTS = tuple(
    Fault(title, config, (), cause, reason)
    for title, config, cause, reason in (
        (
            "ends its turn without a status",
            _acp_agent(ACP_SAYS, {"id": 3, "result": {"stopReason": "end_turn"}}),
            Cause.NO_STATUS,
            "without",
        ),
        (
            "a permission is refused",
            _acp_agent(ACP_ASKS, ACP_SAYS, {"id": 3, "result": {"stopReason": "end_turn"}}),
            Cause.DENIED,
            "npm test",
        ),
        (
            "ends its turn without a word and without a tool call",
            _acp_agent({"id": 3, "result": {"stopReason": "end_turn"}}),
            Cause.API_ERROR,
            "without a word",
        ),
        (
            "is cut off by a limit of its own",
            _acp_agent({"id": 3, "result": {"stopReason": "max_tokens"}}),
            Cause.API_ERROR,
            "max_tokens",
        ),
        (
            "authentication is required (-32000)",
            _acp_agent({"id": 3, "error": {"code": -32000, "message": "Log in first"}}),
            Cause.AUTH,
            "error -32000: Log in first",
        ),
        (
            "a request fails (-32603)",
            _acp_agent({"id": 3, "error": {"code": -32603, "message": "Internal error"}}),
            Cause.API_ERROR,
            "Internal error",
        ),
        (
            "would not ask for permission",
            _acp_agent({"id": 3, "result": {}}, preset=Preset.GEMINI),
            Cause.BAD_FLAGS,
            "its mode is yolo",
        ),
        (
            "speaks another version of the protocol",
            _acp(command=("/bin/sh", "-c", f"read request; echo {quote(ACP_OTHER)}; cat")),
            Cause.BAD_FLAGS,
            "speaks version 2",
        ),
        (
            "asks for a login when a session begins (-32000)",
            _acp(
                command=(
                    "/bin/sh",
                    "-c",
                    _answer({"id": 1, "result": ACP_FIT}) + _answer(ACP_LOGIN) + "cat",
                )
            ),
            Cause.AUTH,
            "agents.executors.my-agent.env",
        ),
        (
            "does not speak the protocol",
            _acp(command=("/bin/sh", "-c", "echo Welcome")),
            Cause.BAD_FLAGS,
            "'Welcome'",
        ),
        (
            "writes a line of text and ends with a failure",
            _acp(command=("/bin/sh", "-c", "echo Loaded cached credentials.; exit 1")),
            Cause.CRASHED,
            "Loaded cached credentials.",
        ),
        (
            "is killed in its wrapper before it has answered",
            _acp(command=("/bin/sh", "-c", "echo Hello; exit 137")),
            Cause.CRASHED,
            "exit code 137",
        ),
        (
            "writes of a limit and ends with a failure",
            _acp(command=("/bin/sh", "-c", "echo 'Error: 429 rate limit, try again'; exit 1")),
            Cause.RATE_LIMITED,
            "429 rate limit",
        ),
        (
            "writes of a login and ends with a failure",
            _acp(command=("/bin/sh", "-c", "echo 'Error: invalid API key'; exit 1")),
            Cause.AUTH,
            "agents.executors.my-agent.env",
        ),
        (
            "writes of a login and ends well",
            _acp(command=("/bin/sh", "-c", "echo 'Usage: gh auth login, for authentication'")),
            Cause.BAD_FLAGS,
            "does not speak ACP",
        ),
        (
            "ends in the middle of its work",
            _acp(command=("/bin/sh", "-c", "read request; exit 9")),
            Cause.CRASHED,
            "exit code 9",
        ),
        ("no such program", _acp(command=("no-such-agent",)), Cause.MISSING_BINARY, "no-such"),
    )
)
