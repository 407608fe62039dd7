"""The agent CLIs that sow drives: one file each, and the registry that names them."""
