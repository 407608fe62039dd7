"""What ran when and what waited for what: the report of a batch or a project."""
