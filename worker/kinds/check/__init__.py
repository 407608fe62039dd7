"""The kind `check`: the project's own command lines are run on what stands there."""
