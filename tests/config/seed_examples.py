"""The configurations of seeds 000 and 001, as they stand there."""

MINIMAL = """
agents:
  executors:
    claude-code:
      type: "claude"
      settings:
        yolo_mode: false
  bindings:
    orchestrator: "claude-code"
    implementer: "claude-code"
    architect: "claude-code"
    reviewer: "claude-code"
    planner: "claude-code"
    researcher: "claude-code"
"""

MIXED = """
agents:
  executors:
    claude-code:
      type: "claude"
      settings:
        yolo_mode: true
        model: "sonnet"

    cursor:
      type: "cursor"
      settings:
        yolo_mode: true

  bindings:
    orchestrator: "claude-code"
    implementer: "cursor"      # Use Cursor for implementation
    architect: "claude-code"
    reviewer: "claude-code"
    planner: "claude-code"
    researcher: "claude-code"
"""

ADVANCED = """
agents:
  executors:
    claude-opus:
      type: "claude"
      settings:
        yolo_mode: true
        model: "opus"

    claude-sonnet:
      type: "claude"
      settings:
        yolo_mode: true
        model: "sonnet"

    cursor:
      type: "cursor"
      settings:
        yolo_mode: true

  bindings:
    orchestrator: "claude-opus"
    implementer: "cursor"
    architect: "claude-opus"
    reviewer: "claude-sonnet"
    planner: "claude-sonnet"
    researcher: "claude-sonnet"
"""

# Seed 001 gives each a `session` block besides, with flags that every CLI's executor has built in.
THREE_EXECUTORS = """
agents:
  executors:
    claude-code:
      type: "claude"
      settings:
        yolo_mode: true
        model: "sonnet"
      custom_args: []

    cursor:
      type: "cursor"
      settings:
        yolo_mode: true
      custom_args: []

    windsurf:
      type: "windsurf"
      settings:
        yolo_mode: true
      custom_args: ["--cascade"]

  bindings:
    orchestrator: "claude-code"
    implementer: "cursor"
    architect: "claude-code"
    reviewer: "claude-code"
    planner: "claude-code"
    researcher: "claude-code"
"""

STRUCTURE = """
# ~/.config/sow/config.yaml

agents:
  # Executor definitions
  executors:
    claude-code:
      type: "claude"
      settings:
        yolo_mode: true          # Maps to --dangerously-skip-permissions
        model: "sonnet"          # Which Claude model to use
      custom_args: []            # Additional CLI flags

    cursor:
      type: "cursor"
      settings:
        yolo_mode: true          # Maps to cursor's equivalent permission flag
      custom_args: []

    windsurf:
      type: "windsurf"
      settings:
        yolo_mode: true
      custom_args: ["--cascade"]

  # Bindings: which executor handles which agent role
  bindings:
    orchestrator: "claude-code"
    implementer: "cursor"
    architect: "claude-code"
    reviewer: "claude-code"
    planner: "claude-code"
    researcher: "claude-code"
"""
"""Seed 000, "Configuration Structure"."""

GENERATED = """
# Sow Agent Configuration
# Location: ~/.config/sow/config.yaml
#
# This file configures which AI CLI tools handle which agent roles.
# If this file doesn't exist, all agents use Claude Code by default.
#
# Configuration priority:
#   1. Environment variables (SOW_AGENTS_IMPLEMENTER=cursor)
#   2. This config file
#   3. Built-in defaults (Claude Code)

agents:
  executors:
    # Claude Code executor
    # Uncomment and modify to customize Claude Code settings
    # claude-code:
    #   type: "claude"
    #   settings:
    #     yolo_mode: true    # Skip permission prompts
    #     model: "sonnet"    # or "opus", "haiku"
    #   custom_args: []

    # Cursor executor
    # Uncomment to enable Cursor
    # cursor:
    #   type: "cursor"
    #   settings:
    #     yolo_mode: true
    #   custom_args: []

    # Add more executors as needed (windsurf, etc.)

  # Bindings: which executor handles which agent role
  # Uncomment and modify to change from defaults
  bindings:
    orchestrator: "claude-code"
    implementer: "claude-code"    # Change to "cursor" to use Cursor for implementation
    architect: "claude-code"
    reviewer: "claude-code"
    planner: "claude-code"
    researcher: "claude-code"
"""
"""Seed 000, "Generated template": a file that somebody may have."""

SHOWN = """
# Effective configuration (merged from defaults + file + environment)
# Config file: /Users/josh/.config/sow/config.yaml (exists)
# Environment overrides: SOW_AGENTS_IMPLEMENTER=cursor

agents:
  executors:
    claude-code:
      type: "claude"
      settings:
        yolo_mode: false    # (default)
        model: "sonnet"     # (from config file)
    cursor:
      type: "cursor"
      settings:
        yolo_mode: true     # (from config file)
  bindings:
    orchestrator: "claude-code"  # (from config file)
    implementer: "cursor"        # (from environment: SOW_AGENTS_IMPLEMENTER)
    architect: "claude-code"     # (from config file)
    # ...
"""
"""Seed 000, "Show effective configuration"."""
