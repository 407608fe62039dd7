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
        "Neither side counts until it is solved: a state file with marks cannot be read.",
        "Keep the right parts of both sides, remove the markers, and commit.",
        "Both sides of a log are kept, of `.version` the higher number, of `.gitignore` and"
        " `.gitattributes` the lines of both. In a state file what one side alone has changed is"
        " taken, of lists the additions of both, of `updated_at` the later. Where both have changed"
        " the same field, nothing is done. The index of references is merged by its entries; of"
        " two ends of one project, the later one is kept, and its entry of the index of knowledge.",
    ),
    Kind.FORM: Meaning(
        "the file is no YAML, or does not have the form that it should have",
        "Commands that need it refuse it, and change nothing.",
        RESTORE,
    ),
    Kind.NEWER: Meaning(
        "a newer sow has written it",
        "This sow would lose data of it, so it does not touch it.",
        "Upgrade sow: in its clone, `git pull` and `pipx install --force .`",
    ),
    Kind.NUMBER: Meaning(
        "it holds something that came with a later form than its number says",
        "An older sow would take the file for one of its own, and complain of a single key.",
        "Write the number that is named.",
        "The number is raised.",
    ),
    Kind.NO_STATE: Meaning(
        "a folder of a project or a task has files, but no state.yaml",
        "No command can do anything with it; a task's folder stands in the way of its id.",
        "Restore state.yaml with git; or, if an accident has left the folder, move it away.",
    ),
    Kind.STRAY: Meaning(
        "it is among phases and tasks, and is neither",
        "No command reads it.",
        "Move it to where it belongs, such as .sow/project/context/.",
    ),
    Kind.MISPLACED: Meaning(
        "the state says another id, or another phase, than its folder",
        "Every command refuses the task.",
        "Correct the key or move the folder, so that both are the same.",
    ),
    Kind.SAME_ID: Meaning(
        "two tasks have the same id: two people have both added one",
        "No command can tell which of the two is meant.",
        "Rename the folder of one of them and the id in its state, then what refers to it.",
        "Ours keeps the id; theirs gets the next free one, with its log and its feedback, and"
        " whatever theirs has that depends on it follows. Which is whose is asked of git.",
    ),
    Kind.SAME_KEY: Meaning(
        "two tasks have the same key",
        "`sow task import` knows a task by its key.",
        "Remove the key from one of the two.",
    ),
    Kind.LISTED_TWICE: Meaning(
        "a list has the same entry twice",
        "It counts twice, or the second is not seen.",
        "Remove one of the two.",
        "Where both say the same, one is taken out.",
    ),
    Kind.UNKNOWN_TASK: Meaning(
        "there is no task with that id",
        "A task that waits for it would never be ready.",
        "Correct the id, or remove it: `sow task list` shows the tasks.",
    ),
    Kind.CIRCLE: Meaning(
        "tasks depend on each other in a circle",
        "None of them can begin.",
        'Take one of these dependencies out: sow task set TASK depends_on "…"',
    ),
    Kind.UNLISTED_PHASE: Meaning(
        "tasks are in a phase that the project does not list",
        "Commands that use the project's phases do not see them.",
        "Add it: `sow phase add PHASE`",
        "The phase is added at the end of the list.",
    ),
    Kind.UNKNOWN_PHASE: Meaning(
        "a phase is finished that the project does not list",
        "It says nothing, and hides that the phase was renamed.",
        "Correct the name in `finished_phases`, or take it out.",
    ),
    Kind.UNKNOWN_ROLE: Meaning(
        "the task is for a role that does not exist",
        "No agent can be spawned for it.",
        "`sow agent list` shows the roles: sow task set TASK assigned_agent ROLE",
    ),
    Kind.UNKNOWN_CHECK: Meaning(
        "the task is judged by a check that .sow/config.yaml does not name",
        "The task cannot be checked, so a batch stops at it.",
        "Add the check, or correct the task: sow task set TASK checks NAME",
    ),
    Kind.FEEDBACK_MISSING: Meaning(
        "the state names feedback of which there is no file",
        "The task's agent cannot read it.",
        "Restore the file with git, or take the entry out.",
    ),
    Kind.FEEDBACK_UNNAMED: Meaning(
        "no state names this feedback file",
        "Nobody is told of it. A verdict that was killed in the middle may have left it.",
        "Give the verdict again, or remove the file.",
    ),
    Kind.FILE_MISSING: Meaning(
        "an input or output of the project is no file of the repository",
        "An approval of it cannot hold, and agents look for it in vain.",
        "Restore it, or take it off the list: sow output remove PATH",
    ),
    Kind.REFERENCE_MISSING: Meaning(
        "a reference of the task names a file that is not there",
        "Its prompt tells the agent to open it.",
        'Correct it: sow task set TASK references "…"',
    ),
    Kind.UNKNOWN_REFERENCE: Meaning(
        "the task names a reference that .sow/refs/index.yaml does not have",
        "Its agent works without it.",
        "Add it (`sow refs add URL --id ID`), or take it out of the task:"
        ' sow task set TASK references "…"',
    ),
    Kind.APPROVAL_OUTDATED: Meaning(
        "what was approved has changed since",
        "The approval is not valid any more.",
        "Look at it, then approve it as it stands now: sow approve WHAT",
    ),
    Kind.TIMES: Meaning(
        "the times of the task contradict its status",
        "Whatever counts by these times counts wrong.",
        "Correct the one or the other in its state.",
        "A time of completion that is missing is taken from the log's entry of that status.",
    ),
    Kind.SESSION: Meaning(
        "there are facts of a session, but no session",
        "Nothing can be resumed; the facts are of a session whose id is gone.",
        "Restore `session_id` with git, or take `session` out.",
    ),
    Kind.WRONG_STATE: Meaning(
        "the project is in a state that its type does not have",
        "Every command refuses the project.",
        "Correct `state` or `type`: docs/lifecycle.md draws each type.",
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
        "It is removed: what it was to become was never there, or is there.",
    ),
    Kind.UNFINISHED_IMPORT: Meaning(
        "an import of tasks was interrupted",
        "The next command that looks for tasks goes on with it, if it can.",
        "Run `sow task list`, which completes the import. Or remove the file.",
        "The import is completed.",
    ),
    Kind.NO_UNION: Meaning(
        "git is not told to merge logs by keeping the additions of both sides",
        "Two branches that have both logged would be in conflict.",
        "Add the line `log.md merge=union` to .sow/.gitattributes",
        "The line is added.",
    ),
    Kind.SETTINGS: Meaning(
        "the repository's settings are invalid",
        "Every command that needs a setting fails.",
        "Correct the file.",
    ),
    Kind.PROMPT: Meaning(
        "a prompt of the team's own cannot be used, or tells an agent what cannot be done",
        "The agent does not start, or is refused what it was told to run.",
        "Correct the text; `sow prompt --check` looks at the prompts alone.",
    ),
    Kind.ARCHIVE: Meaning(
        "a project in the archive was not ended, or lies there and is the present one too",
        "Two branches have ended it and gone on with it.",
        "Keep one of the two folders.",
    ),
    Kind.MIXED: Meaning(
        "git has mixed files of another project into an ended one, in whose former place that one"
        " lies",
        "Neither of the two is what anybody wrote, and the other one seems to have ended.",
        "Restore both folders with git, each from a commit that has it whole.",
        "The ended project is again what it was when it ended, and `.sow/project` has what the side"
        " of the other project has there.",
    ),
    Kind.KNOWLEDGE_MISSING: Meaning(
        "an entry of the index of knowledge names what is not there",
        "`sow knowledge show` has nothing to show, and a search does not find its text.",
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
