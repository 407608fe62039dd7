"""The keys that several objects of `--json` share, each with the one meaning that it has."""

from typing import Annotated

from msgspec import Meta


def about(words: str) -> Meta:
    """Return what the schemas say of a key."""
    return Meta(description=words)


TaskKey = Annotated[str, about("the task's id, such as 010")]
JobsTask = Annotated[
    str | None, about("the task's id, such as 010; null if the job is about the whole project")
]
JobsAgent = Annotated[
    str | None, about("the role, such as implementer; null for a job without an agent")
]
JobsExecutor = Annotated[
    str | None, about("the executor's name in the configuration; null for a job without an agent")
]
JobKey = Annotated[int, about("the job's number")]
ProjectKey = Annotated[str, about("the project's id, a UUID")]
WorkerKey = Annotated[str, about("the worker's id")]
Agent = Annotated[str, about("the role, such as implementer")]
Executor = Annotated[str, about("the executor's name in the configuration")]
Verb = Annotated[
    str, about("what was asked for: spawn, resume, open, review, check, update or merge")
]
SessionId = Annotated[str | None, about("the id of the session in its CLI; null if there is none")]
Cause = Annotated[
    str | None, about("why the attempt, or the job's last attempt, ended; null if none has ended")
]
Reason = Annotated[str, about("the cause in words; may be empty")]
CreatedAt = Annotated[str, about("when it was created: UTC, ISO 8601, whole seconds")]
StartedAt = Annotated[str | None, about("when it first started: UTC, ISO 8601; null before that")]
EndedAt = Annotated[str | None, about("when it ended: UTC, ISO 8601; null before that")]
CostUsd = Annotated[
    float | None,
    about(
        "US dollars, as its CLI reports or as the price table gives for its tokens,"
        " with four decimal places; null if unknown"
    ),
]
ExitCode = Annotated[int, about("the exit code of sow (docs/howto/programs.md)")]
Pid = Annotated[int, about("the process id")]
Version = Annotated[str, about("the version of sow")]
SettingsPath = Annotated[str, about("the user's config file")]
Backup = Annotated[str | None, about("the backup of the earlier file; null if there was none")]
