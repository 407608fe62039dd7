"""Many tasks at once: read from a file, planned, written all or none, and printed again."""
