"""Every command of sow, one row each, in the order of the help.

A row says all that other parts of sow need to know of a command before it is imported: where its
code is, its line in the help, who may run it, what it prints with `--json`, and which of its
parameters a client of MCP may give. The command line (`sow.cli.lazy`), the rights of agents
(`sow.agents.rights`), the schemas (`sow.schema.catalogue`) and the tools of MCP
(`sow.cli.mcp_tools`) read these rows and keep no list of their own.

Plain data: every command imports this module. It imports nothing of sow but the rows of
features and the class of a row, and names code and schemas as text.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache

from sow.features import OPTIONS
from sow.plain_record import PlainRecord


class Right(Enum):
    """Which agents may run a command. People may run all of them."""

    READS = "every agent: it changes nothing of the project, the queue or the configuration"
    OWN_TASK = "every agent, for its own task"
    PLANNERS = "agents that plan or orchestrate"
    REVIEWERS = "agents that review or orchestrate, for work that is not their own"
    ORCHESTRATORS = "agents that orchestrate"
    PEOPLE = "no agent: a person decides"


class Tool(PlainRecord):
    """A command as a tool of MCP, for a person's client and for agents that orchestrate.

    Each word of `takes` is an argument's name; after `=`, the command's own parameter if that has
    another name. `!` marks a required argument, `<` one that goes to standard input, and `~` a
    single word of a parameter that holds several. A client can give nothing else: no file of this
    machine to read, no terminal to ask at.
    """

    takes: str = ""
    leads: bool = False
    """Whether it is needed to lead a project from its beginning to its end. A client that is
    offered more tools reads more with each request."""
    ends_work: bool = False
    """Whether it ends or removes work."""
    keeps_last: bool = False
    """Whether its last results are the newest."""


WORK, REVIEW, PROJECT_REVIEW = "work", "review", "project review"
"""What the agent of a job does: work on a task, review it, or review the project as a whole."""


class AgentTool(PlainRecord):
    """A command as a tool for the agents of jobs, which have their own task and no other."""

    offered_for: Sequence[str]
    takes: str = ""
    own_task: str = ""
    """The parameter that always names the calling agent's own task."""
    flags: Sequence[str] = ()
    """Options that are always given."""
    choices: Mapping[str, Sequence[str]] = {}
    """The values that an argument may have, where they are fewer than the command accepts."""


class Command(PlainRecord):
    """A command, or a group of commands: the rows that begin with its words."""

    words: str
    help: str
    section: str
    """The heading in the help of its group, or of `sow` itself."""
    code: str = ""
    """`module:name` in `sow.cli`; empty for a group that is nothing but its rows."""
    right: Right | None = None
    """None for a group that is no command itself."""
    prints: str = ""
    """The objects that it prints with `--json`, as `module.Struct` in `sow.schema.output`."""
    tool: Tool | str = ""
    """Its tool of MCP, or the reason why it has none."""
    right_with: Mapping[str, Right] = {}
    """The right that it takes with an option, by the option's parameter."""
    has_rule: bool = True
    """Whether the CLI of an agent that may run it gets a permission rule for it. Agents need no
    rule for what chooses programs, serves until it is stopped, needs a person, or shows what is
    the user's own."""
    agent_tools: Sequence[AgentTool] = ()
    about: str = ""
    """More about a group that is nothing but its rows, for its own help."""

    @property
    def path(self) -> tuple[str, ...]:
        """Its words, one by one."""
        return tuple(self.words.split())


REPORTING = frozenset({Right.OWN_TASK, Right.PLANNERS, Right.REVIEWERS})
"""What an agent in a sandbox may run outside of it (`worker.reports`): its reports. Whoever leads
others would choose programs that run without its sandbox."""
KEPT = frozenset({Right.OWN_TASK, Right.REVIEWERS})
"""Those of them that may be carried out later, and of which it can be told whether they were."""

WAITS = "wait detach"
OF_FEATURES = " ".join(OPTIONS)
STARTS = f"again {OF_FEATURES} {WAITS} dry_run"

READS, OWN_TASK, PLANNERS, REVIEWERS, ORCHESTRATORS, PEOPLE = Right

DECIDED_BY_PERSON = "A person decides this."
NEEDS_TERMINAL = "It needs a terminal."
SERVES = "It serves until it is stopped."
USERS_OWN = "It is about the user's own settings and machine."
PERSON_CHECKS = "A person checks what was lost."
HOOK = "A hook runs it."
NO_PROJECT = "It works before there is a project."
SAME_AS_OTHER = "Another command does the same."
DAILY, ALL = "Daily work", "Commands"

# One row reads as one: the formatter would put each of its values on a line of its own.
# fmt: off
_PARTS: Mapping[str, Callable[[], Sequence[Command]]] = {
    "next status watch": lambda: (
    Command("next", "Print what to do next, as commands.", DAILY,
            "status:show_next", READS, "situation.StepView", Tool(leads=True)),
    Command("status", "Show where the project stands, on one screen.", DAILY,
            "status:status", READS, "situation.Status", Tool(leads=True)),
    Command("watch", "Show live what all agents do, and act on it.", DAILY,
            "watch:watch", READS, "watching.Watched", SAME_AS_OTHER, has_rule=False),
    ),
    "task": lambda: (
    Command("task", "Add, list, show and change tasks.", DAILY,
            about="A task is named by its id, as an argument or with --id. Without "
                  "either, sow reads SOW_TASK_ID, which it sets for every agent."),
    Command("task add", "Add a task.", DAILY,
            "task_add:add", PLANNERS, "tasks.TaskView",
            Tool("name agent id=task_option description=description_file< phase new_phase "
                 "depends_on checks references from_issue=issue repo=repository", leads=True),
            right_with={"issue": ORCHESTRATORS}),
    Command("task list", "List the project's tasks.", DAILY,
            "task_show:list_all", READS, "tasks.ListedTask",
            Tool("status phase ready waiting blocked", leads=True)),
    Command("task show", "Show tasks.", DAILY,
            "task_show:show", READS, "tasks.TaskShown tasks.Description",
            Tool("tasks=task_options description", leads=True),
            agent_tools=(AgentTool((WORK, REVIEW), "description", own_task="task_options"),)),
    Command("task set", "Set one field of a task.", DAILY,
            "task_change:set_field", OWN_TASK, "tasks.TaskView",
            Tool("tasks=task_options field=words!~ value=words!~ cancel_job", leads=True),
            agent_tools=(AgentTool((WORK,), "field=words!~ value=words!~", own_task="task_options",
                                   choices={"field": ("status", "feedback", "files_modified")}),)),
    Command("task diff", "Print what a task has changed.", DAILY,
            "task_diff:diff", READS, "tasks.TaskDiff",
            Tool("task=task_option stat name_only", leads=True)),
    Command("task log", "Print a task's log entries.", "Results",
            "log:log", READS, "tasks.LogEntryView",
            Tool("task=task_option last", leads=True, keeps_last=True)),
    Command("task explain", "Explain what happened in a task's last job.", "Results",
            "job_show:explain_task", READS, "jobs.JobStory", Tool("task=task_option")),
    Command("task output", "Print what the agent of a task's last job wrote.", "Results",
            "job_logs:output", READS, "jobs.EventView",
            Tool("task=task_option attempt", keeps_last=True)),
    Command("task check", "Run a task's checks, and record the results.", "Results",
            "check:task_check", ORCHESTRATORS, "jobs.Outcome",
            Tool(f"task=task_option checks=words again {WAITS}", leads=True)),
    Command("task import", "Add and change tasks from a file.", "Other",
            "task_bulk:import_file", PLANNERS, "tasks.ImportedTask",
            Tool("entries=file!< new_phase priority", leads=True)),
    Command("task export", "Print the tasks as a file for `sow task import`.", "Other",
            "task_bulk:export", READS, ".task_entry.TaskEntry", SAME_AS_OTHER),
    Command("task remove", "Remove tasks that have never run.", "Other",
            "task_bulk:remove", PLANNERS, "tasks.RemovedTask",
            Tool("tasks=task_options", ends_work=True)),
    Command("task abandon", "Abandon a task.", "Other",
            "task_change:abandon", OWN_TASK, "tasks.TaskView",
            Tool("task=task_option cancel_job", leads=True, ends_work=True)),
    Command("task reopen", "Make a finished task pending again.", "Other",
            "task_change:reopen", OWN_TASK, "tasks.TaskView", Tool("task=task_option", leads=True)),
    ),
    "agent": lambda: (
    Command("agent", "Start agents, resume them, wait for them, write their logs.", DAILY),
    Command("agent spawn", "Queue an agent for a task, and wait.", "Start agents",
            "agent_spawn:spawn", ORCHESTRATORS, "jobs.Outcome jobs.Preview",
            Tool("agent=words~ tasks=task_options prompt fresh reassign ignore_deps "
                 f"when_ready priority clone {STARTS}", leads=True)),
    Command("agent resume", "Continue a task's session, and wait.", "Start agents",
            "agent_resume:resume", ORCHESTRATORS, "jobs.Outcome jobs.Preview",
            Tool(f"task=task_option prompt=words< feedback conflict priority {STARTS}",
                 leads=True)),
    Command("agent answer", "Answer the question of a paused task.", "Start agents",
            "agent_resume:answer", ORCHESTRATORS, "jobs.Outcome jobs.Preview",
            Tool(f"task=task_option answer=words!< priority {STARTS}", leads=True)),
    Command("agent review", "Have a task's work reviewed.", "Start agents",
            "agent_review:review_task", ORCHESTRATORS, "jobs.Outcome jobs.Preview",
            Tool(f"tasks=task_options project=whole agent prompt {STARTS}", leads=True)),
    Command("agent open", "Continue a task's session yourself.", "Start agents",
            "agent_open:open_task", ORCHESTRATORS, "jobs.Outcome", NEEDS_TERMINAL, has_rule=False),
    Command("agent wait", "Wait for the outcome of tasks.", "Follow agents",
            "agent_wait:wait", ORCHESTRATORS, "jobs.Outcome changes.ChangesSince",
            Tool("tasks=task_options any=any_one all=all_of_them since wait", leads=True)),
    Command("agent cancel", "Cancel the job of a task.", "Follow agents",
            "cancel:cancel_agent", ORCHESTRATORS, "jobs.Cancelled",
            Tool("tasks=task_options keep_children with_batches", leads=True, ends_work=True)),
    Command("agent list", "List the roles that an agent can play.", "Follow agents",
            "agent_list:list_agents", READS, "guidance.AgentView", Tool()),
    Command("agent log", "Write an entry into a task's log.", "For agents",
            "agent_log:log", OWN_TASK, "tasks.LogWritten",
            Tool("text task result files body", leads=True),
            agent_tools=(AgentTool((WORK, REVIEW), "text result files body", own_task="task"),)),
    Command("agent task", "Report on the task that you work on.", "For agents"),
    Command("agent task state", "Change the state of the task that you work on.", ALL),
    Command("agent task state set-status", "Set the status of your task.", ALL,
            "task_change:set_status", OWN_TASK, "tasks.TaskView", SAME_AS_OTHER),
    ),
    "review": lambda: (
    Command("review", "Accept a task's work, or ask for corrections.", DAILY,
            about="A verdict applies to the commit that was reviewed. The author of a "
                  "task cannot review it."),
    Command("review accept", "Accept a task's work.", ALL,
            "review:accept", REVIEWERS, "tasks.Judged projects.WholeJudged",
            Tool("task=task_option project=whole summary complete", leads=True),
            agent_tools=(AgentTool((REVIEW,), "summary", own_task="task_option"),
                         AgentTool((PROJECT_REVIEW,), "summary", flags=("--project",)))),
    Command("review correct", "Ask for corrections.", ALL,
            "review:correct", REVIEWERS, "tasks.Judged projects.WholeJudged",
            Tool("task=task_option project=whole findings=file!< summary", leads=True),
            agent_tools=(AgentTool((REVIEW,), "findings=file!< summary", own_task="task_option"),
                         AgentTool((PROJECT_REVIEW,), "findings=file!< summary",
                                   flags=("--project",)))),
    Command("review show", "Show the last verdict.", ALL,
            "review:show", READS, "tasks.Judged", Tool("task=task_option", leads=True),
            agent_tools=(AgentTool((WORK, REVIEW), own_task="task_option"),)),
    ),
    "merge": lambda: (
    Command("merge", "Merge tasks into the project's branch.", DAILY,
            "merge:merge", ORCHESTRATORS, "jobs.Outcome",
            Tool(f"tasks squash rebase again {WAITS}", leads=True)),
    ),
    "batch": lambda: (
    Command("batch", "Run many tasks without supervision.", DAILY,
            about="Workers run the tasks with one policy: review, corrections, checks, merge."),
    Command("batch run", "Run tasks, and wait until all have ended.", DAILY,
            "batch_run:run", ORCHESTRATORS, "batches.BatchDetail batches.NoBatch",
            Tool("tasks phase name max_parallel keep_going fail_fast clone check review "
                 f"reviewer max_iterations merge accept {OF_FEATURES} {WAITS}", leads=True)),
    Command("batch show", "Show the state of each task of a batch.", DAILY,
            "batch:show", READS, "batches.BatchDetail", Tool("batch=name", leads=True)),
    Command("batch wait", "Wait for a batch.", DAILY,
            "batch:wait", ORCHESTRATORS, "batches.BatchDetail changes.ChangesSince",
            Tool("batch=name since wait", leads=True)),
    Command("batch list", "List the batches.", DAILY,
            "batch:list_batches", READS, "batches.BatchView", Tool("limit")),
    Command("batch add", "Add tasks to a batch.", "Change a batch",
            "batch:add", ORCHESTRATORS, "batches.BatchView", Tool("batch=name tasks")),
    Command("batch remove", "Remove tasks from a batch.", "Change a batch",
            "batch:remove", ORCHESTRATORS, "batches.BatchView",
            Tool("batch=name tasks", ends_work=True)),
    Command("batch pause", "Start no more jobs of a batch.", "Change a batch",
            "batch:pause", ORCHESTRATORS, "batches.BatchView", Tool("batch=name")),
    Command("batch resume", "Continue a paused batch.", "Change a batch",
            "batch:resume", ORCHESTRATORS, "batches.BatchView",
            Tool(f"batch=name {OF_FEATURES}", leads=True)),
    Command("batch cancel", "Cancel a batch and its jobs.", "Change a batch",
            "batch:cancel", ORCHESTRATORS, "batches.BatchView",
            Tool("batch=name", leads=True, ends_work=True)),
    ),
    "log init start": lambda: (
    Command("log", "Show the log entries of all tasks in order of time.", DAILY,
            "log:show_log", READS, "tasks.LogLine",
            Tool("task agent since last", leads=True, keeps_last=True)),
    Command("init", "Create a .sow folder here.", "Project",
            "init:init", ORCHESTRATORS, "settings.Made", NO_PROJECT),
    Command("start", "Start an orchestrator's session here.", "Project",
            "start:start", ORCHESTRATORS,
            "sessions.SessionEnded sessions.StartPreview jobs.Outcome",
            NEEDS_TERMINAL, has_rule=False),
    ),
    "project": lambda: (
    Command("project", "Start a project, show it, and end it.", "Project"),
    Command("project new", "Start a project on this branch.", DAILY,
            "project:new", ORCHESTRATORS, "projects.ProjectView",
            Tool("name description phases type=kind from_breakdown=breakdown "
                 "from_issue=issue repo=repository", leads=True)),
    Command("project status", "Show the project.", DAILY,
            "project:status", READS, "projects.ProjectStanding", Tool(leads=True)),
    Command("project check", "Run the repository's checks here.", DAILY,
            "check:project_check", ORCHESTRATORS, "jobs.Outcome",
            Tool(f"checks=names again {WAITS}", leads=True)),
    Command("project finish", "End the completed project, and archive it.", DAILY,
            "project_end:finish", ORCHESTRATORS, "projects.ProjectEnded",
            Tool(leads=True, ends_work=True)),
    Command("project list", "List this project and those that have ended.", "Other",
            "project_end:list_all", READS, "projects.ProjectRow", Tool()),
    Command("project set", "Set one field of the project.", "Other",
            "project:set_field", ORCHESTRATORS, "projects.ProjectView",
            Tool("field value", leads=True)),
    Command("project publish", "Write the units of a breakdown to files or issues.", "Other",
            "project_publish:publish", ORCHESTRATORS, "projects.Published",
            Tool(leads=True), right_with={"elsewhere": PEOPLE}),
    Command("project abandon", "End a project that is no longer needed.", "Other",
            "project_end:abandon", ORCHESTRATORS, "projects.ProjectEnded", Tool(ends_work=True)),
    ),
    "advance approve": lambda: (
    Command("advance", "Move the project to its next state.", "Project",
            "advance:advance", ORCHESTRATORS, "projects.Advanced projects.LifecycleEvent",
            Tool("event list=lists dry_run", leads=True)),
    Command("approve", "Approve the plan, documents or work units.", "Project",
            "approve:approve", ORCHESTRATORS, "projects.Approved", Tool("names", leads=True)),
    ),
    "phase": lambda: (
    Command("phase", "List phases; finish those that people lead.", "Project",
            about="People lead discovery and design. A plan can be executed when they are "
                  "finished."),
    Command("phase add", "Add a phase to the project.", ALL,
            "phase:add", ORCHESTRATORS, "projects.PhaseView", Tool("name")),
    Command("phase finish", "Mark a phase as finished.", ALL,
            "phase:finish", ORCHESTRATORS, "projects.PhaseView", Tool("name", leads=True)),
    Command("phase list", "List the phases.", ALL,
            "phase:list_all", READS, "projects.PhaseView", Tool(leads=True)),
    Command("phase reopen", "Mark a finished phase as open again.", ALL,
            "phase:reopen", ORCHESTRATORS, "projects.PhaseView", Tool("name")),
    ),
    "input": lambda: (
    Command("input", "List the files that the project starts from.", "Project"),
    Command("input add", "List a file of this repository.", ALL,
            "artifacts:add", ORCHESTRATORS, "projects.ArtifactView",
            Tool("path type=kind", leads=True)),
    Command("input list", "List the files, and who has approved each.", ALL,
            "artifacts:list_all", READS, "projects.ArtifactView", Tool(leads=True)),
    Command("input remove", "Take a file off the list; the file stays.", ALL,
            "artifacts:remove", ORCHESTRATORS, "projects.ArtifactView",
            Tool("path", ends_work=True)),
    ),
    "output": lambda: (
    Command("output", "List the files that the project produces.", "Project",
            about="The list also shows which files are approved."),
    Command("output add", "List a file of this repository.", ALL,
            "artifacts:add", ORCHESTRATORS, "projects.ArtifactView",
            Tool("path type=kind", leads=True)),
    Command("output list", "List the files, and who has approved each.", ALL,
            "artifacts:list_all", READS, "projects.ArtifactView", Tool(leads=True)),
    Command("output move", "Move an output to a folder that outlives the project.", ALL,
            "artifacts:move", ORCHESTRATORS, "projects.ArtifactView",
            Tool("path to=folder", leads=True)),
    Command("output remove", "Take a file off the list; the file stays.", ALL,
            "artifacts:remove", ORCHESTRATORS, "projects.ArtifactView",
            Tool("path", leads=True, ends_work=True)),
    ),
    "feedback": lambda: (
    Command("feedback", "Record what should change in the project as a whole.", "Project",
            about="Feedback stays open until it is settled. For the work of one task, use "
                  "`sow review correct`."),
    Command("feedback add", "Record what should change.", ALL,
            "feedback:add", ORCHESTRATORS, "projects.FeedbackView",
            Tool("text=file!<", leads=True)),
    Command("feedback list", "List the open feedback.", ALL,
            "feedback:list_all", READS, "projects.FeedbackView",
            Tool("all=with_settled", leads=True)),
    Command("feedback settle", "Mark feedback as settled.", ALL,
            "feedback:settle", ORCHESTRATORS, "projects.FeedbackView",
            Tool("ids=numbers", leads=True)),
    ),
    "pr": lambda: (
    Command("pr", "Open a pull request on GitHub, and show its state.", "Project",
            about="sow calls your own gh, with its login. It pushes nothing and keeps no token."),
    # It speaks to everybody in the user's name.
    Command("pr create", "Open a pull request for the finished project.", ALL,
            "pr_commands:create", PEOPLE, "pulls.PullOpened", DECIDED_BY_PERSON),
    # It asks a server in the user's name.
    Command("pr status", "Show the state of the pull request.", ALL,
            "pr_commands:status", ORCHESTRATORS, "pulls.PullStatus",
            Tool("branch repo=repository")),
    ),
    "job": lambda: (
    Command("job", "Show jobs and how they ended; wait, retry, cancel.", "Jobs and workers"),
    Command("job list", "List jobs, the newest first.", "Read",
            "job_list:list_jobs", READS, "jobs.JobView", Tool("task active limit")),
    Command("job show", "Show one job and its attempts.", "Read",
            "job_show:show", READS, "jobs.JobDetail", Tool("job=job_id", leads=True)),
    Command("job explain", "Explain what happened, and what comes next.", "Read",
            "job_show:explain", READS, "jobs.JobStory", Tool("job=job_id")),
    Command("job logs", "Print what a job's agent wrote and did.", "Read",
            "job_logs:logs", READS, "jobs.EventView",
            Tool("job=job_ids~ attempt since", leads=True, keeps_last=True)),
    Command("job wait", "Wait for the outcome of jobs.", "Act",
            "job_actions:wait", ORCHESTRATORS, "jobs.Outcome",
            Tool("jobs=job_ids any=any_one wait", leads=True)),
    Command("job retry", "Run a job that has ended again.", "Act",
            "job_actions:retry", ORCHESTRATORS, "jobs.Outcome",
            Tool(f"job=job_id fresh priority {WAITS}")),
    Command("job cancel", "Cancel a job.", "Act",
            "cancel:cancel_job", ORCHESTRATORS, "jobs.Cancelled",
            Tool("job=job_id keep_children with_batches", leads=True, ends_work=True)),
    Command("job resolve", "Declare that a lost job's processes have ended.", "Act",
            "job_actions:resolve", ORCHESTRATORS, "jobs.JobView", PERSON_CHECKS),
    Command("job prune", "Remove the records of old jobs.", "Act",
            "job_prune:prune", ORCHESTRATORS, "jobs.Pruned", PERSON_CHECKS),
    ),
    "queue": lambda: (
    Command("queue", "Show, pause and resume the queue.", "Jobs and workers"),
    Command("queue pause", "Let workers start no more jobs.", ALL,
            "queue:pause", ORCHESTRATORS, "workers.Paused", Tool()),
    Command("queue resume", "Let workers start jobs again.", ALL,
            "queue:resume", ORCHESTRATORS, "workers.Paused", Tool(leads=True)),
    Command("queue status", "Show what waits and runs, and the limits.", ALL,
            "queue:status", READS, "workers.QueueView", Tool()),
    ),
    "worker": lambda: (
    Command("worker", "Run a worker; list and stop workers.", "Jobs and workers",
            "worker:worker", ORCHESTRATORS, "workers.WorkerEvent", SERVES, has_rule=False),
    Command("worker list", "List workers and what they run.", ALL,
            "workers:list_workers", READS, "workers.WorkerView", USERS_OWN),
    Command("worker stop", "Stop workers; agents go on.", ALL,
            "workers:stop", ORCHESTRATORS, "workers.StoppedWorker", USERS_OWN),
    Command("worker logs", "Print the logs of background workers.", ALL,
            "worker_logs:logs", READS, "workers.WorkerLine", USERS_OWN),
    Command("worker unit", "Print a service file that starts a worker.", ALL,
            "worker_unit:unit", READS, "workers.ServiceFile", USERS_OWN, has_rule=False),
    ),
    "hosts": lambda: (
    Command("hosts", "Share a queue on a server.", "Jobs and workers",
            about="The queue is on a server if your own configuration has `queue: url`."),
    Command("hosts init", "Share the queue; say who may queue jobs and who may run them.", ALL,
            "hosts:init", PEOPLE, "hosts.SharedQueue", DECIDED_BY_PERSON),
    Command("hosts list", "List who runs jobs of a shared queue, and since when it is silent.", ALL,
            "hosts:list_hosts", READS, "hosts.HostView", USERS_OWN),
    ),
    "clone": lambda: (
    Command("clone", "List, update and remove the clones of tasks.", "Jobs and workers"),
    Command("clone list", "List clones and their branches.", ALL,
            "clone_list:list_clones", READS, "clones.CloneView clones.BranchView",
            Tool(leads=True)),
    Command("clone path", "Print the path of a task's clone.", ALL,
            "clone_list:path", READS, "clones.ClonePlace", Tool("task=task_option")),
    Command("clone update", "Merge the project's branch into a task's clone.", ALL,
            "clone_update:update", ORCHESTRATORS, "clones.CloneUpdated",
            Tool("task=task_option", leads=True)),
    Command("clone remove", "Remove the clone of a task.", ALL,
            "clone_remove:remove", ORCHESTRATORS, "clones.CloneGone",
            Tool("task discard", ends_work=True)),
    Command("clone prune", "Remove the clones that are no longer needed.", ALL,
            "clone_remove:prune", ORCHESTRATORS, "clones.ClonesPruned", PERSON_CHECKS),
    ),
    "changes report cost stats prompt": lambda: (
    Command("changes", "List changes, and follow new ones.", "Results and costs",
            "changes:changes", READS, "changes.ChangeView", Tool("since task job limit")),
    # It writes a file wherever it is told to.
    Command("report", "Show what ran when, and where the time went.", "Results and costs",
            "report:report", ORCHESTRATORS, "report.Report report.ReportWritten",
            Tool("batch=name")),
    Command("cost", "Show what agents used: tokens, money, time.", "Results and costs",
            "stats:cost", READS, "costs.Costs", Tool("by since")),
    Command("stats", "Show success rates, retries, times and costs.", "Results and costs",
            "stats:stats", READS, "stats.Stats", Tool("since by")),
    Command("prompt", "Print the guidance for now, or any other.", "Guidance and references",
            "prompt:prompt", READS,
            "guidance.PromptView guidance.PromptFiles guidance.PromptsChecked",
            Tool("name=path list=as_list", leads=True)),
    ),
    "knowledge": lambda: (
    Command("knowledge", "Read what earlier projects have documented.", "Guidance and references",
            about="Documents lie in .sow/knowledge and in the folders that "
                  ".sow/config.yaml names (`artifacts`). When a project is finished, sow "
                  "adds it to the index there."),
    Command("knowledge list", "List what earlier projects have documented.", ALL,
            "knowledge_show:list_all", READS, "knowledge.KnowledgeItem", Tool("kind")),
    Command("knowledge search", "Search all of it for words.", ALL,
            "knowledge_show:search", READS, "knowledge.KnowledgeFound",
            Tool("query=words!~ kind limit", leads=True)),
    Command("knowledge show", "Print a document, or the summary of a project.", ALL,
            "knowledge_show:show", READS, "knowledge.KnowledgeShown",
            Tool("document=name", leads=True)),
    ),
    "refs": lambda: (
    Command("refs", "Link other repositories for agents to read.", "Guidance and references",
            about="sow clones each repository once on a machine, for all your "
                  "repositories. The index (.sow/refs/index.yaml) is committed; the links "
                  "are not."),
    Command("refs list", "List the references, and which are linked here.", "Read",
            "refs_show:list_all", READS, "references.ReferenceView", Tool()),
    # It asks servers in the user's name.
    Command("refs status", "Compare references with their remotes.", "Read",
            "refs_show:status", ORCHESTRATORS, "references.ReferenceStanding",
            Tool("references=ids")),
    Command("refs add", "Fetch a repository, and link it here.", "Change",
            "refs_fetch:add", ORCHESTRATORS, "references.ReferenceAdded",
            Tool("url id=name link branch tag path kind tags description summary")),
    # It asks servers in the user's name, and changes what every task reads.
    Command("refs update", "Update references to their remotes.", "Change",
            "refs_fetch:update", ORCHESTRATORS,
            "references.ReferenceUpdated references.ReferenceFailed",
            Tool("references=ids")),
    Command("refs remove", "Remove a reference.", "Change",
            "refs_remove:remove", ORCHESTRATORS, "references.ReferenceRemoved",
            Tool("reference=name", ends_work=True)),
    Command("refs init", "Link all that are missing on this machine.", "Change",
            "refs_fetch:init", ORCHESTRATORS,
            "references.ReferenceUpdated references.ReferenceFailed",
            Tool()),
    Command("refs prune", "Remove from the cache what no repository uses.", "Change",
            "refs_remove:prune", ORCHESTRATORS, "references.CachePruned", Tool("dry_run")),
    ),
    "config": lambda: (
    Command("config", "Choose which agent CLI plays which role.", "Settings and checks",
            code="config:config"),
    Command("config path", "Print the path of your config file.", "Read",
            "config_file:path", READS, "settings.SettingsFile", USERS_OWN),
    Command("config show", "Print the settings in effect, and their origin.", "Read",
            "config_file:show", READS, "settings.Settings", USERS_OWN, has_rule=False),
    Command("config validate", "Check your config file.", "Read",
            "config_edit:validate", READS, "settings.SettingsCheck", USERS_OWN),
    # The user's configuration chooses which programs run.
    Command("config init", "Create your config file, with every setting.", "Change",
            "config_file:init", ORCHESTRATORS, "settings.SettingsMade", USERS_OWN, has_rule=False),
    Command("config edit", "Open your config file in your editor.", "Change",
            "config_edit:edit", ORCHESTRATORS, "settings.SettingsEdited",
            NEEDS_TERMINAL, has_rule=False),
    Command("config reset", "Return to the defaults, and keep a backup.", "Change",
            "config_file:reset", ORCHESTRATORS, "settings.SettingsRemoved",
            USERS_OWN, has_rule=False),
    ),
    "executor": lambda: (
    Command("executor", "List, try and compare agent CLIs.", "Settings and checks",
            about="An executor is an agent CLI with its settings: agents.executors in your "
                  "configuration."),
    Command("executor list", "List executors and what each can do.", ALL,
            "executor_list:list_executors", ORCHESTRATORS, "executors.ExecutorView", Tool()),
    # It runs an agent with the user's login, in a repository of its own.
    Command("executor try", "Run one, and see which promises hold.", ALL,
            "executor_try:try_executor", ORCHESTRATORS, "executors.ExecutorTried",
            USERS_OWN, has_rule=False),
    Command("executor compare", "Let several do the same tasks, and compare.", ALL,
            "executor_compare:compare", ORCHESTRATORS, "executors.ComparedTask",
            USERS_OWN, has_rule=False),
    ),
    "trust": lambda: (
    Command("trust", "Accept the command lines of this repository.", "Settings and checks",
            "trust:trust", PEOPLE, "settings.Trusted", DECIDED_BY_PERSON),
    ),
    "notify": lambda: (
    Command("notify", "List notifications; test your commands for them.", "Settings and checks",
            about="The commands are under `notify` in your own configuration: sow config edit."),
    Command("notify list", "List the notifications, and how each ended.", ALL,
            "notify:list_notifications", READS, "notifications.NotificationView",
            USERS_OWN, has_rule=False),
    Command("notify test", "Run your commands with an invented event.", ALL,
            "notify:test", ORCHESTRATORS, "notifications.NotificationTried",
            USERS_OWN, has_rule=False),
    ),
    "install": lambda: (
    Command("install", "Install sow into the agent CLI that you lead from.", "Settings and checks",
            about="sow installs commands, rules and news. It records what it has written "
                  "where, and `sow uninstall` removes exactly that."),
    # It changes what a person's own session may do without asking.
    Command("install claude", "Install the plugin for Claude Code.", ALL,
            "install:install_claude", PEOPLE, "installing.Installed", USERS_OWN),
    Command("install agents-md", "Describe sow to other CLIs, in AGENTS.md.", ALL,
            "install:install_agents_md", PEOPLE, "installing.Installed", USERS_OWN),
    Command("install status", "Show what is installed, and where.", ALL,
            "install:status", READS, "installing.InstallStanding",
            USERS_OWN, has_rule=False),
    ),
    "uninstall": lambda: (
    Command("uninstall", "Remove what `sow install` has installed.", "Settings and checks",
            about="Nothing else is removed."),
    Command("uninstall claude", "Remove the plugin.", ALL,
            "install:uninstall_claude", PEOPLE, "installing.Installed", USERS_OWN),
    Command("uninstall agents-md", "Remove sow's text from AGENTS.md.", ALL,
            "install:uninstall_agents_md", PEOPLE, "installing.Installed", USERS_OWN),
    ),
    "doctor validate completion demo mcp news schema": lambda: (
    Command("doctor", "Check what agents need to run here.", "Settings and checks",
            "doctor:doctor", READS, "findings.Examination", Tool("executors", leads=True)),
    Command("validate", "Check all files of .sow; fix unambiguous problems.", "Settings and checks",
            "validate:validate", READS, "findings.Validated",
            Tool("fix", leads=True), right_with={"fix": ORCHESTRATORS}),
    Command("completion", "Print the completion script for your shell.", "Settings and checks",
            "completing:completion", READS, "guidance.Script", USERS_OWN, has_rule=False),
    # It works in a repository and an environment of its own.
    Command("demo", "Run a whole example, in a repository of its own.", "Settings and checks",
            "demo:demo", READS, "tasks.ListedTask", NEEDS_TERMINAL, has_rule=False),
    # It offers an agent only what that agent may run.
    Command("mcp", "Offer these commands as tools to an MCP client.", "For programs",
            "mcp:mcp", READS, "guidance.ToolView", SERVES, has_rule=False),
    # It prints nothing for the agent of a job.
    Command("news", "Print what is new for this session.", "For programs",
            "news:news", READS, "installing.News", HOOK, has_rule=False),
    Command("schema", "Print the JSON Schema of a file or an output.", "For programs",
            "schema:schema", READS, "guidance.SchemaName", NO_PROJECT),
    ),
}
# fmt: on
"""The rows by the first words of those in a part, in the order of the help. A command makes those
of its own part alone."""

COMMANDS: Mapping[str, Command]
"""Each command under its words. A command that has no row does not exist."""
CALLABLE: Mapping[tuple[str, ...], Command]
"""The rows of COMMANDS that can be called: all but the groups that are nothing else."""


@cache
def _rows() -> Mapping[str, Command]:
    return {row.words: row for part in _PARTS.values() for row in part()}


def __getattr__(name: str) -> object:
    """Make a table when it is asked for: a usual command line asks for neither."""
    if name == "COMMANDS":
        return _rows()
    if name == "CALLABLE":
        return {row.path: row for row in _rows().values() if row.right is not None}
    raise AttributeError(name)


def rows_beginning(word: str) -> Mapping[str, Command]:
    """Return the commands that begin with a word, or lie beside those that do, by their words."""
    parts = [part for words, part in _PARTS.items() if word in words.split()]
    return {row.words: row for part in parts for row in part()}


def row_of(line: Sequence[str]) -> Command | None:
    """Return the row of the command that a line begins with."""
    rows = rows_beginning(line[0]) if line else {}
    for count in range(1, len(line) + 1):
        row = rows.get(" ".join(line[:count]))
        if row is None or row.path != tuple(line[:count]):
            return None
        if row.code:
            return row
    return None


def rows_in(group: str) -> list[Command]:
    """Return the rows of a group's own commands, in the order of the help; `""` is sow itself."""
    return [row for row in _rows().values() if row.words.rpartition(" ")[0] == group]
