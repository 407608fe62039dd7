"""Each of sow's variables is spelled in one place, and the script that starts sow agrees."""

import ast
import re

from repository.sources import ROOT, SOURCES, nodes_of, text_of

from sow import env_vars

PLACE = SOURCES["sow.env_vars"]
NAME = re.compile(r"SOW_[A-Z_]+")


def test_no_other_module_spells_one_out() -> None:
    """In the words for people they stand as they are."""
    spelled = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value}"
        for path in SOURCES.values()
        if path != PLACE and "SOW_" in text_of(path)
        for node in nodes_of(path)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and NAME.fullmatch(node.value)
    ]
    assert spelled == []


def test_the_script_puts_the_callers_path_where_it_is_looked_for() -> None:
    """It cannot import the name: it runs before the import path is settled."""
    assert f'environ["{env_vars.CALLER_PYTHONPATH}"]' in (ROOT / "scripts/sow").read_text()
