"""Which settings fit which type of executor, and the faults that no schema can state.

Owns those rules, and how a flag that only sow may set is found in `custom_args`. The settings
of each type stand in its description. Merging is `config.merge`; the shapes are `schema.config`.
"""

from collections.abc import Mapping, Sequence

from msgspec import UNSET

from sow.agent_clis.description import Refusal
from sow.agent_clis.known import AGENT_CLIS
from sow.config.defaults import BUILT_IN_EXECUTORS
from sow.config.environment import env_fault
from sow.config.secrets import SECRET_KEYS, is_whole_path
from sow.config.source import Source, refuse_no_network
from sow.config.units import NEVER, parse_duration, parse_size, write_size
from sow.schema.config import (
    ExecutorSection,
    LimitsSection,
    SettingsSection,
    UserConfigFile,
)
from sow.schema.executor_type import ExecutorType, HomeUse, SandboxUse

LEAST_LIMIT_BYTES = 16 * 10**6
"""A limit below that is a slip: no agent's CLI starts with so little."""
INSTEAD = {
    "yolo_mode": "Put the program's own flag into settings.command.",
    "model": "Put the program's own flag for it into custom_args or settings.command.",
    "allowed_tools": "Only {types} can be given a list of tools.",
    "command": "Only {types} can be told which program to run.",
    "resume": "Only {types} can be told how a session is resumed.",
    "preset": "Only {types} can be told which agent it is.",
}
"""What to do instead, for a setting that does not fit. `{types}` are those that it does fit."""

REFERENCE = "Write the name of a variable between the braces, or remove the dollar sign."


def check_executor(
    source: Source[UserConfigFile], name: str, section: ExecutorSection, kind: ExecutorType
) -> None:
    """Raise InvalidConfiguration for the first setting of an executor that breaks a rule."""
    place = ("agents", "executors", name)
    _check_settings(source, place, section.settings or SettingsSection(), kind)
    for index, argument in enumerate(section.custom_args or ()):
        found = _conflict(kind, argument)
        if found:
            raise source.fault(
                *place, "custom_args", index, reason=found.reason, remedy=found.remedy
            )
    for key in ("timeout", "stall_timeout", "api_timeout"):
        written = getattr(section, key)
        if isinstance(written, str) and written != NEVER and parse_duration(written) == 0:
            raise source.fault(*place, key, reason="must be longer than 0")
    if isinstance(section.home, HomeUse) and AGENT_CLIS[kind].home is None:
        with_home = _in_words([each for each, cli in AGENT_CLIS.items() if cli.home is not None])
        raise source.fault(
            *place,
            "home",
            reason=f"does not fit type {kind}",
            remedy=f"Remove it. Only {with_home} can have a configuration folder for each session.",
        )
    _check_sandbox(source, place, section, kind)
    _check_limits(source, place, section.limits or LimitsSection())
    _check_variables(source, place, section)


def _check_limits(
    source: Source[UserConfigFile], place: tuple[str, ...], limits: LimitsSection
) -> None:
    """Raise InvalidConfiguration for a limit below which no agent could begin."""
    if isinstance(limits.cpu, str) and parse_duration(limits.cpu) == 0:
        raise source.fault(*place, "limits", "cpu", reason="must be longer than 0")
    for key in ("memory", "disk"):
        written = getattr(limits, key)
        if isinstance(written, str) and parse_size(written) < LEAST_LIMIT_BYTES:
            least = write_size(LEAST_LIMIT_BYTES)
            raise source.fault(*place, "limits", key, reason=f"must be at least {least}")


def _check_variables(
    source: Source[UserConfigFile], place: tuple[str, ...], section: ExecutorSection
) -> None:
    seen: dict[str, str] = {}
    for key in ("env", *SECRET_KEYS):
        for variable, value in (getattr(section, key) or {}).items():
            reason = env_fault(variable, "")
            remedy = "Remove it, or give it another name."
            if not reason and key == "env":
                reason, remedy = env_fault(variable, value), REFERENCE
            if not reason and key == "env_files" and not is_whole_path(value):
                reason = "the path must begin with / or ~/"
                remedy = "Write the whole path, such as ~/.secrets/api-key."
            if not reason and variable in seen:
                reason = f"{seen[variable]} sets this variable already"
                remedy = f"Remove it here, or in {seen[variable]}."
            if reason:
                raise source.fault(*place, key, variable, reason=reason, remedy=remedy)
            seen[variable] = key


def _check_sandbox(
    source: Source[UserConfigFile],
    place: tuple[str, ...],
    section: ExecutorSection,
    kind: ExecutorType,
) -> None:
    """Raise InvalidConfiguration where there can be no sandbox, or nothing would come of a key."""
    is_sandboxed = section.sandbox is SandboxUse.BWRAP
    refuse_no_network(source, place, section.network, is_sandboxed=is_sandboxed)
    if not is_sandboxed:
        return
    if kind is not ExecutorType.COMMAND and AGENT_CLIS[kind].home is None:
        fitting = [each for each, cli in AGENT_CLIS.items() if cli.home is not None]
        raise source.fault(
            *place,
            "sandbox",
            reason=f"does not fit type {kind}: in a sandbox a session needs a configuration folder"
            " of its own, which this type cannot have",
            remedy="Remove it, or use an executor of another type. These can have a sandbox:"
            f" {_in_words([*fitting, ExecutorType.COMMAND])}.",
        )
    if section.home is HomeUse.SHARED:
        raise source.fault(
            *place,
            "home",
            reason="shared does not go with sandbox: bwrap, because a sandbox hides your own"
            " configuration folder",
            remedy="Remove it: with a sandbox each session has a folder of its own.",
        )


def _check_settings(
    source: Source[UserConfigFile],
    place: tuple[str, ...],
    settings: SettingsSection,
    kind: ExecutorType,
) -> None:
    cli = AGENT_CLIS[kind]
    for setting in settings.__struct_fields__:
        value = getattr(settings, setting)
        if value is not UNSET and value and setting not in cli.settings:
            raise source.fault(
                *place,
                "settings",
                setting,
                reason=f"does not fit type {kind}, which has {_in_words(list(cli.settings))}",
                remedy=INSTEAD[setting].format(types=_in_words(_types_with(setting))),
            )
    needed = cli.required
    if needed and not getattr(settings, needed):
        raise source.fault(
            *place,
            reason=f"type {kind} needs settings.{needed}",
            remedy=f"For example: settings: {{{needed}: {cli.settings[needed].example}}}",
        )


def _types_with(setting: str) -> list[str]:
    return [kind for kind, cli in AGENT_CLIS.items() if setting in cli.settings]


def _in_words(words: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)


def executor_type(
    source: Source[UserConfigFile], name: str, section: ExecutorSection
) -> ExecutorType:
    """Return the type of an executor: its own, else that of the built-in one of its name.

    Raises InvalidConfiguration where there is neither.
    """
    if isinstance(section.type, ExecutorType):
        return section.type
    if name in BUILT_IN_EXECUTORS:
        return BUILT_IN_EXECUTORS[name].type
    raise source.fault(
        "agents",
        "executors",
        name,
        reason="the key 'type' is missing",
        remedy=f"Give it one of: {', '.join(ExecutorType)}. Only the built-in executors"
        f" ({', '.join(BUILT_IN_EXECUTORS)}) may omit it.",
    )


def check_roles(source: Source[UserConfigFile], bound: Sequence[str], roles: Sequence[str]) -> None:
    """Raise InvalidConfiguration for a binding of a role that does not exist."""
    for role in bound:
        if role not in roles:
            raise source.fault(
                "agents",
                "bindings",
                role,
                reason=f"unknown agent {role!r}; {nearest(role, roles)}",
                remedy="`sow agent list` shows the agents.",
            )


def check_lists(
    source: Source[UserConfigFile], bound: Mapping[str, str | list[str] | None]
) -> None:
    """Raise InvalidConfiguration for an executor that a role names twice."""
    for role, names in bound.items():
        for index, name in enumerate(names if isinstance(names, list) else ()):
            if name in (names or ())[:index]:
                raise source.fault(
                    "agents",
                    "bindings",
                    role,
                    index,
                    reason=f"{name} is named twice",
                    remedy="Name each executor once, in the order in which they are tried.",
                )


def nearest(word: str, known: Sequence[str]) -> str:
    """Return the known word that `word` was probably meant to be, as a hint, or all of them."""
    from difflib import get_close_matches  # heavy, and for an error's hint alone

    near = get_close_matches(word, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known are: {', '.join(known)}"


def _conflict(kind: ExecutorType, argument: str) -> Refusal | None:
    """Return why `argument` may not stand in `custom_args`, or None."""
    flags = AGENT_CLIS[kind].reserved_flags
    flag = argument.partition("=")[0]
    if flag not in flags and not argument.startswith("--"):
        flag = argument[:2]  # a value may follow a short flag at once: -rID
    if flag not in flags:
        return None
    return Refusal(f"{flag} cannot be set here: {flags[flag].reason}", flags[flag].remedy)
