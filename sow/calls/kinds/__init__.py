"""The kinds of jobs as a call sees them: one module each, named by its row in `schema.kinds`."""
