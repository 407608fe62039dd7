"""The shapes of every file and record: one definition for types, validation and JSON Schema."""
