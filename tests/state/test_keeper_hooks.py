"""Who is asked and told by the keeper of copies: for as long as a command runs, and no longer."""

import os
from pathlib import Path

import pytest
from in_process import run_in_process

from sow.state.kept.keeper_hooks import OURS, answering


def test_the_answers_of_before_count_again_however_it_ends(tmp_path: Path) -> None:
    before = (OURS.witness, OURS.tell)
    with answering(lambda _root, _project: "job 1", lambda _words: None):
        assert OURS.witness(tmp_path, "") == "job 1"
        with pytest.raises(KeyboardInterrupt), answering(lambda _root, _project: "job 2", print):
            raise KeyboardInterrupt
        assert OURS.witness(tmp_path, "") == "job 1"
    assert (OURS.witness, OURS.tell) == before


@pytest.mark.parametrize("words", [("task", "list"), ("no", "such"), ("--version",)])
def test_a_command_leaves_none_of_its_own(tmp_path: Path, words: tuple[str, ...]) -> None:
    before = (OURS.witness, OURS.tell)
    run_in_process(*words, env={"PATH": os.defpath}, cwd=tmp_path)
    assert (OURS.witness, OURS.tell) == before
