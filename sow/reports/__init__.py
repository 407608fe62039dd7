"""What people and programs are told of a job: its outcome, its story, what can be done about it."""
