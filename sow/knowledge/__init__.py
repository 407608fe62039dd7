"""What projects have left behind in the repository: its index, its documents, its text.

Owns the entries of `.sow/knowledge/index`, which documents count as knowledge, and the search in
them. Ends no project.
"""
