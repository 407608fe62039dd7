"""What the promises are proved by, run with all its seeds; and the report of it."""
