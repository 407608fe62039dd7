"""The configurations of seed 000's appendix and of seed 001, as they stand there."""

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

WITH_SESSION_BLOCKS = """
agents:
  executors:
    claude-code:
      type: "claude"
      settings:
        yolo_mode: true
        model: "sonnet"
      session:
        create_flag: "--session-id"
        resume_flag: "--resume"
      custom_args: []

    cursor:
      type: "cursor"
      settings:
        yolo_mode: true
      session:
        create_flag: "--chat-id"
        resume_flag: "--resume"
      custom_args: []

    windsurf:
      type: "windsurf"
      settings:
        yolo_mode: true
      session:
        create_flag: null
        resume_flag: null
      custom_args: ["--cascade"]

  bindings:
    orchestrator: "claude-code"
    implementer: "cursor"
    architect: "claude-code"
    reviewer: "claude-code"
    planner: "claude-code"
    researcher: "claude-code"
"""
