"""The way to a file and what a program consists of."""

from pathlib import Path

import pytest

from sow.sandbox.paths_seen import installation_of, way_to
from sow.sandbox.view import Link


def make(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def parts(program: Path, path: str = "") -> set[str]:
    return set(installation_of(str(program), path)[0])


def test_a_plain_path_has_no_links(tmp_path: Path) -> None:
    way = way_to(str(tmp_path / "a/../b"))
    assert (way.links, way.real) == ((), str(tmp_path / "b"))


def test_links_are_told_in_the_order_of_the_way(tmp_path: Path) -> None:
    make(tmp_path / "real/deep/file")
    (tmp_path / "first").symlink_to(tmp_path / "second")
    (tmp_path / "second").symlink_to("real/deep")
    way = way_to(str(tmp_path / "first/file"))
    assert way.real == str(tmp_path / "real/deep/file")
    assert way.links == (
        Link(str(tmp_path / "first"), str(tmp_path / "second")),
        Link(str(tmp_path / "second"), "real/deep"),
    )


def test_a_circle_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert len(way_to(str(tmp_path / "a")).links) == 40


def test_a_lone_program_is_itself_alone(tmp_path: Path) -> None:
    """Its folder may hold anything of the user's."""
    program = make(tmp_path / "bin/agent", "ELF")
    assert parts(program) == {str(program)}


def test_a_program_of_a_prefix_brings_its_libraries(tmp_path: Path) -> None:
    program = make(tmp_path / "tool/bin/agent", "ELF")
    (tmp_path / "tool/lib").mkdir()
    assert parts(program) == {str(tmp_path / "tool")}


def test_a_program_of_npm_brings_its_modules_and_its_interpreter(tmp_path: Path) -> None:
    script = make(tmp_path / "npm/node_modules/agent/cli.js", "#!/usr/bin/env node\n")
    node = make(tmp_path / "node/bin/node", "ELF")
    (tmp_path / "node/lib").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/agent").symlink_to(script)
    found, links = installation_of(str(tmp_path / "bin/agent"), f"relative:{node.parent}")
    assert {str(tmp_path / "npm/node_modules"), str(tmp_path / "node")} <= set(found)
    assert str(tmp_path / "bin/agent") not in found
    assert Link(str(tmp_path / "bin/agent"), str(script)) in links


@pytest.mark.parametrize("first", ["#!", "#!/usr/bin/env", "#!/usr/bin/env -S", "\xff\xfe", ""])
def test_no_first_line_is_an_error(tmp_path: Path, first: str) -> None:
    program = make(tmp_path / "agent", first)
    assert str(program) in parts(program, "/usr/bin:/bin")


def test_a_program_that_is_not_there_is_itself(tmp_path: Path) -> None:
    assert parts(tmp_path / "none") == {str(tmp_path / "none")}
