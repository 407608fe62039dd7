"""The kind `update`: the project's branch is brought into a task's clone."""
