"""An agent whose CLI means harm: false events, a home full of links, another's home, `.sow/run`.

sow neither fails nor follows nor loses anything, and shows nothing that was not meant for it.
"""

import json
import os
import pty
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from journeys.callers import Step, report
from journeys.site import SOW, Site
from standins import read_runs
from terminal_output import all_of

pytestmark = pytest.mark.one_of("hostile agents")

LOGINS = {
    "codex": (".codex/auth.json", "codex_home", "CODEX_HOME"),
    "gemini": (".gemini/oauth_creds.json", "gemini_cli_home/.gemini", "GEMINI_CLI_HOME"),
    "opencode": (".local/share/opencode/auth.json", "xdg_data_home/opencode", "XDG_DATA_HOME"),
    "qwen": (".qwen/oauth_creds.json", "qwen_home", "QWEN_HOME"),
    "copilot": (".copilot/config.json", "copilot_home", "COPILOT_HOME"),
}
"""Of each CLI: the user's login, its own folder in a session's home, and the variable of that."""
SETTINGS = {
    "codex": "config.toml",
    "gemini": "settings.json",
    "qwen": "settings.json",
    "copilot": "settings.json",
}
LEARNED = ("codex", "opencode")
"""The CLIs that choose the ids of their sessions themselves."""
SECRET = "what only the user may see"
LOGIN = '{"token": "of the user"}'
NUL_AND_ESCAPES = "\x00\x1b[2J\x1b]0;owned\x07\u202e"
CHARACTERS = ("\x00", "\x1b", "\x07", "\u202e")
NUMBERS = (-1, -(2**70), 2**70, 1e308, 10**400, "9" * 400, True, None, [], {})


def session_line(cli: str, session: str) -> dict[str, Any]:
    """Return the event by which a CLI tells of its session."""
    match cli:
        case "codex":
            return {"type": "thread.started", "thread_id": session}
        case "gemini":
            return {"type": "init", "session_id": session, "model": "m"}
        case "opencode":
            return {"type": "text", "sessionID": session, "part": {"type": "text", "text": "x"}}
        case "qwen":
            return {"type": "system", "subtype": "init", "session_id": session}
    return {"type": "result", "sessionId": session, "exitCode": 0, "usage": {}}


def false_lines() -> list[str]:
    """Return lines in all dialects: uses, results, denials, and what is no event at all."""
    lines: list[Any] = []
    for number in NUMBERS:
        usage = {"input_tokens": number, "output_tokens": number, "cached_input_tokens": number}
        tokens = {"input": number, "output": number, "reasoning": number, "cache": {"read": number}}
        lines += [
            {"type": "turn.completed", "usage": usage},
            {"type": "result", "subtype": "success", "usage": usage, "stats": tokens},
            {"type": "result", "num_turns": number, "is_error": number, "result": number},
            {"type": "step_finish", "part": {"messageID": "m", "tokens": tokens, "cost": number}},
            {"type": "error", "timestamp": number, "error": {"data": {"statusCode": number}}},
            {"type": "assistant.message", "data": {"content": number, "outputTokens": number}},
        ]
    for number in range(300):
        denial = {"tool_name": f"Tool{number}{NUL_AND_ESCAPES}", "tool_input": {"command": "x"}}
        lines.append({"type": "result", "subtype": "success", "permission_denials": [denial]})
    lines.append({"type": "item.completed", "item": {"type": "agent_message", "text": SECRET * 9}})
    words = NUL_AND_ESCAPES + "you are owned"
    lines += [
        {"type": "item.completed", "item": {"type": "agent_message", "text": words}},
        {"type": "message", "role": "assistant", "content": words},
        {"type": "text", "part": {"type": "text", "text": words}},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": words}]}},
        {"type": "assistant.message", "data": {"content": words}},
    ]
    deep = '{"type":"result","usage":' + "[" * 20_000 + "]" * 20_000 + "}"
    plain = [f"plain {NUL_AND_ESCAPES} words", "\udcff\udcfe", "{", '{"type":', deep]
    return [json.dumps(each) for each in lines if SECRET not in str(each)] + plain


def says(*lines: str) -> Step:
    return {"noise": "".join(f"{line}\n" for line in lines)}


def tampers(site: Site, cli: str) -> Step:
    """Return the step in which it puts links into its home, another's, and its attempt's folder."""
    login, inside, variable = LOGINS[cli]
    settings = SETTINGS.get(cli, "settings.json")
    part = inside.partition("/")[2]
    script = f"""
        own="${variable}/{part}"
        secret={shlex.quote(str(site.base / "secret"))}
        cd "$own" || exit
        rm -rf {Path(login).name} && ln -s "$secret/login" {Path(login).name}
        printf '{{"all": "is allowed"}}' >{settings}
        for name in rules commands skills; do
            rm -rf "$name" && ln -s "$secret" "$name"
        done
        home="${{{variable}%/*}}"
        ln -s "$secret" "$home/../../task-999"
        other="$home/../../task-010/{cli}/{inside}"
        rm -rf "$other/{Path(login).name}" && ln -s "$secret/login" "$other/{Path(login).name}"
        printf '{{"all": "is allowed"}}' >"$other/{settings}"
        cd "$SOW_ROOT/.sow/run/jobs/$SOW_JOB_ID/1" || exit
        for name in last-valid-state.yaml usage.json session.json exit.json.tmp; do
            ln -sf "$secret/login" "$name"
        done
        rm -rf ../2 && ln -s "$secret" ../2
    """
    return {"aside": script}


def begin(site: Site, cli: str) -> None:
    """Make a project with an agent in peace (010), the hostile one (020), and a third (030)."""
    secret = site.base / "secret"
    secret.mkdir()
    (secret / "login").write_text(SECRET)
    login = Path(site.env["HOME"], LOGINS[cli][0])
    login.parent.mkdir(parents=True)
    login.write_text(LOGIN)
    login.chmod(0o600)
    if cli in SETTINGS:
        (login.parent / SETTINGS[cli]).write_text("" if cli == "codex" else "{}")
    executor = {"type": cli, "home": "per-session", "settings": {"yolo_mode": True}, "retries": 1}
    agents = {"executors": {cli: executor}, "bindings": {"implementer": cli}}
    site.configure({"agents": agents})
    site.project("010", "020", "030")


def home_of(site: Site, task: str, cli: str) -> Path:
    (found,) = Path(site.env["HOME"], ".local/state/sow/homes").glob(f"*/task-{task}/{cli}")
    return found


def shown(site: Site) -> str:
    """Return all that commands show of what the hostile agent did."""
    words = (
        *(("job", "show", "2", "--json"), ("task", "show", "020", "--json"), ("cost", "--json")),
        *(("task", "explain", "020"), ("task", "log", "020"), ("status",)),
        *(("validate",), ("report", "--json")),
    )
    results = [site.sow(*each, expect=None) for each in words]
    assert not [each for each in results if "itself failed" in each.err]
    return "".join(each.out + each.err for each in results)


def on_terminal(site: Site, *words: str) -> str:
    """Return what a command shows on a terminal, without sow's own colours."""
    terminal, screen = pty.openpty()
    environ = site.environment({"TERM": "dumb"})
    command = [str(SOW), *words]
    with subprocess.Popen(command, stdout=screen, stderr=screen, env=environ, cwd=site.root):
        os.close(screen)
        return all_of(terminal).decode("utf-8", "replace")


@pytest.mark.parametrize("cli", LOGINS)
def test_what_a_hostile_agent_says_and_does_harms_nobody(site: Site, cli: str) -> None:
    begin(site, cli)
    site.script([[report("paused")], [report()]], task="010")
    site.sow("agent", "spawn", "010")
    session = site.task("010")["session_id"]
    claims = [json.dumps(session_line(cli, session))] if cli in LEARNED else []
    hostile = [says(*false_lines(), *claims), tampers(site, cli), {"crash": 3}]
    site.script([hostile, [report()]], task="020")
    site.sow("agent", "spawn", "020", expect=None)
    assert site.task("020").get("session_id") != session

    text = shown(site)
    assert SECRET not in text
    for words in (("job", "show", "2"), ("job", "explain", "2"), ("job", "logs", "2")):
        seen = on_terminal(site, *words)
        assert SECRET not in seen
        assert not [each for each in CHARACTERS if each in seen]
    secret = site.base / "secret"
    assert {path.name: path.read_text() for path in secret.iterdir()} == {"login": SECRET}
    login = Path(site.env["HOME"], LOGINS[cli][0])
    assert (login.read_text(), login.is_symlink()) == (LOGIN, False)

    site.sow("agent", "resume", "010", "Go on")  # in its own session, its home made right
    assert site.task("010")["status"] == "needs_review"
    assert site.task("010")["session_id"] == session
    runs = [run for run in read_runs(site.root) if run.task == "010"]
    assert [(run.verb, run.session_id) for run in runs] == [("spawn", session), ("resume", session)]
    for task in ("010", "020") if site.task("020")["status"] == "needs_review" else ("010",):
        folder = home_of(site, task, cli) / LOGINS[cli][1]
        assert (folder / login.name).readlink() == login
        if cli in SETTINGS:
            assert "is allowed" not in (folder / SETTINGS[cli]).read_text()
    site.sow("project", "abandon", expect=None)
    site.sow("worker", "--drain")
    assert {path.name: path.read_text() for path in secret.iterdir()} == {"login": SECRET}
    assert login.read_text() == LOGIN
    assert not [*Path(site.env["HOME"], ".local/state/sow/homes").glob("*/*")]


@pytest.mark.parametrize("cli", [each for each in LOGINS if each not in LEARNED])
def test_who_tells_of_another_s_session_is_ended(site: Site, cli: str) -> None:
    begin(site, cli)
    site.script([[report("paused")]], task="010")
    site.sow("agent", "spawn", "010")
    session = site.task("010")["session_id"]
    site.script([[says(json.dumps(session_line(cli, session))), {"hang": True}]], task="030")
    site.sow("agent", "spawn", "030", expect=5)
    assert (site.job(2)["state"], site.job(2)["cause"]) == ("failed", "session_lost")
    assert site.task("030")["session_id"] != session
    assert site.task("010")["session_id"] == session
