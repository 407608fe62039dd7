"""A task's work between the checkouts of a queue that several hosts share: out, there, and home.

Reading order: `leaving` (what goes along), `guest` (the folder where it is taken up), `telling`
(what befell it there), `arriving` (how that comes home). Refs of the project's remote carry it.
"""
