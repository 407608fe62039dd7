"""An agent that speaks the Agent Client Protocol as the real ones were recorded to do.

    acp_agent.py SCRIPT [login]

reads how it behaves from a file of JSON and writes every message that it gets to `SCRIPT.got`, a
line each. SCRIPT may be a folder, with a file for each task (`SOW_TASK_ID`.json). All keys are
optional:

    version, loads, resumes     what it says of itself (1, true, false)
    mode, modes                 the mode of a new session, and all of them
    mode_told                   how a mode is told once it was set: `option`, `update`, `words`,
                                or `never`
    options                     options of a session: values by id
    known                       the sessions that it can load
    session                     the id of a new one (`session-1`)
    replay, late_replay         updates before, and after, the answer to a load
    key                         a variable without which it asks for a login, unless there was one:
                                `login` makes the file SCRIPT.login
    new_error, load_error, prompt_error     an error in the place of an answer
    turn                        what happens when it is prompted, a list of steps
    turns                       the same for each turn, the last of them for all that follow: a list
                                of `{"turn": …, "stop": …}`
    stop, answer                the reason why the turn ends, and what stands in the answer besides
    late                        updates behind the answer
    runs                        what it does run by run, each with the keys of this list; the last
                                for all that follow. They are counted with those of the other
                                stand-ins, and noted where theirs are (`record`)
    store                       a folder that keeps its sessions: each has an id of its own
    stays                       it goes on when its input is closed
    last_words                  what it writes then, times a million
    stops_reading               it reads nothing more once it has begun a session
    deaf                        it does not heed a cancel

A step is `{"update": {…}}`, `{"ask": {"toolCall": …, "options": […]}}`, `{"say": text}`,
`{"run": command}` (by a shell), `{"touch": path}`, `{"request": method}`, `{"write": text}` (on
its output, as it is, `times` over), `{"exit": code}` or `{"hang": true}` (until a cancel, or the
end of its input). Knows nothing of sow but the names of its variables.
"""

import json
import os
import subprocess
import sys
import time
import uuid

OPTIONS = (
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "once", "name": "Yes", "kind": "allow_once"},
    {"optionId": "reject", "name": "No", "kind": "reject_once"},
)


class Started:
    """What is noted of a run; its prompt comes later."""

    cli = "asking"
    prompt = ""

    def __init__(self, verb, session_id):
        self.verb = verb
        self.session_id = session_id


class Agent:
    def __init__(self, path):
        self.task = os.environ.get("SOW_TASK_ID", "")
        path = os.path.join(path, f"{self.task}.json") if os.path.isdir(path) else path
        self.path = path
        with open(path, encoding="utf-8") as file:
            self.script = json.load(file)
        self.number = 0
        if runs := self.script.get("runs"):
            import record

            self.number = record.claim_run(self.task)
            self.script |= runs[min(self.number, len(runs)) - 1]
        self.store = self.script.get("store")
        self.got = open(f"{path}.got", "a", encoding="utf-8")  # noqa: SIM115 - as long as we live
        self.session = self.script.get("session", "session-1")
        self.mode = self.script.get("mode", "ask")
        self.options = dict(self.script.get("options", {}))
        self.asked = self.prompted = 0

    def get(self):
        """Return the next message; None where the input has ended."""
        line = sys.stdin.readline()
        if not line:
            return None
        self.got.write(line)
        self.got.flush()
        return json.loads(line)

    def send(self, **message):
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def update(self, update):
        self.send(method="session/update", params={"sessionId": self.session, "update": update})

    def say(self, text):
        content = {"type": "text", "text": text}
        self.update({"sessionUpdate": "agent_message_chunk", "content": content})

    def run(self):
        while message := self.get():
            handler = {
                "initialize": self.initialize,
                "session/new": self.new,
                "session/load": self.load,
                "session/resume": self.load,
                "session/set_mode": self.set_mode,
                "session/set_config_option": self.set_option,
                "session/prompt": self.prompt,
            }.get(message.get("method"))
            if handler is not None:
                handler(message["id"], message["params"])
        sys.stdout.write(self.script.get("last_words", "") * 1_000_000)
        sys.stdout.flush()
        while self.script.get("stays"):
            time.sleep(60)

    def initialize(self, number, _params):
        able = {"loadSession": self.script.get("loads", True)}
        if self.script.get("resumes"):
            able["sessionCapabilities"] = {"resume": {}}
        result = {"protocolVersion": self.script.get("version", 1), "agentCapabilities": able}
        if "key" in self.script:
            own = {"id": "own", "name": "Stand-in login", "description": "Run it with `login`"}
            result["authMethods"] = [own]
        self.send(id=number, result={**result, "agentInfo": {"name": "stand-in", "version": "1"}})

    def settings(self):
        modes = [{"id": mode, "name": mode} for mode in self.script.get("modes", [self.mode])]
        found = {"modes": {"currentModeId": self.mode, "availableModes": modes}}
        options = [{"id": name, "currentValue": value} for name, value in self.options.items()]
        if self.script.get("mode_told") == "option":
            options.append({"id": "mode", "category": "mode", "currentValue": self.mode})
        return {**found, "configOptions": options} if options else found

    def new(self, number, _params):
        is_logged_in = os.path.exists(f"{self.path}.login")
        if not is_logged_in and not os.environ.get(self.script.get("key", "PATH")):
            self.send(id=number, error={"code": -32000, "message": "Authentication required"})
            return
        if "new_error" in self.script:
            self.send(id=number, error=self.script["new_error"])
            return
        if self.store:
            self.session = str(uuid.uuid4())
            os.makedirs(self.store, exist_ok=True)
            open(os.path.join(self.store, self.session), "w", encoding="utf-8").close()
        self.note("spawn")
        self.send(id=number, result={"sessionId": self.session, **self.settings()})
        while self.script.get("stops_reading"):
            time.sleep(60)

    def load(self, number, params):
        self.session = params["sessionId"]
        known = self.script.get("known", ["session-1"])
        if self.store:
            known = os.listdir(self.store) if os.path.isdir(self.store) else []
        if self.session not in known:
            error = {"code": -32002, "message": "Resource not found"}
            self.send(id=number, error=self.script.get("load_error", error))
            return
        self.note("resume")
        for update in self.script.get("replay", []):
            self.update(update)
        self.send(id=number, result=self.settings())
        for update in self.script.get("late_replay", []):
            self.update(update)

    def note(self, verb):
        """Write down that a run is in a session, as the other stand-ins do."""
        if self.number:
            import record

            record.append_start(Started(verb, self.session), self.task, self.number, ())

    def set_mode(self, number, params):
        way = self.script.get("mode_told", "update")
        if way != "never":
            self.mode = params["modeId"]
        if way == "update":
            self.update({"sessionUpdate": "current_mode_update", "currentModeId": self.mode})
        if way == "words":
            self.say(f"[MODE_UPDATE] {self.mode}")
        self.send(id=number, result={})

    def set_option(self, number, params):
        if params["configId"] == "mode":
            self.mode = params["value"]
        elif params["configId"] in self.script.get("settable", self.options):
            self.options[params["configId"]] = params["value"]
        self.send(id=number, result={"configOptions": self.settings()["configOptions"]})

    def prompt(self, number, _params):
        if "prompt_error" in self.script:
            self.send(id=number, error=self.script["prompt_error"])
            return
        turns = self.script.get("turns", [self.script])
        now = turns[min(self.prompted, len(turns) - 1)]
        self.prompted += 1
        reason = now.get("stop", "end_turn")
        for step in now.get("turn", []):
            if self.take(step):
                reason = "cancelled"
                break
        self.send(id=number, result={"stopReason": reason, **self.script.get("answer", {})})
        for update in self.script.get("late", []):
            self.update(update)

    def take(self, step):
        """Do a step; return whether the turn was cancelled."""
        if "update" in step:
            self.update(step["update"])
        if "say" in step:
            self.say(step["say"])
        if "write" in step:
            for _ in range(step.get("times", 1)):
                sys.stdout.write(step["write"] + "\n")
            sys.stdout.flush()
        if "touch" in step:
            open(step["touch"], "w", encoding="utf-8").close()
        if "run" in step:
            subprocess.run(["/bin/sh", "-c", step["run"]], stdout=subprocess.DEVNULL, check=False)
        if "exit" in step:
            print("stand-in: fatal", file=sys.stderr)
            os._exit(step["exit"])
        if "request" in step:
            return self.ask(step["request"], {})
        if "ask" in step:
            return self.ask("session/request_permission", {"options": OPTIONS, **step["ask"]})
        return bool(step.get("hang")) and self.wait(None)

    def ask(self, method, params):
        self.asked += 1
        number = f"asked-{self.asked}"
        self.send(id=number, method=method, params={"sessionId": self.session, **params})
        return self.wait(number)

    def wait(self, number):
        """Wait for an answer, or without a number for ever; return whether a cancel came."""
        while message := self.get():
            if number is not None and message.get("id") == number:
                return False
            if message.get("method") == "session/cancel" and not self.script.get("deaf"):
                return True
        while self.script.get("stays"):
            time.sleep(60)
        os._exit(0)


if __name__ == "__main__":
    if sys.argv[2:] == ["login"]:
        open(f"{sys.argv[1]}.login", "w", encoding="utf-8").close()
    elif sys.argv[2:]:
        sys.exit(f"unknown option: {sys.argv[2]}")
    else:
        Agent(sys.argv[1]).run()
