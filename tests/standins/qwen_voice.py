"""How Qwen Code 0.24.4 talks: its events, its words for failures (measured)."""

import json
import os

from conversation import TOKENS, Conversation, complain, new_id

VERSION = "0.24.4"
TOOLS = {"Bash": "run_shell_command", "Write": "write_file"}
DECLINED = (
    'Qwen Code requires permission to use "{tool}", but that permission was declined'
    " (non-interactive mode cannot prompt for confirmation)."
)
NO_AUTH = (
    "No auth type is selected. Please configure an auth type (e.g. via settings or"
    " `--auth-type`) before running in non-interactive mode."
)
UNREACHABLE = "[API Error: Connection error.]"


class QwenConversation(Conversation):
    """Speaks stream-json."""

    cli = "qwen"

    def __init__(self, *, model, mode, **rest):
        super().__init__(**rest)
        self.model = model
        self.mode = mode
        self.failed_requests = 0
        self.nested_env = {"QWEN_CODE": "1", "QWEN_CODE_SESSION_ID": self.session_id}

    def begin(self):
        """Open the session and announce it."""
        asked = {"type": "user", "message": {"role": "user", "content": self.prompt}}
        self.keep(json.dumps(asked).encode() + b"\n")
        self._event(
            "system",
            subtype="init",
            cwd=os.getcwd(),
            tools=["read_file", "edit", "write_file", "run_shell_command"],
            mcp_servers=[],
            model=self.model,
            permission_mode=self.mode,
            qwen_code_version=VERSION,
        )
        state = {"v": 2, "goal": None, "activity": "idle"}
        self._event("stream_event", event={"type": "goal_state", "goal_state": state})

    def say(self, text):
        """One assistant message of text."""
        self.last_text = text
        self._assistant({"type": "text", "text": text})

    def tool_started(self, call, tool, arguments):
        """One assistant message that calls a tool."""
        name = TOOLS.get(tool, tool)
        self._assistant({"type": "tool_use", "id": call, "name": name, "input": arguments})

    def tool_ended(self, call, output, *, is_error):
        """The tool's answer."""
        content = {"type": "tool_result", "tool_use_id": call, "is_error": is_error}
        self._event("user", message={"role": "user", "content": [{**content, "content": output}]})

    def tool_denied(self, call, tool, arguments):
        """The refusal of a tool; the run goes on."""
        name = TOOLS.get(tool, tool)
        self.denials.append({"tool_name": name, "tool_use_id": call, "tool_input": arguments})
        self.tool_ended(call, DECLINED.format(tool=name), is_error=True)

    def api_retry(self, status):
        """A failed request that will be tried again; the status stands on stderr alone."""
        self.failed_requests += 1
        number = self.failed_requests
        facts = {"reason": "retry", "attempt": number, "maxRetries": 10, "delayMs": 60000}
        self._event(
            "system",
            subtype="retry",
            data={**facts, "discardedToolCalls": 0, "preserveText": False},
        )
        words = f"[API Error: {status} refused]" if status else UNREACHABLE
        complain(f"Retrying in 60s (attempt {number}/10): {words}")

    def rate_limit(self, _resets_at):
        """Nothing is shown of it."""

    def api_failure(self, status):
        """The request failed for good: the words become text and result; returns exit code 1."""
        words = f"[API Error: {status} refused]" if status else UNREACHABLE
        self._message({"type": "text", "text": words}, {"input_tokens": 0, "output_tokens": 0})
        self.finish(words, is_error=True)
        return 1

    def not_logged_in(self):
        """No key: a result with an id, and no session."""
        self.turns = 0
        self.forget()
        self.finish(NO_AUTH, is_error=True)
        return 1

    def finish(self, text, *, is_error=False, **_facts):
        """The last word; its usage is that of the whole session."""
        self._event(
            "result",
            subtype="error_during_execution" if is_error else "success",
            is_error=is_error,
            duration_ms=10,
            duration_api_ms=10,
            num_turns=self.turns,
            **({"error": {"message": text}} if is_error else {"result": text}),
            usage=_usage(self._session_total()),
            permission_denials=self.denials,
        )

    def on_interrupt(self):
        """The launcher dies by the signal."""
        return 130

    def _assistant(self, block):
        self.use()
        self._message(block, _usage(self.uses))

    def _message(self, block, usage):
        self.turns += 1
        message = {"id": new_id(), "type": "message", "role": "assistant", "model": self.model}
        reason = "tool_use" if block["type"] == "tool_use" else None
        self._event(
            "assistant",
            message={**message, "content": [block], "stop_reason": reason, "usage": usage},
        )

    def _session_total(self):
        """What the session's runs have used that came to an end, and this one."""
        path = f"{self.transcript}.totals"
        before = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                before = json.load(file)
        total = {kind: self.used[kind] + before.get(kind, 0) for kind in TOKENS}
        if os.path.exists(self.transcript):
            with open(path, "w", encoding="utf-8") as file:
                json.dump(total, file)
        return total

    def _event(self, kind, **fields):
        ids = {"uuid": new_id(), "session_id": self.session_id}
        parent = {} if kind in ("system", "result") else {"parent_tool_use_id": None}
        self.emit({"type": kind, **ids, **parent, **fields})


def _usage(tokens):
    """Return tokens in its words; those of the cache are a part of the input."""
    cached, output = tokens.get("cache_read", 0), tokens.get("output", 0)
    read = tokens.get("input", 0) + cached
    return {
        "input_tokens": read,
        "output_tokens": output,
        "cache_read_input_tokens": cached,
        "total_tokens": read + output,
    }
