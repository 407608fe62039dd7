"""The kind `work`: an agent does a task, in its first turn or in a further one."""
