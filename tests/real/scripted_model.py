"""A model that carries out a task's protocol and nothing else, answering from the request.

Owns the reading of a conversation and the choice of the next answer. What it
knows of the task stands in the prompt it received: it must find the id there.
Knows nothing of HTTP; the server keeps the one fact between two requests, the
tool use that still lacks its result.
"""

import json
import re
from dataclasses import dataclass, replace
from typing import Any

from messages_api import Answer
from repeating_model import NothingToPutIn, Use, next_use

Json = dict[str, Any]

TASK_PATH = re.compile(r"\.sow/project/phases/[a-z0-9-]+/tasks/([0-9]{3,})")
TASK_WORDS = re.compile(r"\b[Tt]ask ([0-9]{3,})\b")

SHELL_TOOL = "Bash"
REPORT = (
    'sow agent log "Read the task; nothing is in the way"',
    "sow task set --id {task_id} status needs_review",
)
"""What an agent that does its job runs, one shell command a turn."""

OTHER_TOOL = re.compile(r"!(\w+) (\{.*\})", re.DOTALL)
HANG = "tail -f /dev/null"
"""A command that never ends. (Claude Code 2.1.330 refuses a mere `sleep`.)"""


class BadConversation(Exception):
    """The request is not what a client of the Messages API may send; the words say why."""


@dataclass(frozen=True)
class Behaviour:
    """How the model behaves, as the test's `behaviour.json` says it.

    `status` and `cut` are faults: an HTTP error, or a stream that breaks off
    after so many events. They befall the first `times` requests of the main loop, or all for None.
    """

    commands: tuple[str, ...] = REPORT
    """Shell commands, one a turn, each with `{task_id}` for the id in the prompt. Another tool is
    used by `!NAME {"its": "input"}`."""
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    """What responses of the main loop carry besides their body; `{soon}` is a time, in seconds
    since the epoch."""
    cut: int | None = None
    times: int | None = None
    in_background: tuple[str, ...] = ()
    """Which of the commands are to run in the background."""
    forgives: bool = False
    """Whether a tool use may go without its result, because its process was killed."""
    leader: str = ""
    """The words by which the prompt of the agent is known that leads the project. It takes no
    `commands`: it repeats what sow prints (`repeating_model`)."""
    orders: tuple[str, ...] = ()
    """What the leader does instead, one a turn, in the form of `commands`."""
    answers: tuple[tuple[str, str], ...] = ()
    """What the leader puts in for each `<…>`."""
    files: tuple[tuple[str, str], ...] = ()
    """The text of each file that an answer names; the leader writes it first."""


@dataclass(frozen=True)
class Conversation:
    """The part of a request's body that the model reads."""

    prompts: tuple[str, ...]
    """What the user said, oldest first, without what the client adds for itself."""
    tool_uses: tuple[str, ...]
    """Ids of the tools used since the last prompt."""
    tool_results: frozenset[str]
    """Ids that have a result, anywhere."""
    done: tuple[Use, ...] = ()
    """The tools used since the last prompt, with what they printed."""

    @property
    def task_id(self) -> str:
        """The id in the latest prompt that names one."""
        for prompt in reversed(self.prompts):
            found = TASK_PATH.search(prompt) or TASK_WORDS.search(prompt)
            if found:
                return found.group(1)
        raise BadConversation("no prompt names a task")


def quota(status: str, resets_at: str = "1893456000") -> tuple[tuple[str, str], ...]:
    """Return the headers that tell a subscriber where the quota stands.

    `status` is allowed, allowed_warning or rejected; `resets_at` is in seconds
    since the epoch, or `{soon}`. Names read in the 2.1.197 binary.
    """
    return (
        ("anthropic-ratelimit-unified-status", status),
        ("anthropic-ratelimit-unified-reset", resets_at),
        ("anthropic-ratelimit-unified-representative-claim", "five_hour"),
        ("anthropic-ratelimit-unified-5h-reset", resets_at),
        ("anthropic-ratelimit-unified-5h-utilization", "0.93"),
        ("anthropic-ratelimit-unified-5h-surpassed-threshold", "0.9"),
    )


def is_main_loop(body: Json) -> bool:
    """Whether the request is the agent at work, not a title or a quota check on the side."""
    return any(tool.get("name") == SHELL_TOOL for tool in body.get("tools") or ())


def read_conversation(body: Json) -> Conversation:
    """Read a request's messages.

    Raises BadConversation where a tool use is not answered in the next message.
    """
    prompts: list[str] = []
    uses: dict[str, Use] = {}
    results: set[str] = set()
    unanswered: set[str] = set()
    for message in body["messages"]:
        blocks = _blocks(message)
        if message["role"] == "system":
            continue
        if message["role"] == "assistant":
            asked = [block for block in blocks if block["type"] == "tool_use"]
            unanswered = {block["id"] for block in asked}
            uses |= {block["id"]: Use(block["name"], block["input"]) for block in asked}
            continue
        answered = set()
        for block in blocks:
            if block["type"] == "tool_result":
                answered.add(block["tool_use_id"])
                _add_output(uses, block)
        if unanswered - answered:
            raise BadConversation(f"no tool_result for {sorted(unanswered - answered)}")
        results |= answered
        words = "\n".join(filter(None, map(_words, blocks)))
        if words and not answered:
            prompts.append(words)
            uses = {}
    return Conversation(tuple(prompts), tuple(uses), frozenset(results), tuple(uses.values()))


def _add_output(uses: dict[str, Use], block: Json) -> None:
    """Add what a tool has printed to its use; that of an earlier prompt's is passed over."""
    use = uses.get(block["tool_use_id"])
    if use is not None:
        parts = _blocks({"content": block.get("content") or ""})
        output = "\n".join(str(part.get("text", "")) for part in parts)
        uses[block["tool_use_id"]] = replace(use, output=output)


def next_answer(conversation: Conversation, behaviour: Behaviour, *, number: int) -> Answer:
    """Return the model's next turn: one more command, or its closing words.

    `number` makes the ids of this answer unique.
    """
    answer_id = f"msg_{number:04d}"
    leads = bool(behaviour.leader) and behaviour.leader in conversation.prompts[0]
    if leads and not behaviour.orders:
        return _led(conversation, behaviour, answer_id, number)
    done, commands = len(conversation.tool_uses), behaviour.commands
    if leads:
        commands = behaviour.orders
    if done >= len(commands):
        return Answer(answer_id, "I have reported the task's status.")
    template = commands[done]
    task_id = conversation.task_id if "{task_id}" in template else ""
    tool, tool_input = _use(template.replace("{task_id}", task_id))
    if template in behaviour.in_background:
        tool_input["run_in_background"] = True
    return Answer(
        answer_id,
        f"Step {done + 1}.",
        tool=tool,
        tool_use_id=f"toolu_{number:04d}",
        tool_input=tool_input,
    )


def _led(conversation: Conversation, behaviour: Behaviour, answer_id: str, number: int) -> Answer:
    """Return the next turn of who leads the project."""
    prompt, tables = conversation.prompts[-1], (dict(behaviour.answers), dict(behaviour.files))
    try:
        use = next_use(prompt, conversation.done, *tables)
    except NothingToPutIn as missing:
        raise BadConversation(f"nobody can tell what to put in: {missing}") from missing
    if use is None:
        return Answer(answer_id, "The project has ended.")
    words = f"Step {len(conversation.done) + 1}."
    use_id = f"toolu_{number:04d}"
    return Answer(answer_id, words, tool=use.tool, tool_use_id=use_id, tool_input=use.input)


def _use(command: str) -> tuple[str, Json]:
    """Return the tool that a command stands for, with its input."""
    other = OTHER_TOOL.fullmatch(command)
    if other is not None:
        return other[1], json.loads(other[2])
    return SHELL_TOOL, {"command": command, "description": "Follow the task's protocol"}


def side_answer(body: Json, *, number: int) -> Answer:
    """Return a harmless answer to a request beside the main loop."""
    wants_json = "format" in body.get("output_config", {}) or "output_format" in body
    text = '{"title": "A task", "isNewTopic": false}' if wants_json else "A task"
    return Answer(f"msg_{number:04d}", text)


def _blocks(message: Json) -> list[Json]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _words(block: Json) -> str:
    text = str(block.get("text", "")) if block["type"] == "text" else ""
    return "" if text.lstrip().startswith("<system-reminder>") else text
