"""GitHub, through the user's own `gh`: the only door to it.

Owns how `gh` is run, what its failures mean, and the few requests that sow makes. Knows nothing of
projects and tasks. What comes from GitHub was written by anybody: it is text, never a command.
"""
