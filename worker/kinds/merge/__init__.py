"""The kind `merge`: the work of some tasks is merged into the project's branch."""
