"""The kind `update`, as a call asks it: the project's branch is brought into a task's clone."""

from sow.calls.kinds.step import StepKind

KIND = StepKind()
