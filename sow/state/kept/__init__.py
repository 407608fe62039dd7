"""Copies of the state files that sow writes, kept where git does not reach, and their way back.

An agent works in the tree that holds `.sow/project`. Its `git checkout -- .`,
`git reset --hard`, `git stash` or `git clean` takes every task's state along.
While a job lives, what was taken so is put back from these copies.
"""
