"""`sow config edit`: the user's editor, and a check of what it has left."""

import json

import pytest
from journeys.json_contract import hold

pytestmark = pytest.mark.slow

GOOD = "worker: {concurrency: 2}\n"
BAD = "worker: {concurrency: none}\n"


def editor(anywhere, *texts: str, code: int = 0) -> None:
    """Install `ed`, which writes these texts, one at each call, and tells how it was called."""
    for number, text in enumerate(texts, start=1):
        (anywhere.base / f"text-{number}").write_text(text)
    anywhere.program(
        "ed",
        f"""cd {anywhere.base}
for word in "$@"; do echo "$word" >>words; done
echo x >>calls
cp text-$(wc -l <calls | tr -d ' ') "$(tail -1 words)"
exit {code}""",
    )


def calls(anywhere) -> int:
    return len((anywhere.base / "calls").read_text().splitlines())


def test_it_opens_the_file_with_the_editors_own_arguments(anywhere):
    editor(anywhere, GOOD)
    done = anywhere.sow("config", "edit", answers="", EDITOR="ed --wait 'a b'")
    assert done.code == 0, done.err
    assert (anywhere.base / "words").read_text() == f"--wait\na b\n{anywhere.config}\n"
    assert done.out.startswith(f"Validating configuration at {anywhere.config}...\n")


def test_visual_comes_before_editor(anywhere):
    editor(anywhere, GOOD)
    assert anywhere.sow("config", "edit", answers="", VISUAL="ed", EDITOR="false").code == 0


def test_the_file_is_made_from_the_template_first(anywhere):
    anywhere.program("ed", f'cp "$1" {anywhere.base}/seen')
    done = anywhere.sow("config", "edit", "--json", answers="", EDITOR="ed")
    record = json.loads(done.out)
    hold("config edit", [record])
    assert (record["created"], record["valid"]) == (True, True)
    assert (anywhere.base / "seen").read_text().startswith("# Sow Agent Configuration")
    assert (
        json.loads(anywhere.sow("config", "edit", "--json", answers="", EDITOR="ed").out)["created"]
        is False
    )


def test_what_is_not_valid_can_be_edited_again(anywhere):
    editor(anywhere, BAD, BAD, GOOD)
    done = anywhere.sow("config", "edit", answers="y\n\n", EDITOR="ed")
    assert (done.code, calls(anywhere)) == (0, 3)
    assert done.err.count("Edit it again? [Y/n]: ") == 2
    assert anywhere.config.read_text() == GOOD


def test_or_be_left_as_it_is(anywhere):
    editor(anywhere, BAD)
    done = anywhere.sow("config", "edit", answers="n\n", EDITOR="ed")
    assert (done.code, calls(anywhere)) == (3, 1)
    assert anywhere.config.read_text() == BAD
    assert "Configuration is not valid: 1 error." in done.out


def test_a_broken_file_can_be_opened(anywhere):
    anywhere.write("not: [valid")
    editor(anywhere, GOOD)
    assert anywhere.sow("config", "edit", answers="", EDITOR="ed").code == 0


def test_an_editor_that_fails_is_told(anywhere):
    editor(anywhere, GOOD, code=7)
    done = anywhere.sow("config", "edit", answers="", EDITOR="ed")
    assert done.code == 1
    assert done.err.startswith("Error: the editor ended with exit code 7: ed ")


@pytest.mark.parametrize(
    ("value", "reason"),
    [("no-such-program -x", "names a program that does not exist"), ("ed 'x", "cannot be read")],
)
def test_an_editor_that_cannot_be_run_is_told(anywhere, value, reason):
    done = anywhere.sow("config", "edit", answers="", EDITOR=value)
    assert done.code == 3
    assert f"Error: EDITOR {reason}" in done.err
    assert not anywhere.config.exists()


def test_the_editor_gets_the_callers_own_pythonpath(anywhere):
    anywhere.program("ed", f'echo "$PYTHONPATH" >{anywhere.base}/seen')
    anywhere.sow("config", "edit", answers="", EDITOR="ed", PYTHONPATH="/nowhere/lib")
    assert (anywhere.base / "seen").read_text() == "/nowhere/lib\n"


def test_an_interrupt_is_left_to_the_editor(anywhere):
    """Ctrl-C reaches both, who share a terminal; in an editor it means something else."""
    anywhere.program("ed", f"kill -INT $PPID; echo '{GOOD.strip()}' >\"$1\"")
    done = anywhere.sow("config", "edit", answers="", EDITOR="ed")
    assert (done.code, anywhere.config.read_text()) == (0, GOOD)


def test_a_usual_editor_is_taken_where_no_variable_names_one(anywhere):
    editor(anywhere, GOOD)
    (anywhere.base / "bin/ed").rename(anywhere.base / "bin/editor")
    assert anywhere.sow("config", "edit", answers="", VISUAL="", EDITOR=" ").code == 0
    assert anywhere.config.read_text() == GOOD


def test_without_any_editor_it_says_what_to_set(anywhere):
    done = anywhere.sow("config", "edit", answers="", PATH="/nowhere")
    assert done.code == 3
    assert done.err.startswith("Error: no editor is set, and none of the usual ones is installed\n")
    assert "Set EDITOR to a program" in done.err
    assert not anywhere.config.exists()


def test_without_a_terminal_no_editor_is_started(anywhere):
    editor(anywhere, GOOD)
    done = anywhere.sow("config", "edit", EDITOR="ed")
    assert (done.code, done.out) == (2, "")
    assert "needs a terminal" in done.err
    assert not (anywhere.base / "calls").exists()
