"""Which files of a repository steer agents or machines, told by their paths alone."""

from collections.abc import Iterable
from itertools import pairwise

from sow.git.merge_tree import folded

FOLDERS = frozenset(
    {
        ".claude",
        ".cursor",
        ".windsurf",
        ".codex",
        ".gemini",
        ".husky",
        ".githooks",
        ".lefthook",
        ".circleci",
        ".buildkite",
        ".woodpecker",
        ".vscode",
        ".devcontainer",
    }
)
"""Folders, at any depth, of which each file may steer; also a link that has such a name."""
NAMES = frozenset(
    {
        ".mcp.json",
        "claude.md",
        "claude.local.md",
        "agents.md",
        "agents.override.md",
        "gemini.md",
        ".cursorrules",
        ".cursorignore",
        ".windsurfrules",
        ".aider.conf.yml",
        "copilot-instructions.md",
        ".pre-commit-config.yaml",
        ".pre-commit-config.yml",
        "lefthook.yml",
        "lefthook.yaml",
        ".gitattributes",
        ".gitmodules",
        ".gitlab-ci.yml",
        ".gitlab-ci.yaml",
        ".travis.yml",
        ".drone.yml",
        ".woodpecker.yml",
        "jenkinsfile",
        "azure-pipelines.yml",
        "azure-pipelines.yaml",
        "bitbucket-pipelines.yml",
        "appveyor.yml",
        ".appveyor.yml",
        ".envrc",
    }
)
"""Files, at any depth, in lower case: some disks do not tell the cases apart."""
PAIRS = frozenset(
    {
        (forge, part)
        for forge in (".github", ".gitea", ".forgejo")
        for part in ("workflows", "actions")
    }
    | {
        (".github", "instructions"),
        (".sow", "config.yaml"),
        (".sow", ".gitignore"),
        (".sow", "agents"),
        (".sow", "prompts"),
        (".sow", "run"),
    }
)
"""Two names after one another."""


def steers(path: str) -> bool:
    """Whether a file steers agents (their settings and texts) or machines (CI, hooks, sow)."""
    parts = folded(path).split("/")
    return (
        parts[-1] in NAMES
        or parts in ([".github"], [".sow"])  # a link in the place of the folder
        or not FOLDERS.isdisjoint(parts)
        or not PAIRS.isdisjoint(pairwise(parts))
    )


def steering_files(paths: Iterable[str]) -> tuple[str, ...]:
    """Return those of the paths that steer agents or machines, in their order."""
    return tuple(path for path in paths if steers(path))
