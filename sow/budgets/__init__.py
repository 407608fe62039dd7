"""Budgets: what agents may spend at most, of a task, a batch, an executor or a project.

A feature: whoever calls it is in `sow.features`, which alone knows this package's name.
"""
