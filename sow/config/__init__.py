"""Which agent CLI plays which role, how it is run, and where each of these choices came from."""
