"""The call: spawn, resume, wait and cancel, from the caller's side of the queue."""
