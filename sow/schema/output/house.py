"""Workers, the queue, the configuration and the rest of what commands print with `--json`."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sow.schema.output import fields


class ErrorFacts(msgspec.Struct, frozen=True, kw_only=True):
    """An error in words, for people, and its code, for programs."""

    kind: Annotated[
        str,
        Meta(
            description="what it has to do with: usage, configuration, state, executor, queue, or"
            " failed for what is none of these"
        ),
    ]
    exit_code: fields.ExitCode
    message: Annotated[str, Meta(description="what happened")]
    hint: Annotated[str, Meta(description="what to do next; often empty")]


class ErrorView(msgspec.Struct, frozen=True, kw_only=True):
    """What any command prints in place of a result, or after some, where it fails."""

    task: Annotated[
        str | None,
        Meta(description="the task that it is about; null where the call named none, or several"),
    ]
    error: Annotated[ErrorFacts, Meta(description="what happened")]


class AgentView(msgspec.Struct, frozen=True, kw_only=True):
    """A role."""

    agent: fields.Agent
    description: Annotated[str, Meta(description="what it does")]
    capabilities: Annotated[str, Meta(description="what its executor must let it do")]


class WorkerView(msgspec.Struct, frozen=True, kw_only=True):
    """A worker on record."""

    worker: fields.WorkerKey
    pid: fields.Pid
    alive: Annotated[bool, Meta(description="whether it is proved to live")]
    life: Annotated[
        str,
        Meta(description="alive, dead, or unverifiable where nothing here proves either"),
    ]
    background: Annotated[bool, Meta(description="whether it runs without a terminal")]
    concurrency: Annotated[int, Meta(description="how many agents it may run at once")]
    jobs: Annotated[tuple[int, ...], Meta(description="the numbers of the jobs that it runs")]
    slots_taken: Annotated[
        int,
        Meta(
            description="how many of them hold a slot, as `sow queue status` counts: an agent that"
            " waits for a job that it has started holds none meanwhile"
        ),
    ]
    started_at: Annotated[str, Meta(description="when it was started: UTC, ISO 8601")]
    version: fields.Version


class StoppedWorker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that was asked to leave, and has left."""

    worker: fields.WorkerKey
    pid: fields.Pid


class WorkerLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a background worker's log."""

    worker: fields.WorkerKey
    text: Annotated[str, Meta(description="what it said")]


class ServiceFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file with which the system starts a worker of this checkout."""

    system: Annotated[str, Meta(description="systemd or launchd")]
    name: Annotated[str, Meta(description="the service's name")]
    path: Annotated[str, Meta(description="where the file belongs")]
    text: Annotated[str, Meta(description="the file")]
    commands: Annotated[
        tuple[str, ...], Meta(description="what to run, in this order, once it lies there")
    ]


class SetAside(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the queue that no job of ours belongs to."""

    at: Annotated[str, Meta(description="when it was set aside: UTC, ISO 8601")]
    reason: Annotated[str, Meta(description="why")]
    message: Annotated[str, Meta(description="how it begins")]


class QueueView(msgspec.Struct, frozen=True, kw_only=True):
    """The queue as a whole."""

    paused_since: Annotated[
        str | None, Meta(description="since when it is paused: UTC, ISO 8601; null if it is not")
    ]
    running_by_executor: Annotated[
        dict[str, int],
        Meta(
            description="by executor, how many slots are taken; under the empty name how many jobs"
            " without an agent run, which take none"
        ),
    ]
    jobs_by_state: Annotated[dict[str, int], Meta(description="by state, how many jobs there are")]
    waiting: Annotated[int, Meta(description="how many messages wait in the queue")]
    set_aside: Annotated[tuple[SetAside, ...], Meta(description="messages that were set aside")]
    worker_count: Annotated[int, Meta(description="how many workers live")]
    concurrency: Annotated[int, Meta(description="how many agents may run at once")]
    step_concurrency: Annotated[
        int, Meta(description="how many jobs without an agent may run at once, beside the agents")
    ]
    short_of: Annotated[
        tuple[str, ...],
        Meta(
            description="in words, what living workers are short of (disk space, memory), so that"
            " they take nothing; empty where all take jobs"
        ),
    ]


class NotificationView(msgspec.Struct, frozen=True, kw_only=True):
    """What a command of the user's was told."""

    seq: Annotated[int, Meta(description="the number of the change that it tells of")]
    event: Annotated[str, Meta(description="the event")]
    project: Annotated[str | None, Meta(description="the project's id; null for none")]
    task: Annotated[str | None, Meta(description="the id of the task; null for none")]
    job: Annotated[int | None, Meta(description="the number of the job; null for none")]
    worker: fields.WorkerKey
    state: Annotated[
        str,
        Meta(
            description="running, delivered, failed, timed_out, or uncertain: its worker died while"
            " the command ran"
        ),
    ]
    reason: Annotated[str, Meta(description="why it was not delivered; empty where it was")]
    began_at: Annotated[str, Meta(description="when the command was started: UTC, ISO 8601")]
    ended_at: Annotated[
        str | None, Meta(description="when it ended, or was found to be uncertain; null before")
    ]


class NotificationTried(msgspec.Struct, frozen=True, kw_only=True):
    """How a command has ended that `sow notify test` has run."""

    event: Annotated[str, Meta(description="the event")]
    state: Annotated[str, Meta(description="delivered, failed, timed_out or uncertain")]
    exit_code: Annotated[int | None, Meta(description="its exit code; null without one")]
    seconds: Annotated[float, Meta(description="how long it ran")]
    reason: Annotated[str, Meta(description="why it does not count as delivered; or empty")]
    last_lines: Annotated[str, Meta(description="the last lines of what it has printed")]


class Paused(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the queue is paused, after it was paused or let go on."""

    paused_since: Annotated[
        str | None, Meta(description="since when it is paused: UTC, ISO 8601; null if it is not")
    ]
    was_paused: Annotated[bool, Meta(description="whether it was paused before")]


class FindingView(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was checked."""

    check: Annotated[str, Meta(description="the name of the check")]
    level: Annotated[str, Meta(description="ok, note, warning or error")]
    text: Annotated[str, Meta(description="what was found, in one line")]
    remedy: Annotated[str, Meta(description="what to do; often empty")]
    facts: Annotated[
        dict[str, Any], Meta(description="the same for programs; its keys belong to the check")
    ]
    section: (
        Annotated[str, Meta(description="the part of the examination, of `sow doctor`")] | UnsetType
    ) = UNSET


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """What `sow doctor` has found."""

    ok: Annotated[bool, Meta(description="whether agents can run here")]
    version: fields.Version
    findings: Annotated[tuple[FindingView, ...], Meta(description="each thing that was checked")]


class SettingsFile(msgspec.Struct, frozen=True, kw_only=True):
    """Where the user's config file is."""

    path: fields.SettingsPath
    exists: Annotated[bool, Meta(description="whether it is there")]


class SettingsCheck(SettingsFile, frozen=True, kw_only=True):
    """Whether the configuration can be used."""

    valid: Annotated[bool, Meta(description="whether it can be used")]
    findings: Annotated[tuple[FindingView, ...], Meta(description="each thing that was checked")]


class SettingsEdited(SettingsCheck, frozen=True, kw_only=True):
    """The same after `sow config edit`."""

    created: Annotated[bool, Meta(description="whether the file was made first")]


class SettingsMade(msgspec.Struct, frozen=True, kw_only=True):
    """A config file that was made from the template."""

    path: fields.SettingsPath
    overwritten: Annotated[bool, Meta(description="whether one was there")]
    backup: fields.Backup


class SettingsRemoved(msgspec.Struct, frozen=True, kw_only=True):
    """A config file that was removed."""

    path: fields.SettingsPath
    removed: Annotated[bool, Meta(description="whether one was there")]
    backup: fields.Backup


class Settings(SettingsFile, frozen=True, kw_only=True):
    """Every setting in effect."""

    repository_path: Annotated[
        str | None, Meta(description="the repository's settings; null without a repository")
    ]
    environment: Annotated[
        dict[str, str], Meta(description="the variables that chose an executor, and their values")
    ]
    settings: Annotated[
        dict[str, Any],
        Meta(
            description="the settings, in the form of `sow schema config`; and `clones`, `checks`"
            " and `reviews`, as far as the repository says something of them"
        ),
    ]
    origins: Annotated[
        dict[str, str], Meta(description="where each came from, by its key with dots")
    ]
    warnings: Annotated[tuple[str, ...], Meta(description="what a person should look at")]


class TrustedLine(msgspec.Struct, frozen=True, kw_only=True):
    """One command line of the repository's settings."""

    key: Annotated[str, Meta(description="where it stands in .sow/config.yaml")]
    run: Annotated[str, Meta(description="the command line")]


class Trusted(msgspec.Struct, frozen=True, kw_only=True):
    """What this user lets sow run in this workspace."""

    commands: Annotated[tuple[TrustedLine, ...], Meta(description="every command line")]
    was_accepted: Annotated[bool, Meta(description="whether just these were accepted before")]
    released: Annotated[
        tuple[int, ...], Meta(description="the jobs that were held and go on now, by number")
    ]


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """What `sow init` has made."""

    root: Annotated[str, Meta(description="the workspace's root")]
    made: Annotated[tuple[str, ...], Meta(description="what was made, relative to it")]
    stood: Annotated[tuple[str, ...], Meta(description="what was there already")]
    references: Annotated[
        tuple[dict[str, Any], ...],
        Meta(description="what has become of each reference, as `sow refs init` prints it"),
    ]


class PromptView(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt of the library; of a list, without its text. What is put together has no name."""

    name: Annotated[
        str | None,
        Meta(description="its name, such as guidance/implementer/base; null where none was asked"),
    ]
    made_of: (
        Annotated[
            tuple[str, ...],
            Meta(description="where none was asked: the names of what was put together"),
        ]
        | UnsetType
    ) = UNSET
    text: Annotated[str, Meta(description="its text, in Markdown")] | UnsetType = UNSET


class PromptFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a prompt is made of."""

    name: Annotated[str, Meta(description="the prompt it belongs to: this one, or an included")]
    path: Annotated[str, Meta(description="the file")]
    is_teams: Annotated[bool, Meta(description="whether it is the team's own, in .sow/prompts")]


class PromptFiles(msgspec.Struct, frozen=True, kw_only=True):
    """With --where: the files that a prompt is made of."""

    name: Annotated[str, Meta(description="its name")]
    files: Annotated[
        tuple[PromptFile, ...],
        Meta(description="the files, in their order; of one prompt with those it includes"),
    ]
    is_in_yours: Annotated[
        bool, Meta(description="whether `sow prompt` without a name prints it, to you, here")
    ]


class PromptsChecked(msgspec.Struct, frozen=True, kw_only=True):
    """With --check: whether the team's own prompts can be used."""

    valid: Annotated[bool, Meta(description="whether none of them is refused")]
    findings: Annotated[tuple[FindingView, ...], Meta(description="what was found of each file")]


class SchemaName(msgspec.Struct, frozen=True, kw_only=True):
    """A schema that `sow schema` prints."""

    name: Annotated[str, Meta(description="the words to give to `sow schema`")]
    describes: Annotated[str, Meta(description="the file, or what a command prints")]


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """A completion script."""

    shell: Annotated[str, Meta(description="the shell it is for")]
    script: Annotated[str, Meta(description="the script")]


class ToolView(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of `sow mcp`."""

    tool: Annotated[str, Meta(description="its name")]
    command: Annotated[str, Meta(description="the command that it is")]
    description: Annotated[str, Meta(description="what it does: the command's own help")]
    arguments: Annotated[
        dict[str, Any], Meta(description="the arguments that it takes, as JSON Schema")
    ]
    only_reads: Annotated[bool, Meta(description="whether it changes nothing")]


class SessionEnded(msgspec.Struct, frozen=True, kw_only=True):
    """An orchestrator's session on a terminal that has ended."""

    executor: Annotated[str, Meta(description="whose session it was")]
    session_id: Annotated[
        str | None, Meta(description="its id; null where the executor's CLI made it by itself")
    ]
    cli_exit_code: Annotated[
        int, Meta(description="how the CLI exited; minus a signal's number where one killed it")
    ]


class StartPreview(msgspec.Struct, frozen=True, kw_only=True):
    """The session that `sow start` would begin (`--dry-run`)."""

    executor: Annotated[str, Meta(description="whose session it would be")]
    argv: Annotated[tuple[str, ...], Meta(description="the command")]
    cwd: Annotated[str, Meta(description="the folder")]
    env_names: Annotated[tuple[str, ...], Meta(description="the names of its variables")]


class WorkerEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A line of what `sow worker` says."""

    at: Annotated[str, Meta(description="when: UTC, ISO 8601")]
    level: Annotated[str, Meta(description="info, warning or error")]
    message: Annotated[str, Meta(description="what it says")]
    job: Annotated[int | None, Meta(description="the number of the job that it is about; or null")]
    task: Annotated[str | None, Meta(description="the id of the task that it is about; or null")]
    agent: Annotated[str | None, Meta(description="the role that it is about; or null")]
