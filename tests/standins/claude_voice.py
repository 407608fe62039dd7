"""How Claude Code 2.1.197 talks: its events, its words for failures (measured)."""

import json
import os

from conversation import TOKENS, Conversation, new_id, write

VERSION = "2.1.197"
CUMULATIVE = "2.1.330"
"""The version whose totals count the whole session (measured)."""
API = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
}
BY_MODEL = {
    "input": "inputTokens",
    "output": "outputTokens",
    "cache_read": "cacheReadInputTokens",
    "cache_write": "cacheCreationInputTokens",
}
DOLLARS = {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}
"""What a million tokens cost here, whatever the model."""
API_ERRORS = {
    400: "API Error: 400 The request was invalid",
    402: "Credit balance is too low",
    401: "Invalid API key · Fix external API key",
    403: "Failed to authenticate. API Error: 403 forbidden",
    404: "There's an issue with the selected model ({model}). It may not exist or you may not "
    "have access to it. Run --model to pick a different model.",
    413: "Prompt is too long",
    429: "API Error: Request rejected (429) · rate limited",
}
API_ERROR = (
    "API Error: {status} overloaded. This is a server-side issue, usually temporary"
    " — try again in a moment."
)
SAID_AS_400 = (402, 413)
"""Ours: the API says 400 where there is no credit, or a prompt is too long, in words of its own."""
UNREACHABLE = "API Error: Unable to connect to API (ConnectionRefused)"
RETRY_ERRORS = {
    401: "authentication_failed",
    429: "rate_limit",
    500: "server_error",
    529: "overloaded",
}


def cost_of(tokens):
    """What tokens cost, in dollars."""
    return sum(tokens.get(kind, 0) * DOLLARS[kind] for kind in TOKENS) / 1_000_000


class ClaudeConversation(Conversation):
    """Speaks stream-json, json or text."""

    cli = "claude"

    def __init__(self, *, output, model, mode, budget=None, **rest):
        super().__init__(**rest)
        self.version = VERSION
        self.budget = budget
        self.output = output
        self.model = model or self._first_model() or "claude-standin-1"
        self.mode = mode
        self.failed_requests = 0
        self.nested_env = {
            "CLAUDECODE": "1",
            "CLAUDE_CODE_ENTRYPOINT": "sdk-cli",
            "CLAUDE_CODE_CHILD_SESSION": "1",
            "CLAUDE_CODE_SESSION_ID": self.session_id,
            "AI_AGENT": "claude-code",
        }

    def _first_model(self):
        """The model of the first run is restored on a resume (measured)."""
        if not os.path.exists(self.transcript):
            return None
        with open(self.transcript, "rb") as lines:
            return json.loads(lines.readline()).get("model")

    def begin(self):
        """Open the session and announce it."""
        if not os.path.exists(self.transcript):
            first = {"type": "session", "cwd": os.getcwd(), "model": self.model}
            self.keep(json.dumps(first).encode() + b"\n")
        asked = {"type": "user", "message": {"role": "user", "content": self.prompt}}
        self.keep(json.dumps(asked).encode() + b"\n")
        self._event(
            "system",
            subtype="init",
            cwd=os.getcwd(),
            tools=["Bash", "Edit", "Read", "Write"],
            model=self.model,
            permissionMode=self.mode,
            apiKeySource="ANTHROPIC_API_KEY",
            claude_code_version=self.version,
        )

    def say(self, text):
        """One assistant message of text."""
        self.last_text = text
        self._assistant({"type": "text", "text": text})

    def tool_started(self, call, tool, arguments):
        """One assistant message that calls a tool."""
        self._assistant({"type": "tool_use", "id": call, "name": tool, "input": arguments})

    def tool_ended(self, call, output, *, is_error):
        """The tool's answer."""
        content = {
            "type": "tool_result",
            "content": output,
            "is_error": is_error,
            "tool_use_id": call,
        }
        self._event("user", message={"role": "user", "content": [content]})

    def tool_denied(self, call, tool, arguments):
        """The refusal of a tool; the run goes on."""
        self.denials.append({"tool_name": tool, "tool_use_id": call, "tool_input": arguments})
        self.tool_ended(call, "This command requires approval", is_error=True)

    def api_retry(self, status):
        """A failed request that will be tried again."""
        self.failed_requests += 1
        self._event(
            "system",
            subtype="api_retry",
            attempt=self.failed_requests,
            max_retries=10,
            retry_delay_ms=500.0,
            error_status=status,
            error=RETRY_ERRORS.get(status, "unknown"),
        )

    def rate_limit(self, resets_at):
        """The account's limit is reached."""
        info = {"status": "rejected", "resetsAt": resets_at, "rateLimitType": "five_hour"}
        self._event("rate_limit_event", rate_limit_info=info)

    def api_failure(self, status):
        """The request failed for good: the words become text and result; returns exit code 1."""
        words = API_ERRORS.get(status, API_ERROR) if status else UNREACHABLE
        text = words.format(model=self.model, status=status)
        self.say(text)
        self.finish(text, is_error=True, status=400 if status in SAID_AS_400 else status)
        return 1

    def not_logged_in(self):
        """No key."""
        self.finish("Not logged in · Please run /login", is_error=True)
        return 1

    def finish(self, text, *, is_error=False, status=None, terminal="completed"):
        """The last word, in the format that was asked for."""
        result = {
            "type": "result",
            "subtype": "success" if terminal == "completed" else "error_during_execution",
            "is_error": is_error,
            "api_error_status": status,
            "num_turns": self.turns,
            **({"result": text} if terminal == "completed" else {"errors": [text]}),
            "session_id": self.session_id,
            **self._totals(is_error),
            "permission_denials": self.denials,
            "terminal_reason": terminal,
        }
        if self.output == "text":
            write(text.encode(errors="surrogateescape") + b"\n")
        elif self.output == "json":
            write(json.dumps(result).encode() + b"\n")
        else:
            self.emit(result)

    def on_interrupt(self):
        """Measured: 0 in text mode, 1 with stream-json."""
        self.finish("Execution error", is_error=True, terminal="aborted_tools")
        return 0 if self.output == "text" else 1

    def _assistant(self, content):
        self.turns += 1
        self.failed_requests = 0
        message = {"role": "assistant", "model": self.model, "content": [content]}
        if self.uses:
            self.use()
            usage = {API[kind]: self.uses.get(kind, 0) for kind in TOKENS}
            message |= {"id": f"msg_{new_id()}", "usage": usage}
        self._event("assistant", message=message)

    def is_over_budget(self):
        """Whether `--max-budget-usd` is spent, which counts each run by itself (measured)."""
        return self.budget is not None and cost_of(self.used) >= self.budget

    def budget_reached(self):
        """The last word of a run whose own budget is spent; returns its exit code."""
        self.finish(
            f"Reached maximum budget (${self.budget:g})",
            is_error=True,
            terminal="budget_exhausted",
        )
        return 1

    def _totals(self, is_error):
        """What was used: of this run, and from 2.1.330 on of the session's (measured)."""
        if not any(self.used.values()) and not self._earlier():
            usage = {"input_tokens": 10, "output_tokens": 5}
            return {"total_cost_usd": 0.0 if is_error else 0.01, "usage": usage}
        before = self._earlier() if self.version == CUMULATIVE else {}
        total = {kind: self.used[kind] + before.get(kind, 0) for kind in TOKENS}
        self._keep_totals(total)
        by_model = {BY_MODEL[kind]: total[kind] for kind in TOKENS}
        return {
            "total_cost_usd": cost_of(total),
            "usage": {API[kind]: self.used[kind] for kind in TOKENS},
            "modelUsage": {self.model: {**by_model, "costUSD": cost_of(total)}},
        }

    def _earlier(self):
        """What the session's runs have used that came to an end."""
        path = f"{self.transcript}.totals"
        if not os.path.exists(path):
            return {}
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def _keep_totals(self, total):
        if self.version == CUMULATIVE and os.path.exists(self.transcript):
            with open(f"{self.transcript}.totals", "w", encoding="utf-8") as file:
                json.dump(total, file)

    def _event(self, kind, **fields):
        self.emit({"type": kind, **fields, "session_id": self.session_id, "uuid": new_id()})
