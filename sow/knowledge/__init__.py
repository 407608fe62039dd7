"""What projects have left behind in the repository: its index, its documents, its text.

Owns the entries of `.sow/knowledge/index`, which documents count as knowledge, and the index of
their words in `.sow/run`, which is made anew whenever it does not fit. Ends no project.
"""
