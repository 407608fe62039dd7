"""Writes docs/compatibility.md: `python tests/executors/compatibility.py`.

It comes from the contract's table, so that it holds nothing that a test does not
assert; `test_compatibility.py` fails where the committed page differs.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))

from case_forms import Evidence
from executor_cases import (
    ADDED,
    CASES,
    FAULTS,
    QWEN_RULES,
    SESSION_ROWS,
    SOW_RULES,
    UUID,
    Case,
    Fault,
    SessionRow,
)

from sow.agent_clis.description import AgentCli
from sow.agent_clis.known import AGENT_CLIS
from sow.executors.registry import executor_class
from sow.schema.executor_type import ExecutorType, HomeUse
from sow.schema.job import Verb

PAGE = Path(__file__).resolve().parents[2] / "docs" / "compatibility.md"

INTRODUCTION = """# Executor compatibility

What sow promises for each executor, and how far each promise has been tried. This page is written
by `python tests/executors/compatibility.py` from the table that the contract suite asserts: change
`tests/executors/executor_cases.py`, then run that command.

| checked by | means |
| --- | --- |
| real CLI run | the program itself was run: Claude Code on Linux, or a shell |
| stand-in only | a stand-in was run, a program that behaves as the CLI is documented or recorded |
| docs only | written from documents; nothing was run |

The first table names the versions that were run: `tests/real` runs the newest again, and
`tests/recordings` has what they printed. `ID` is a session's id. `RULES` are the rules that let an
agent run the `sow` commands of its role, each by its name ([what an agent may
do](howto/permissions.md)). The prompt always comes on standard input.

Claude Code always gets `--settings` too (real CLI run). They deny every command of `sow` that is
not for the role, whatever you allow yourself, and switch off sow's own plugin
([plugin.md](plugin.md)).

In a task's clone ([apart](apart.md)) Claude Code gets more arguments (real CLI run):
`--setting-sources user,project`; `--settings` with the rules of your checkout, if you have told
Claude Code to trust it, and with rules against writing into the task's folder; and `--add-dir` to
read that folder. A reviewer gets `--setting-sources user --strict-mcp-config`, so no settings in
the clone have an effect. Other CLIs get no more arguments. For their reviewers, sow does not check
out files that would have an effect.
"""

SETTINGS_HEADER = (
    *("executor", "`yolo_mode: true`", "`yolo_mode: false`", "`model: M`", "`allowed_tools`"),
    *("`command`", "`resume`"),
)
REFUSED = ("refused", "refused")
SETTINGS = (
    (
        *("claude", "`--dangerously-skip-permissions`"),
        *("`--permission-mode acceptEdits --allowedTools RULES`", "`--model M`"),
        *("added to RULES", *REFUSED),
    ),
    (
        *("codex", "`--dangerously-bypass-approvals-and-sandbox`"),
        *("`-s workspace-write --add-dir .sow`, and a file of rules", "`-m M`"),
        *("refused", *REFUSED),
    ),
    (
        *("gemini", "`-y`", "`--approval-mode default --policy FILE`", "`-m M`"),
        *("refused", *REFUSED),
    ),
    (
        *("opencode", "`--auto`", "`--agent sow`: RULES, and work on files", "`-m M`"),
        *("refused", *REFUSED),
    ),
    (
        *("qwen", "`--approval-mode yolo`", "`--approval-mode default --allowed-tools RULES`"),
        *("`-m M`", "added to RULES", *REFUSED),
    ),
    (
        *("copilot", "`--allow-all`", "`--allow-tool 'shell(sow:*)' write`, `--deny-tool`"),
        *("`--model M`", "added to `--allow-tool`", *REFUSED),
    ),
    ("cursor", "`--force`", "nothing", "`--model M`", "refused", *REFUSED),
    ("windsurf", "nothing", "nothing", "refused", "refused", "program and arguments", "refused"),
    (
        *("command", "refused", "nothing", "refused", "refused", "program and arguments"),
        "the same for a resume",
    ),
)
SETTINGS = (*SETTINGS, *(row for module in ADDED for row in module.SETTINGS))
SETTINGS_INTRODUCTION = """## Settings

What each setting becomes on the command line; `custom_args` are added to each. A resume carries
all of them again: CLIs keep neither permissions nor flags from one run to the next (measured).
"""
SETTINGS_NOTES = """* Claude Code skips no permissions as root unless `IS_SANDBOX=1` is set: sow
  sets it for root.
* Without `--force` cursor-agent asks nobody and refuses. What it may run then stands in
  `permissions.allow` of the project's `.cursor/cli.json`: `Shell(sow)` lets an agent report.
* In an older dialect of cursor-agent, `--force` and `--model` are passed as well where the
  settings ask for them; a CLI that lacks them ends with `unknown option`, and the job fails with
  those words.
"""


ABILITIES_INTRODUCTION = """## What each can do

`sow executor list` prints the same for your configuration.

* *Own folder*: whether a session can have a configuration folder of its own (`home: per-session`).
* *Rights*: `RULES`: sow allows an agent the commands of its role and no others. `own`: the CLI's
  own settings decide.
* *Fence*: what limits the agent without `yolo_mode` and without `sandbox: bwrap`. `sandbox`: the
  CLI's own sandbox. `rules`: rules of the CLI; what an allowed program does is not limited.
  `asking`: the CLI asks sow, which refuses what is not for the role; what the CLI does without
  asking is not limited. `none`: nothing.

In [a sandbox](configuration.md#a-sandbox) the system limits the agent, whatever the CLI is. The
rules of the CLI are off there unless `yolo_mode: false` is set; Codex's own sandbox is off in any
case. Each CLI that was tried there was spawned, paused, resumed, refused a command and cancelled,
as root and as an ordinary user.

Type `acp` is weaker than all others. sow knows neither the flags nor the files of the program. The
tokens that it reports stay in its output and count for no budget. The reset time of a usage limit
is unknown. The next table says what limits each agent.
"""
ABILITIES_HEADER = (
    *("executor", "resume", "open", "own folder", "reports its use", "rights", "fence"),
    *("spawn tried", "resume tried", "open tried", "in `sandbox: bwrap`", "versions run"),
)

ACP_INTRODUCTION = """## Agents over ACP

What limits an agent of type `acp`, by `settings.preset`. Without a preset it is *asking*: sow then
knows only the form of question that most agents share, and refuses every other one. *By the wire
alone* means that the agent's messages were recorded, and sow was not run with it.
"""
ACP_TRIED = {
    "cline": "real CLI run (cline 3.0.65)",
    "pi": "real CLI run (pi-acp 0.0.34 with pi 1.6.0)",
    "opencode": "real CLI run (1.18.33)",
    "gemini": "real CLI run (0.61.0)",
    "qwen": "real CLI run (0.24.4)",
    "copilot": "real CLI run (1.0.102)",
    "claude": "real CLI run (claude-agent-acp 0.101.0)",
    "codex": "real CLI run (codex-acp 2.6.0 with codex 0.166.0)",
}

SHARED_INTRODUCTION = """## Several runs at once

sow has run eight agents at once of each of codex, gemini, opencode, qwen and copilot (real CLI
run), with `home: per-session` and with `home: shared`. With `per-session` nothing was damaged, lost
or mixed up. With `shared` two CLIs have faults of their own, and `sow doctor` says so:
"""
LENGTHS = """
## Long prompts

A prompt of 1 MB reached the model of each of these five (real CLI run). A prompt that is too long
for the CLI or the model ends the job with the cause `too_long`. A shorter one continues the session
(real CLI run).

* Codex accepts up to 1,048,576 characters.
* Qwen Code and Copilot count tokens before they send a request. For a model that they do not know
  they assume a window of about 130,000 to 177,000 tokens. Settings name another one:
  `model.generationConfig.contextWindowSize`, and `COPILOT_PROVIDER_MAX_PROMPT_TOKENS`.
* Gemini CLI and OpenCode send whatever they get. If the service refuses that, OpenCode shortens the
  conversation, loses the prompt, and asks again without end (1.18.33). sow ends it after five
  failures.

## Known limits

* Gemini CLI sends each answer of a tool twice when it continues a session (0.61.0). It was not
  tried with Google's service.
* Gemini CLI takes a comma in an argument for the end of a path. With `home: per-session` sow keeps
  such paths out of the arguments. With `home: shared` it refuses to start.
* OpenCode reports a tool only when it has ended. So a run that was killed in its first command has
  reported no session, and begins anew.
"""

OWN_FOLDER = {HomeUse.SHARED: "if set", HomeUse.PER_SESSION: "by default"}


def render() -> str:
    """Return the whole page."""
    return "\n".join(
        [
            INTRODUCTION,
            ABILITIES_INTRODUCTION,
            _table(ABILITIES_HEADER, map(_abilities, AGENT_CLIS.items())),
            ACP_INTRODUCTION,
            _table(
                ("`preset`", "fence", "what that means", "tried"),
                (
                    (preset, fence.kind, fence.why, ACP_TRIED.get(preset, "by the wire alone"))
                    for preset, fence in AGENT_CLIS[ExecutorType.ACP].fences.items()
                ),
            ),
            "## Sessions\n",
            _table(
                ("executor", "how an id comes about", "can resume", "checked by"),
                map(_session, SESSION_ROWS),
            ),
            "## Command lines\n",
            _table(("executor", "what", "command line", "checked by"), map(_command_line, CASES)),
            SETTINGS_INTRODUCTION,
            _table(SETTINGS_HEADER, SETTINGS),
            SETTINGS_NOTES,
            SHARED_INTRODUCTION,
            *(f"* `{kind}`: {danger}" for kind, danger in _shared_dangers()),
            LENGTHS,
            "## Endings\n",
            "How sow judges an ending when the agent has set no status. The causes are"
            " those of `sow job show`.\n",
            _table(("executor", "ending", "cause", "checked by"), map(_ending, FAULTS)),
        ]
    )


def _abilities(described: tuple[ExecutorType, AgentCli]) -> tuple[str, ...]:
    kind, cli = described
    opens = executor_class(kind).has_terminal_mode
    resumes = "with `resume`" if kind is ExecutorType.COMMAND else "yes" if cli.resumes else "no"
    return (
        kind,
        resumes,
        "yes" if opens else "no",
        "no" if cli.home is None else OWN_FOLDER[cli.home.use],
        cli.metering,
        "RULES" if cli.narrow_rights else "own",
        cli.fence,
        cli.tried.spawn,
        cli.tried.resume if resumes != "no" else "-",
        cli.tried.open if opens else "-",
        "no" if cli.home is None and kind is not ExecutorType.COMMAND else cli.tried.sandbox,
        ", ".join(cli.tried.versions) or "-",
    )


def _shared_dangers() -> Iterable[tuple[ExecutorType, str]]:
    for kind, cli in AGENT_CLIS.items():
        if cli.home is not None and cli.home.shared_danger:
            yield kind, cli.home.shared_danger


def _session(row: SessionRow) -> tuple[str, ...]:
    return row.executor, row.how, "yes" if row.resumes else "no", row.evidence


OPENCODE_SHOWN = {"OPENCODE_PERMISSION": "NOTHING", "OPENCODE_CONFIG_CONTENT": "RULES"}


def _command_line(case: Case) -> tuple[str, ...]:
    words = " ".join(_quote(word) for word in case.argv)
    env = ((name, OPENCODE_SHOWN.get(name, value)) for name, value in case.env)
    prefix = "".join(f"{name}={value} " for name, value in env)
    title = case.title if case.title.startswith(case.verb) else f"{Verb(case.verb)} {case.title}"
    return case.executor, title, f"`{prefix}{words}`", case.evidence


def _quote(word: str) -> str:
    shown = word.replace(sys.executable, "python").replace(UUID, "ID").replace(QWEN_RULES, "RULES")
    if shown.startswith("Bash("):
        extra = shown.removeprefix(SOW_RULES)
        return f"'RULES{extra}'" if extra else "RULES"
    return shown


def _ending(fault: Fault) -> tuple[str, ...]:
    return fault.config.type, fault.title, f"`{fault.cause}`", fault.evidence


def _table(header: tuple[str, ...], rows: Iterable[tuple[str | Evidence, ...]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
