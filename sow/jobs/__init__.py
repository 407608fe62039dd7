"""The queue's client side: job, attempt, lease, worker and waiter records in one SQLite file."""
