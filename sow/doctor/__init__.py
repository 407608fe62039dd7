"""What `sow doctor` looks at: whether agents could run here, and what is in their way."""
