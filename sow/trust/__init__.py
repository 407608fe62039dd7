"""Which command lines of a repository this user lets sow run: what they are, what was accepted."""
