"""Where each executor of a comparison works: a folder of its own below the command's."""

import pytest

from sow.cli.executor_comparison import folder_name


@pytest.mark.parametrize(
    ("executor", "folder"),
    [
        ("claude-code", "claude-code"),
        ("qwen3.5", "qwen3.5"),
        ("team/opus", "team%2Fopus"),
        ("..", "%2E."),
        (".tasks", "%2Etasks"),  # the file of tasks lies beside it
    ],
)
def test_any_name_of_an_executor_has_a_folder(executor: str, folder: str) -> None:
    assert folder_name(executor) == folder
