"""What sow has to know of an agents' CLI besides how to drive it: the form of a description.

Owns the form, and the reasons that several CLIs share for refusing a flag.
Plain data; who reads which part is said at each field. How a CLI is started
and its output read is its module in `sow.executors`, which has the same name.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from sow.schema.causes import Cause
from sow.schema.executor_type import HomeUse


class Setting(msgspec.Struct, frozen=True):
    """A key of `settings` that fits this CLI, as the configuration's template shows it."""

    example: str = ""
    """A value, as YAML."""
    comment: str = ""
    idle: str = ""
    """Why it is read and has no effect; such a one is not in the template."""


class Refusal(msgspec.Struct, frozen=True):
    """Why a flag may not stand in `custom_args`, and what to do instead."""

    reason: str
    remedy: str


REMOVE = "Remove it."
PROMPT = Refusal(
    "sow passes the prompt on standard input and always runs without a terminal", REMOVE
)
OUTPUT = Refusal("sow chooses the format of the output, which it reads", REMOVE)
SESSION = Refusal("sow chooses, keeps and resumes the session itself", REMOVE)
FOLDER = Refusal(
    "sow chooses the folder that the agent runs in",
    "Remove it; `--cwd` of `sow agent spawn` names another folder.",
)
YOLO = Refusal("it is what settings.yolo_mode decides", "Remove it and set settings.yolo_mode.")
API_SECONDS = 15 * 60.0
"""What `AgentCli.api_seconds` is for each CLI that tries again without end; nobody measured it."""
MODEL = Refusal("it is what settings.model decides", "Remove it and set settings.model.")


SERVICE_TOO_LONG = (
    r"prompt is too long|context (limit|length|window)|context_length_exceeded"
    r"|maximum number of tokens|input is too long"
)
"""How services say that a request holds more than their model reads."""


class CommandLine(msgspec.Struct, frozen=True):
    """One of several command lines that a CLI has had."""

    name: str
    """What a session of it keeps as its `dialect`."""
    flag: str = ""
    """What its help lists in this dialect only; empty for the one that is left."""
    commands: tuple[str, ...] = ()
    """Subcommands that sow runs besides."""


class LoginFiles(msgspec.Struct, frozen=True):
    """The files of a user that tell of a login."""

    folder: str
    """Below HOME."""
    folder_variable: str
    """The variable that names another folder; empty for none."""
    credentials: str = ""
    """A file that is there after a login; empty where no file is a sign by itself."""
    inside: str = ""
    """The CLI's own folder below the one that the variable names."""
    others: tuple[str, ...] = ()
    """Files of which each is as good."""
    settings: str = ""
    """A JSON file in which a `settings_key` with a value tells of a login; empty for none. Lines
    that are comments are skipped."""
    settings_key: str = ""
    """Keys of objects inside of each other have a point between them; `*` stands for any."""
    also: "LoginFiles | None" = None
    """Those in another folder, of which each is as good."""
    hidden_on: tuple[str, ...] = ()
    """The platforms (`sys.platform`) on which a login may leave no file."""


class SowPermission(msgspec.Struct, frozen=True):
    """The rule without which an agent of this CLI may not run `sow`, unless in yolo_mode."""

    rule: str
    begins: tuple[str, ...]
    """A rule that begins with one of these allows it too."""
    in_folder: str
    """A JSON file with `permissions: {allow: […]}`, below the agent's folder."""
    in_home: str
    """The same, below HOME."""


class HomePart(msgspec.Struct, frozen=True, kw_only=True):
    """A folder that a CLI finds by a variable: its configuration, its login, or its sessions."""

    variable: str
    """What names another one."""
    folder: str
    """Where it is without that variable, below HOME."""
    inside: str = ""
    """The CLI's own folder below it; empty where it is the folder itself."""
    linked: tuple[str, ...] = ()
    """What a session's own has as links to the user's: a login that the CLI renews."""
    mirrored: tuple[str, ...] = ()
    """What it has as links too, as far as it is there: as a copy the CLI would read it twice."""
    shared: tuple[str, ...] = ()
    """Folders with links to each entry of the user's, beside entries of the session's own: what a
    CLI unpacks there once, for each of its versions."""
    copied: tuple[str, ...] = ()
    """What it has copies of: files and folders of settings, as far as there are any."""
    beside: tuple[str, ...] = ()
    """The same of files that lie in HOME as long as no variable names another folder."""
    login_variable: str = ""
    """A variable that names the folder of the login alone, so that a session uses the user's own;
    an empty one names the CLI's usual folder. Empty for none."""


class Home(msgspec.Struct, frozen=True, kw_only=True):
    """All such folders of a CLI."""

    parts: tuple[HomePart, ...]
    fenced: tuple[HomePart, ...] = ()
    """What belongs to it besides in a sandbox: settings of the user's that the CLI writes to."""
    use: HomeUse = HomeUse.SHARED
    """What holds where the configuration says nothing."""
    why: str = ""
    """Why that is `per-session`, as a clause."""
    shared_danger: str = ""
    """What befalls runs at the same time that share the user's own, and the cure: sentences."""


class WarmUp(msgspec.Struct, frozen=True, kw_only=True):
    """What a CLI is asked once in a new home, alone: two first runs at once may break it."""

    arguments: tuple[str, ...]
    makes: str
    """What is there afterwards, in the CLI's own folder of the first part of its home."""


class Questions(msgspec.Struct, frozen=True):
    """What `sow doctor` may ask: it only looks for a CLI that has none of these on PATH.

    A program of the user's own might do anything when it is started.
    """

    helps: tuple[tuple[str, ...], ...]
    """The arguments that make it list its flags."""
    key_variables: tuple[str, ...]
    """Any of these, where it is set, stands for a login."""
    login: str
    """How to log in."""
    login_files: LoginFiles | None = None
    """None where nobody can say where it keeps a login."""
    sow_permission: SowPermission | None = None
    """None where sow itself allows what an agent needs."""
    dialects: tuple[CommandLine, ...] = ()
    """The first whose flag its help lists is the one it speaks."""
    quiet: Mapping[str, str] = {}
    """Variables that keep it from looking for updates meanwhile."""


class Metering(StrEnum):
    """When a CLI tells what it uses."""

    AT_ONCE = "at once"
    """While it runs, so that it can be ended in time."""
    AT_END = "at its end"
    NEVER = "never"


class Fence(StrEnum):
    """What holds an agent back where `yolo_mode` is off."""

    SANDBOX = "sandbox"
    """The system: its commands write and connect only where they may."""
    RULES = "rules"
    """The CLI: it refuses what no rule allows. What an allowed program does is not limited."""
    ASKING = "asking"
    """sow: the CLI asks before each command and each edit, and sow refuses what is not of its role.
    What the CLI does without asking is not limited."""
    NONE = "none"


class PresetFence(msgspec.Struct, frozen=True):
    """The fence of one of the programs that an executor of this type may run."""

    kind: Fence
    why: str
    """What that means for it, as a clause."""


class Evidence(StrEnum):
    """How far a promise has been tried, the strongest first."""

    REAL = "real CLI run"
    STAND_IN = "stand-in only"
    DOCS = "docs only"


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """How far sow's ways to start a CLI have been tried: the best of each."""

    versions: tuple[str, ...] = ()
    """Those that were run, the oldest first."""
    spawn: Evidence = Evidence.DOCS
    resume: Evidence = Evidence.DOCS
    open: Evidence = Evidence.DOCS
    sandbox: Evidence = Evidence.DOCS
    """How far it has been tried with `sandbox: bwrap`."""


class ShellTimeout(msgspec.Struct, frozen=True):
    """How a call of sow that an agent of this CLI makes learns how long it may block."""

    marker: str
    """A variable that says, where it is set, that this CLI runs the command."""
    milliseconds_variable: str
    """The variable that may tell its time-out."""
    default_seconds: float
    """Its time-out where that variable does not tell."""


class AgentCli(msgspec.Struct, frozen=True, kw_only=True):
    """One agents' CLI."""

    title: str
    """What it is, in the configuration's template."""
    example_name: str = "my-agent"
    """What the configuration's template calls one that is not built in."""
    built_in: str = ""
    """The name of the executor that is there without any configuration; empty for none."""
    binary: str = ""
    """The program that is run where `settings.command` names none."""
    install: str = "Install {binary}."
    """How the program comes onto PATH. `{binary}` and `{name}` of the executor are filled in."""
    remedy: str = "Allow it in the program's own settings."
    """How a tool that was denied is allowed; `{name}` is filled in."""
    settings: Mapping[str, Setting]
    """What fits it of `settings`, in the template's order. Any other key is refused."""
    required: str = ""
    """The one of them that it cannot do without."""
    reserved_flags: Mapping[str, Refusal] = {}
    """Flags that only sow may set: one given twice with two meanings breaks a run in ways that are
    hard to see."""
    nesting_markers: tuple[str, ...] = ()
    """Variables that it sets for its children to describe itself: no agent of ours sees them."""
    replaced_variables: tuple[str, ...] = ()
    """Variables of the user's that have other values in the commands which it runs. What they were
    is passed on, for the calls of sow among these and for all that such a call starts."""
    shell_timeout: ShellTimeout | None = None
    """The time-out of the commands that its agents run; None where none is known."""
    words: tuple[tuple[str, Cause], ...] = ()
    """Patterns of what it says of its failures, the first that is found counts. They are looked
    for on standard error and in the final result only, whatever the case of letters."""
    reset_time: str = ""
    """A pattern whose first group is when a limit ends, in seconds since the epoch."""
    metering: Metering = Metering.NEVER
    """When it tells what it uses: only where it does at once can a limit of that be kept."""
    keeps_ids: bool = False
    """Whether a run that tells another session than it was asked for goes on in another
    conversation; else the id that it tells counts."""
    api_seconds: float | None = None
    """How long its model may give no answer before its run is ended: it tries again without end,
    or says nothing of it. None where it ends such a run by itself."""
    home: Home | None = None
    """Its configuration folder, where a session can have one of its own."""
    warm_up: WarmUp | None = None
    """How a new home is made ready before the first run in it; needs `home`."""
    resumes: bool = True
    """Whether a session of it can be continued; for `command`, its configuration says."""
    questions: Questions | None = None
    narrow_rights: bool = False
    """Whether sow lets an agent run the commands of its role and no others: it allows these by
    their names, or refuses the others by theirs."""
    fence: Fence = Fence.NONE
    fences: Mapping[str, PresetFence] = {}
    """The same by `settings.preset`, where it differs by that."""
    tried: Tried = Tried()
    """What the contract suite has shown: a test compares it with the suite's rows."""
