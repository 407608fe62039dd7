"""Which commands are tools of `sow mcp`, and what of each a client may give.

Plain data. What is not named here no client can give: no file of this machine
to be read, no terminal to be asked at, nothing that goes on for ever.
"""

from collections.abc import Mapping

from msgspec import Struct


class Source(Struct, frozen=True):
    """A command, and the arguments of its tool.

    Each word of `takes` is an argument's name; behind `=` the command's own parameter, where that
    is called otherwise. `!` marks what has to be given, `<` what goes in on standard input, and `~`
    a single word of a parameter that holds several.
    """

    command: str
    takes: str = ""
    own: str = ""
    """The parameter that always names the calling agent's own task."""
    flags: tuple[str, ...] = ()
    """Options that are always given."""
    words: Mapping[str, tuple[str, ...]] = {}
    """The words that an argument may be, where they are fewer than the command takes."""


WAITS = "wait detach"
STARTS = f"again budget unmetered {WAITS} dry_run"

SOURCES: tuple[Source, ...] = (
    Source("status"),
    Source("next"),
    Source("prompt", "name=path list=as_list"),
    Source(
        "project new",
        "name description phases type=kind from_breakdown=breakdown from_issue=issue"
        " repo=repository",
    ),
    Source("project status"),
    Source("project list"),
    Source("project set", "field value"),
    Source("project check", f"checks=names again {WAITS}"),
    Source("project publish"),
    Source("knowledge list", "kind"),
    Source("knowledge search", "query=words!~ kind limit"),
    Source("knowledge show", "document=name"),
    Source("project finish"),
    Source("project abandon"),
    Source("advance", "event list=lists dry_run"),
    Source("approve", "names"),
    Source("phase list"),
    Source("phase add", "name"),
    Source("phase finish", "name"),
    Source("phase reopen", "name"),
    Source("input add", "path type=kind"),
    Source("input list"),
    Source("input remove", "path"),
    Source("output add", "path type=kind"),
    Source("output list"),
    Source("output remove", "path"),
    Source("output move", "path to=folder"),
    Source("feedback add", "text=file!<"),
    Source("feedback list", "all=with_settled"),
    Source("feedback settle", "ids=numbers"),
    Source(
        "task add",
        "name agent id=task_option description=description_file< phase new_phase depends_on checks"
        " references from_issue=issue repo=repository",
    ),
    Source("task import", "entries=file!< new_phase priority"),
    Source("task list", "status phase ready waiting blocked"),
    Source("task show", "tasks=task_options description"),
    Source("task set", "tasks=task_options field=words!~ value=words!~ cancel_job"),
    Source("task abandon", "task=task_option cancel_job"),
    Source("task reopen", "task=task_option"),
    Source("task remove", "tasks=task_options"),
    Source("task log", "task=task_option last"),
    Source("task output", "task=task_option attempt"),
    Source("task explain", "task=task_option"),
    Source("task diff", "task=task_option stat name_only"),
    Source("task check", f"task=task_option checks=words again {WAITS}"),
    Source("agent list"),
    Source(
        "agent spawn",
        "agent=words~ tasks=task_options prompt fresh reassign ignore_deps when_ready priority"
        f" clone {STARTS}",
    ),
    Source("agent resume", f"task=task_option prompt=words< feedback conflict priority {STARTS}"),
    Source("agent answer", f"task=task_option answer=words!< priority {STARTS}"),
    Source("agent review", f"tasks=task_options project=whole agent prompt {STARTS}"),
    Source("agent wait", "tasks=task_options any=any_one all=all_of_them since wait"),
    Source("agent cancel", "tasks=task_options keep_children with_batches"),
    Source("agent log", "text task result files body"),
    Source("review accept", "task=task_option project=whole summary complete"),
    Source("review correct", "task=task_option project=whole findings=file!< summary"),
    Source("review show", "task=task_option"),
    Source("merge", f"tasks squash rebase again {WAITS}"),
    Source(
        "batch run",
        "tasks phase name max_parallel keep_going fail_fast clone check review reviewer"
        f" max_iterations merge accept budget unmetered {WAITS}",
    ),
    Source("batch list", "limit"),
    Source("batch show", "batch=name"),
    Source("batch wait", "batch=name since wait"),
    Source("batch add", "batch=name tasks"),
    Source("batch remove", "batch=name tasks"),
    Source("batch pause", "batch=name"),
    Source("batch resume", "batch=name budget unmetered"),
    Source("batch cancel", "batch=name"),
    Source("job list", "task active limit"),
    Source("job show", "job=job_id"),
    Source("job explain", "job=job_id"),
    Source("job logs", "job=job_ids~ attempt since"),
    Source("job wait", "jobs=job_ids any=any_one wait"),
    Source("job retry", f"job=job_id fresh priority {WAITS}"),
    Source("job cancel", "job=job_id keep_children with_batches"),
    Source("clone list"),
    Source("clone path", "task=task_option"),
    Source("clone update", "task=task_option"),
    Source("clone remove", "task discard"),
    Source("log", "task agent since last"),
    Source("changes", "since task job limit"),
    Source("pr status", "branch repo=repository"),
    Source("cost", "by since"),
    Source("report", "batch=name"),
    Source("stats", "since by"),
    Source("refs add", "url id=name link branch tag path kind tags description summary"),
    Source("refs list"),
    Source("refs status", "references=ids"),
    Source("refs update", "references=ids"),
    Source("refs remove", "reference=name"),
    Source("refs init"),
    Source("refs prune", "dry_run"),
    Source("queue status"),
    Source("queue pause"),
    Source("queue resume"),
    Source("validate", "fix"),
    Source("doctor", "executors"),
)
"""For a person's client, and for an agent whose role orchestrates, as far as it has the right."""

LEADING: frozenset[str] = frozenset(
    {
        *("status", "next", "prompt", "log", "validate", "queue resume"),
        *("knowledge search", "knowledge show"),
        *("project new", "project status", "project set", "project check"),
        *("project publish", "project finish", "doctor", "clone list"),
        *("advance", "approve", "phase list", "phase finish"),
        *("input add", "input list", "output add", "output list", "output remove", "output move"),
        *("feedback add", "feedback list", "feedback settle"),
        *("task add", "task import", "task list", "task show", "task set", "task log", "task diff"),
        *("task abandon", "task reopen"),
        *("agent spawn", "agent resume", "agent answer", "agent review", "agent wait"),
        *("agent cancel", "agent log", "review accept", "review correct", "review show"),
        *("merge", "clone update", "job show", "job logs", "job wait", "job cancel"),
        *("batch run", "batch show", "batch wait", "batch resume", "batch cancel"),
    }
)
"""The commands of SOURCES that take a project from its beginning to its end: all that `sow next`
and the guards of a project name, and what shows how an agent or a batch fares. A client that has
more tools has more to read with each request, and more to choose from."""

_SHOW = Source("task show", "description", own="task_options")
_LOG = Source("agent log", "text result files body", own="task")
_VERDICT = Source("review show", own="task_option")

REPORTING: tuple[Source, ...] = (
    _SHOW,
    _LOG,
    _VERDICT,
    Source(
        "task set",
        "field=words!~ value=words!~",
        own="task_options",
        words={"field": ("status", "feedback", "files_modified")},
    ),
)
"""For the agent of a job: its own task and no other."""

JUDGING: tuple[Source, ...] = (
    _SHOW,
    _LOG,
    _VERDICT,
    Source("review accept", "summary", own="task_option"),
    Source("review correct", "findings=file!< summary", own="task_option"),
)
"""For the agent that reviews a task: its verdict, and no status."""

JUDGING_WHOLE: tuple[Source, ...] = (
    Source("review accept", "summary", flags=("--project",)),
    Source("review correct", "findings=file!< summary", flags=("--project",)),
)
"""Besides REPORTING for a role that reviews: its task is the review of the project as a whole."""

MEANINGS: Mapping[str, str] = {
    "name": "Its name.",
    "field": "The field.",
    "value": "Its new value; lists are written a,b.",
    "text": "The text.",
    "task": "The task's id, such as 010.",
    "tasks": "The tasks' ids, such as 010.",
    "job": "The job's number.",
    "jobs": "The jobs' numbers.",
    "batch": "The batch's number or name; the newest without it.",
    "agent": "The role, such as implementer.",
    "prompt": "What the agent should do next.",
    "answer": "The answer to its question.",
    "entries": "The tasks: a list in YAML, or JSON with a task a line.",
    "findings": "What is to be changed, in Markdown.",
    "description": "What is to be done, in Markdown.",
    "event": "The event; the awaited one without it.",
    "names": "`plan`, paths of documents, or ids of work units.",
    "path": "The file's path in the repository.",
    "ids": "Their numbers.",
    "checks": "Names of checks; the default ones without it.",
    "query": "The words to look for, between spaces.",
    "document": "Its id in `knowledge list`, the beginning of one, or a path.",
    "url": "Where it is: an address, or a repository's folder.",
    "reference": "The reference's id.",
    "references": "The references' ids; all without it.",
    "executors": "Their names; all without it.",
}
"""What an argument is that is no option of its command, or whose option speaks of a file."""
