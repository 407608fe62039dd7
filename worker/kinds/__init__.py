"""The kinds of jobs as a worker sees them: one package each, named by its row in `schema.kinds`."""
