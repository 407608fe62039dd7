"""The stand-ins' one program: `agent.py ROLE ARGS…`.

ROLE is the CLI whose dialect it speaks, one of those that `install` names; it does what the fault
script says. Standard library only, few imports: tests run it by the hundred. The modules beside it
are imported by name, because this file's folder is first on the import path.
"""

import sys


def main(role: str, arguments: list[str]) -> int:
    if role == "claude":
        import claude_cli

        return claude_cli.main(arguments)
    if role == "gemini":
        import gemini_cli

        return gemini_cli.main(arguments)
    if role == "qwen":
        import qwen_cli

        return qwen_cli.main(arguments)
    if role == "windsurf":
        import windsurf_cli

        return windsurf_cli.main(arguments)
    if role == "opencode":
        import opencode_cli

        return opencode_cli.main(arguments)
    if role == "codex":
        import codex_cli

        return codex_cli.main(arguments)
    if role == "copilot":
        import copilot_cli

        return copilot_cli.main(arguments)
    import cursor_cli

    return cursor_cli.main(arguments, seeds=role == "cursor-seeds")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
