"""The one door to git: how it is run, what may go wrong, and what a repository is.

Owns every start of git by sow. Knows nothing of tasks, clones or configuration.
"""
