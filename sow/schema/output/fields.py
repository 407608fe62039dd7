"""The keys that several objects of `--json` share, each with the one meaning that it has."""

from typing import Annotated

from msgspec import Meta


def about(words: str) -> Meta:
    """Return what the schemas say of a key."""
    return Meta(description=words)


TaskKey = Annotated[str, about("the task's id, such as 010")]
JobsTask = Annotated[
    str | None, about("the task's id, such as 010; null of a job about the project")
]
JobsAgent = Annotated[
    str | None, about("the role, such as implementer; null of a job without an agent")
]
JobsExecutor = Annotated[
    str | None, about("the executor's name in the configuration; null of a job without an agent")
]
JobKey = Annotated[int, about("the job's number")]
ProjectKey = Annotated[str, about("the project's id, a UUID")]
WorkerKey = Annotated[str, about("the worker's id")]
Agent = Annotated[str, about("the role, such as implementer")]
Executor = Annotated[str, about("the executor's name in the configuration")]
Verb = Annotated[
    str, about("what was asked for: spawn, resume, open, review, check, update or merge")
]
SessionId = Annotated[str | None, about("the session's id, as its CLI knows it; null without one")]
Cause = Annotated[
    str | None, about("why the attempt ended (the last one, of a job); null while none")
]
Reason = Annotated[str, about("the cause in words; empty where there is no more to say")]
CreatedAt = Annotated[str, about("when it was made: UTC, ISO 8601, whole seconds")]
StartedAt = Annotated[str | None, about("when it was first started: UTC, ISO 8601; null before")]
EndedAt = Annotated[str | None, about("when it ended: UTC, ISO 8601; null before")]
CostUsd = Annotated[
    float | None,
    about(
        "US dollars, as its CLI tells it or as counted from tokens by the price table,"
        " to four places; null where nobody can tell"
    ),
]
ExitCode = Annotated[int, about("the exit code of sow (docs/howto/programs.md)")]
Pid = Annotated[int, about("the process id")]
Version = Annotated[str, about("the version of sow")]
SettingsPath = Annotated[str, about("the user's config file")]
Backup = Annotated[str | None, about("where the file that was there is kept; null where none was")]
