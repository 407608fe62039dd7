"""One attempt of a job: what it is told, why it ended, what is next. For caller and worker."""
