"""The kind `review`: an agent judges a task's work in a throw-away clone."""
