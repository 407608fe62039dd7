"""The files of a project and its tasks: what stands in them, and how it may change."""
