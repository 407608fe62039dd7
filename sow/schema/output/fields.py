"""The keys that several objects of `--json` share, each with the one meaning that it has."""

from typing import Annotated

from msgspec import Meta

TaskKey = Annotated[str, Meta(description="the task's id, such as 010")]
JobsTask = Annotated[
    str | None, Meta(description="the task's id, such as 010; null of a job about the project")
]
JobsAgent = Annotated[
    str | None, Meta(description="the role, such as implementer; null of a job without an agent")
]
JobsExecutor = Annotated[
    str | None,
    Meta(description="the executor's name in the configuration; null of a job without an agent"),
]
JobKey = Annotated[int, Meta(description="the job's number")]
ProjectKey = Annotated[str, Meta(description="the project's id, a UUID")]
WorkerKey = Annotated[str, Meta(description="the worker's id")]
Agent = Annotated[str, Meta(description="the role, such as implementer")]
Executor = Annotated[str, Meta(description="the executor's name in the configuration")]
Verb = Annotated[
    str, Meta(description="what was asked for: spawn, resume, open, review, check, update or merge")
]
SessionId = Annotated[
    str | None, Meta(description="the session's id, as its CLI knows it; null without one")
]
Cause = Annotated[
    str | None, Meta(description="why the attempt ended (the last one, of a job); null while none")
]
Reason = Annotated[str, Meta(description="the cause in words; empty where there is no more to say")]
CreatedAt = Annotated[str, Meta(description="when it was made: UTC, ISO 8601, whole seconds")]
StartedAt = Annotated[
    str | None, Meta(description="when it was first started: UTC, ISO 8601; null before")
]
EndedAt = Annotated[str | None, Meta(description="when it ended: UTC, ISO 8601; null before")]
CostUsd = Annotated[
    float | None,
    Meta(
        description="US dollars, as its CLI tells it or as counted from tokens by the price table,"
        " to four places; null where nobody can tell"
    ),
]
ExitCode = Annotated[int, Meta(description="the exit code of sow (docs/howto/programs.md)")]
Pid = Annotated[int, Meta(description="the process id")]
Version = Annotated[str, Meta(description="the version of sow")]
SettingsPath = Annotated[str, Meta(description="the user's config file")]
Backup = Annotated[
    str | None, Meta(description="where the file that was there is kept; null where none was")
]
