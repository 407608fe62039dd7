"""Plays a fault script: what the agent says and does, step by step (README.md lists them)."""

import json
import os
import shlex
import signal
import time

import record
from conversation import complain, install_handlers, new_id, write
from shell import leave_behind, run_tool

WAIT_SECONDS = 900.0
"""Longer than a test may wait for anything: whoever waits at a gate is there until it opens."""
POLL_SECONDS = 0.01


class EndedError(Exception):
    """The script has ended the run; carries the exit code."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


def perform(conversation):
    """Play the script's steps for this run; return the exit code."""
    task = os.environ.get("SOW_TASK_ID") or record.prompt_task(conversation.prompt) or "unknown"
    number = record.claim_run(task)
    runs, extra_names = _load(task)
    record.append_start(conversation, task, number, extra_names)
    player = Player(conversation, task, number)
    install_handlers(conversation, player.log_end)
    steps = runs[min(number, len(runs)) - 1] if runs else good_agent(conversation.prompt)
    conversation.keeps = not any("keep_nothing" in step for step in steps)
    versions = [step["version"] for step in steps if "version" in step]
    conversation.version = versions[0] if versions else conversation.version
    conversation.begin()
    try:
        for step in steps:
            player.play(step)
        conversation.finish(conversation.last_text or "Done.")
        code = 0
    except EndedError as ending:
        code = ending.code
    player.log_end(code)
    return code


def good_agent(prompt):
    """What an agent does that has read its guidance."""
    role = os.environ.get("SOW_AGENT") or "implementer"
    if "guidance/" in prompt:
        role = prompt.split("guidance/", 1)[1].split("/", 1)[0]
    return [
        {"sow": ["prompt", f"guidance/{role}/base"]},
        {"say": "I have read my guidance and done the work."},
        {"sow": ["agent", "log", "Did the work"]},
        {"sow": ["task", "set", "status", "needs_review"]},
    ]


def _load(task):
    """Return (runs, names of variables to record)."""
    for name in (task, "default"):
        path = os.path.join(record.folder(), f"{name}.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                script = json.load(file)
            if isinstance(script, dict):
                return script["runs"], script.get("record_env", [])
            return script, []
    return [], []


class Player:
    """Plays steps; a step is an object whose first key names a method below."""

    def __init__(self, conversation, task, number):
        self.voice = conversation
        self.places = {"{task}": task, "{run}": str(number), "{session}": conversation.session_id}
        self.task = task
        self.number = number
        self.tools = []
        self.env = {**os.environ, **conversation.nested_env}

    def play(self, step):
        """Play one step."""
        name = next(iter(step))
        getattr(self, f"do_{name}")(self._fill(step[name]), step)

    def log_end(self, code):
        """Record that this process is about to end by itself."""
        denied = [denial["tool_name"] for denial in self.voice.denials]
        record.append(
            "end", task=self.task, run=self.number, exit=code, denied=denied, tools=self.tools
        )

    def _fill(self, value):
        if isinstance(value, str):
            for mark, text in self.places.items():
                value = value.replace(mark, text or "")
            return value
        if isinstance(value, list):
            return [self._fill(item) for item in value]
        return value

    # what the agent says

    def do_say(self, text, _step):
        self.voice.say(text)
        self._end_over_budget()

    def do_result(self, text, _step):
        """A result line before the run's end, as with background tasks."""
        self.voice.finish(text)

    def do_version(self, _version, _step):
        """Its meaning is in force from the run's beginning."""

    def do_use(self, tokens, _step):
        """What each message from here on uses."""
        self.voice.uses = tokens

    def do_noise(self, text, _step):
        write(text.encode(errors="surrogateescape"))

    def do_bytes(self, count, _step):
        line = "x" * 4000
        written = 0
        while written < count:
            self.voice.say(line[: count - written])
            written += len(line)

    def do_stderr(self, text, _step):
        write(text.encode(errors="surrogateescape"), 2)

    def do_api_retry(self, status, _step):
        self.voice.api_retry(status)

    def do_rate_limit(self, resets_at, step):
        self.voice.rate_limit(int(time.time()) + step["in"] if "in" in step else resets_at)

    # what the agent does with its tools

    def do_sow(self, words, step):
        self.do_shell(shlex.join(["sow", *words]), step)

    def do_shell(self, command, _step):
        arguments = {"command": command}
        call = self._call("Bash", arguments)
        self._end_over_budget()
        if not self.voice.permissions.allows_shell(command):
            self.voice.tool_denied(call, "Bash", arguments)
            self.tools.append({"command": command, "exit": None, "output": ""})
            return
        code, output = run_tool(command, self.env)
        self.tools.append({"command": command, "exit": code, "output": output[-4000:]})
        shown = output if code == 0 else f"Exit code {code}\n{output}"
        self.voice.tool_ended(call, shown, is_error=code != 0)

    def do_write(self, value, _step):
        path, text = value
        arguments = {"file_path": os.path.join(os.getcwd(), path), "content": text}
        call = self._call("Write", arguments)
        if not self.voice.permissions.allows_write(path):
            self.voice.tool_denied(call, "Write", arguments)
            return
        if os.path.dirname(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        self.voice.tool_ended(call, f"File created at: {path}", is_error=False)

    def do_deny(self, tool, _step):
        arguments = {"command": "standin"}
        self.voice.tool_denied(self._call(tool, arguments), tool, arguments)

    def _call(self, tool, arguments):
        call = f"toolu_{new_id()[:13]}"
        self.voice.tool_started(call, tool, arguments)
        return call

    # what the test arranges: no tool, never denied

    def do_background(self, command, _step):
        leave_behind(command, self.env)

    def do_touch(self, path, _step):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644))

    def do_wait_for(self, path, step):
        deadline = time.monotonic() + step.get("timeout", WAIT_SECONDS)
        while not os.path.exists(path):
            if time.monotonic() > deadline:
                complain(f"stand-in: nobody made {path} in time")
                raise EndedError(70)
            time.sleep(POLL_SECONDS)

    def do_sleep(self, seconds, _step):
        time.sleep(seconds)

    def do_ignore(self, names, _step):
        for name in names:
            signal.signal(getattr(signal, f"SIG{name}"), signal.SIG_IGN)

    def do_close_fds(self, _value, _step):
        os.closerange(3, 1024)

    def do_keep_nothing(self, _value, _step):
        """Its meaning is in force from the run's beginning."""

    def do_aside(self, command, _step):
        run_tool(command, self.env)

    def do_keep_session(self, _value, _step):
        self.voice.keep_from_now_on()

    def do_forget_session(self, _value, _step):
        self.voice.forget()

    def do_empty_session(self, _value, _step):
        self.voice.keep(b"", anyway=True)

    # how the run ends

    def _end_over_budget(self):
        """The CLI looks after each answer whether its own budget is spent (measured)."""
        if self.voice.is_over_budget():
            raise EndedError(self.voice.budget_reached())

    def do_exit(self, code, _step):
        self.voice.finish(self.voice.last_text or "Done.")
        raise EndedError(code)

    def do_crash(self, code, _step):
        raise EndedError(code)

    def do_error_result(self, status, _step):
        raise EndedError(self.voice.api_failure(status))

    def do_not_logged_in(self, _value, _step):
        raise EndedError(self.voice.not_logged_in())

    def do_signal(self, number, _step):
        if number not in {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def do_hang(self, _value, _step):
        while True:
            signal.pause()
