"""The kinds of defects that `.sow` may have: what each is, what follows from it, what to do.

Plain data. docs/validation.md is written from this table, and the tests provoke every row.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from msgspec import Struct


class Kind(StrEnum):
    """What may be wrong. The values are the words of `--json`."""

    UNREADABLE = "unreadable"
    CONFLICT = "conflict"
    FORM = "form"
    NEWER = "newer"
    NUMBER = "number"
    NO_STATE = "no-state"
    STRAY = "stray"
    MISPLACED = "misplaced"
    SAME_ID = "same-id"
    SAME_KEY = "same-key"
    LISTED_TWICE = "listed-twice"
    UNKNOWN_TASK = "unknown-task"
    CIRCLE = "circle"
    UNLISTED_PHASE = "unlisted-phase"
    UNKNOWN_PHASE = "unknown-phase"
    UNKNOWN_ROLE = "unknown-role"
    UNKNOWN_CHECK = "unknown-check"
    FEEDBACK_MISSING = "feedback-missing"
    FEEDBACK_UNNAMED = "feedback-unnamed"
    FILE_MISSING = "file-missing"
    REFERENCE_MISSING = "reference-missing"
    UNKNOWN_REFERENCE = "unknown-reference"
    APPROVAL_OUTDATED = "approval-outdated"
    TIMES = "times"
    SESSION = "session"
    WRONG_STATE = "wrong-state"
    STATE_UNMET = "state-unmet"
    LOG_ENTRY = "log-entry"
    LEFTOVER = "leftover"
    UNFINISHED_IMPORT = "unfinished-import"
    NO_UNION = "no-union"
    SETTINGS = "settings"
    PROMPT = "prompt"
    ARCHIVE = "archive"
    MIXED = "mixed"
    KNOWLEDGE_MISSING = "knowledge-missing"


class Meaning(Struct, frozen=True):
    """What a kind of defects is about."""

    about: str
    """What is wrong, in a few words."""
    why: str
    """What follows from it."""
    remedy: str
    """What to do, where a defect itself knows nothing better."""
    mends: str = ""
    """What `--fix` does, where there is one right answer."""


RESTORE = "Restore the file with git, or fix it by hand."

MEANINGS: Mapping[Kind, Meaning] = {
    Kind.UNREADABLE: Meaning(
        "a file cannot be read",
        "Every command that needs it fails.",
        "Put a readable file in its place, or restore it with git.",
    ),
    Kind.CONFLICT: Meaning(
        "the file has conflict markers of git",
        "sow cannot read a state file with conflict markers.",
        "Keep the right parts of both sides, remove the markers, and commit.",
        "Logs, `.gitignore` and `.gitattributes` keep the lines of both sides; `.version` keeps"
        " the higher number. A state file gets each change that only one side made, the"
        " additions of both sides to lists, and the later `updated_at`. If both sides changed"
        " the same field, nothing is done. The index of references is merged entry by entry. If"
        " both sides ended the project, the later end is kept, with its entry in the knowledge"
        " index.",
    ),
    Kind.FORM: Meaning(
        "the file is not YAML, or does not have the expected structure",
        "Commands that need it fail, and change nothing.",
        RESTORE,
    ),
    Kind.NEWER: Meaning(
        "a newer version of sow wrote it",
        "This sow would lose data, so it does not change the file.",
        "Upgrade sow: in its clone, `git pull` and `pipx install --force .`",
    ),
    Kind.NUMBER: Meaning(
        "it has a field of a later format than its number says",
        "An older sow would try to read the file, and report one key as wrong.",
        "Write the number that the finding names.",
        "The number is raised.",
    ),
    Kind.NO_STATE: Meaning(
        "a folder of a project or a task has files, but no state.yaml",
        "No command can use it. A task's folder also blocks its id.",
        "Restore state.yaml with git. Or move the folder away, if it was left by accident.",
    ),
    Kind.STRAY: Meaning(
        "it is in a folder of phases or tasks, but is neither",
        "No command reads it.",
        "Move it to where it belongs, such as .sow/project/context/.",
    ),
    Kind.MISPLACED: Meaning(
        "the id or phase in the state differs from its folder",
        "Every command refuses the task.",
        "Correct the key or move the folder, so that both are the same.",
    ),
    Kind.SAME_ID: Meaning(
        "two tasks have the same id: two people each added one",
        "No command can tell which of the two is meant.",
        "Rename the folder of one of them and the id in its state, then what refers to it.",
        "Our task keeps the id. Their task gets the next free id and keeps its log and"
        " feedback; their tasks that depend on it are updated. Git shows which task is whose.",
    ),
    Kind.SAME_KEY: Meaning(
        "two tasks have the same key",
        "`sow task import` knows a task by its key.",
        "Remove the key from one of the two.",
    ),
    Kind.LISTED_TWICE: Meaning(
        "a list has the same entry twice",
        "It counts twice, or the second one is ignored.",
        "Remove one of the two.",
        "If both are the same, one is removed.",
    ),
    Kind.UNKNOWN_TASK: Meaning(
        "there is no task with that id",
        "A task that waits for it would never be ready.",
        "Correct the id, or remove it: `sow task list` shows the tasks.",
    ),
    Kind.CIRCLE: Meaning(
        "tasks depend on each other in a circle",
        "None of them can start.",
        'Remove one of these dependencies: sow task set TASK depends_on "…"',
    ),
    Kind.UNLISTED_PHASE: Meaning(
        "tasks are in a phase that the project does not list",
        "Commands that use the project's phases do not see them.",
        "Add it: `sow phase add PHASE`",
        "The phase is added at the end of the list.",
    ),
    Kind.UNKNOWN_PHASE: Meaning(
        "a phase is finished that the project does not list",
        "It has no effect, and hides that the phase was renamed.",
        "Correct the name in `finished_phases`, or remove it.",
    ),
    Kind.UNKNOWN_ROLE: Meaning(
        "the task is for a role that does not exist",
        "No agent can be spawned for it.",
        "`sow agent list` shows the roles: sow task set TASK assigned_agent ROLE",
    ),
    Kind.UNKNOWN_CHECK: Meaning(
        "the task has a check that .sow/config.yaml does not define",
        "The task cannot be checked, so a batch stops at it.",
        "Add the check, or correct the task: sow task set TASK checks NAME",
    ),
    Kind.FEEDBACK_MISSING: Meaning(
        "the state names a feedback file that does not exist",
        "The task's agent cannot read it.",
        "Restore the file with git, or remove the entry.",
    ),
    Kind.FEEDBACK_UNNAMED: Meaning(
        "no state names this feedback file",
        "No agent gets it. An interrupted verdict may have left it.",
        "Give the verdict again, or remove the file.",
    ),
    Kind.FILE_MISSING: Meaning(
        "an input or output of the project is not a file of the repository",
        "It cannot be approved, and agents cannot find it.",
        "Restore it, or remove it from the list: sow output remove PATH",
    ),
    Kind.REFERENCE_MISSING: Meaning(
        "a reference of the task names a file that does not exist",
        "Its prompt tells the agent to open it.",
        'Correct it: sow task set TASK references "…"',
    ),
    Kind.UNKNOWN_REFERENCE: Meaning(
        "the task names a reference that .sow/refs/index.yaml does not have",
        "Its agent works without it.",
        "Add it (`sow refs add URL --id ID`), or remove it from the task: sow task set TASK"
        ' references "…"',
    ),
    Kind.APPROVAL_OUTDATED: Meaning(
        "what was approved has changed since",
        "The approval is no longer valid.",
        "Look at it, then approve its current form: sow approve WHAT",
    ),
    Kind.TIMES: Meaning(
        "the times of the task contradict its status",
        "Reports that use these times are wrong.",
        "Correct the status or the times in its state.",
        "A missing completion time is taken from the log entry of that status.",
    ),
    Kind.SESSION: Meaning(
        "the state describes a session, but has no session id",
        "The session cannot be resumed without its id.",
        "Restore `session_id` with git, or remove `session`.",
    ),
    Kind.WRONG_STATE: Meaning(
        "the project is in a state that its type does not have",
        "Every command refuses the project.",
        "Correct `state` or `type`: docs/lifecycle.md shows the states of each type.",
    ),
    Kind.STATE_UNMET: Meaning(
        "the project is completed, but its conditions are not met",
        "`sow project finish` would end it as it is.",
        "Meet the conditions, or take the project back to an earlier state.",
    ),
    Kind.LOG_ENTRY: Meaning(
        "an entry of a log is incomplete, or its frontmatter cannot be read",
        "`sow log` skips it.",
        "Fix it by hand, or remove it; the text stays in git's history.",
    ),
    Kind.LEFTOVER: Meaning(
        "an interrupted write has left this file",
        "Nothing reads it.",
        "Remove it.",
        "It is removed. The file that it should replace is intact, or never existed.",
    ),
    Kind.UNFINISHED_IMPORT: Meaning(
        "an import of tasks was interrupted",
        "The next command that reads tasks continues it, if it can.",
        "Run `sow task list`, which completes the import. Or remove the file.",
        "The import is completed.",
    ),
    Kind.NO_UNION: Meaning(
        "git is not configured to keep the additions of both sides of a log in a merge",
        "Two branches that both added log entries would conflict.",
        "Add the line `log.md merge=union` to .sow/.gitattributes",
        "The line is added.",
    ),
    Kind.SETTINGS: Meaning(
        "the repository's settings are invalid",
        "Every command that needs a setting fails.",
        "Correct the file.",
    ),
    Kind.PROMPT: Meaning(
        "a prompt of the team's own cannot be used, or tells an agent to do something impossible",
        "The agent does not start, or sow refuses a command that the prompt tells it to run.",
        "Correct the text; `sow prompt --check` checks only the prompts.",
    ),
    Kind.ARCHIVE: Meaning(
        "a project in the archive was not ended, or is also the current project",
        "One branch ended it, and another continued it.",
        "Keep one of the two folders.",
    ),
    Kind.MIXED: Meaning(
        "a merge has mixed files of another project into an ended one, because both were once"
        " in the same place",
        "Both projects are damaged, and the other one seems to have ended.",
        "Restore both folders with git, each from a commit in which it is complete.",
        "The ended project is restored to its state at its end, and `.sow/project` to the"
        " version of the other project's side.",
    ),
    Kind.KNOWLEDGE_MISSING: Meaning(
        "an entry of the knowledge index names a path that does not exist",
        "`sow knowledge show` cannot show it, and a search does not find its text.",
        "Correct its path, or remove the entry's file.",
    ),
}


class Defect(Struct, frozen=True, kw_only=True):
    """One thing that is wrong, and where."""

    kind: Kind
    path: Path
    """Absolute."""
    what: str
    line: int | None = None
    """Counted from 1; None for a folder, and for what is not there."""
    remedy: str = ""
    is_mended: bool = False
    """Whether `--fix` has one right answer to it."""
    subject: str = ""
    """What it is about, for whoever mends it: an id, a phase, a name."""

    @property
    def why(self) -> str:
        """What follows from it."""
        return MEANINGS[self.kind].why

    @property
    def advice(self) -> str:
        """What to do."""
        return self.remedy or MEANINGS[self.kind].remedy
