"""A task's own clone of the repository: made, kept, compared, brought back, merged, removed.

Knows state and configuration; knows no jobs and no agents.
"""
