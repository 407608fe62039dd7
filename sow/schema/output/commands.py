"""Which object each command prints with `--json`; a command that is not here prints none.

One line a command, by its words. A test runs every one of them and holds what
it prints against what stands here.
"""

from collections.abc import Mapping

import msgspec

from sow.schema.output import changes, clones, differences, house, jobs, tasks

OUTPUTS: Mapping[str, tuple[type[msgspec.Struct], ...]] = {
    "init": (house.Made,),
    "project new": (tasks.ProjectView,),
    "project status": (tasks.ProjectStanding,),
    "project check": (jobs.Outcome,),
    "task add": (tasks.TaskView,),
    "task list": (tasks.TaskView,),
    "task show": (tasks.TaskView, tasks.Description),
    "task explain": (jobs.JobStory,),
    "task output": (jobs.EventView,),
    "task log": (tasks.LogEntryView,),
    "task check": (jobs.Outcome,),
    "task diff": (differences.TaskDiff,),
    "task set": (tasks.TaskView,),
    "task abandon": (tasks.TaskView,),
    "task reopen": (tasks.TaskView,),
    "agent spawn": (jobs.Outcome, jobs.Preview),
    "agent resume": (jobs.Outcome, jobs.Preview),
    "agent review": (jobs.Outcome,),
    "agent open": (jobs.Outcome,),
    "agent wait": (jobs.Outcome,),
    "agent cancel": (jobs.Cancelled,),
    "agent list": (house.AgentView,),
    "agent log": (tasks.LogWritten,),
    "agent task state set-status": (tasks.TaskView,),
    "review accept": (tasks.Judged,),
    "review correct": (tasks.Judged,),
    "review show": (tasks.Judged,),
    "merge": (jobs.Outcome,),
    "worker": (house.WorkerEvent,),
    "worker list": (house.WorkerView,),
    "worker stop": (house.StoppedWorker,),
    "worker logs": (house.WorkerLine,),
    "job list": (jobs.JobView,),
    "job show": (jobs.JobDetail,),
    "job explain": (jobs.JobStory,),
    "job logs": (jobs.EventView,),
    "job cancel": (jobs.Cancelled,),
    "job resolve": (jobs.JobView,),
    "job prune": (jobs.Pruned,),
    "clone list": (clones.CloneView,),
    "clone path": (clones.ClonePlace,),
    "clone update": (clones.CloneUpdated,),
    "clone remove": (clones.CloneGone,),
    "clone prune": (clones.ClonesPruned,),
    "changes": (changes.ChangeView,),
    "queue status": (house.QueueView,),
    "queue pause": (house.Paused,),
    "queue resume": (house.Paused,),
    "prompt": (house.PromptView,),
    "config init": (house.SettingsMade,),
    "config path": (house.SettingsFile,),
    "config show": (house.Settings,),
    "config validate": (house.SettingsCheck,),
    "config edit": (house.SettingsEdited,),
    "config reset": (house.SettingsRemoved,),
    "trust": (house.Trusted,),
    "doctor": (house.Examination,),
    "schema": (house.SchemaName,),
    "completion": (house.Script,),
    "demo": (tasks.TaskView,),
}
"""By a command's words; a second object is what it prints with `--dry-run`, or `--description`."""

ERROR = house.ErrorView
"""What any of them prints where it fails."""
