"""`clones` in the repository's settings: what it does, and what it may not say."""

import pytest

from sow.config.clones import CloneSettings
from sow.config.config_errors import InvalidConfiguration
from sow.config.effective import clone_settings_given
from sow.config.origin import DEFAULT, REPOSITORY
from sow.schema.config import CloneUse

FULL = """clones:
  use: parallel
  folder: ../clones
  copy: [.env, "config/*.json"]
  setup: npm ci
  setup_timeout: 90s
  commit: false
  merge_check: unit
"""


def test_without_a_word_no_task_gets_a_clone(load):
    for text in (None, "clones:\n", "clones: {use: , copy: , commit: }\n"):
        configuration = load(repository=text)
        assert configuration.clones == CloneSettings()
        assert configuration.clones.use is CloneUse.NEVER
        assert configuration.clones.commit is True
        assert configuration.origin("clones", "use") == DEFAULT
        assert list(clone_settings_given(configuration)) == []


def test_everything_that_can_be_said(load):
    configuration = load(repository=FULL)
    assert configuration.clones == CloneSettings(
        use=CloneUse.PARALLEL,
        folder="../clones",
        copy=(".env", "config/*.json"),
        setup="npm ci",
        setup_timeout_seconds=90.0,
        commit=False,
        merge_check="unit",
    )
    assert configuration.origin("clones", "setup") == REPOSITORY
    shown = {".".join(each.key): each.value for each in clone_settings_given(configuration)}
    assert shown["clones.setup_timeout"] == "90s"
    assert shown["clones.copy"] == [".env", "config/*.json"]
    assert len(shown) == 7


@pytest.mark.parametrize(
    ("text", "key", "reason", "remedy"),
    [
        ("{use: sometimes}", "clones.use", "sometimes", "never, parallel or always"),
        ("{use: true}", "clones.use", "", "never, parallel or always"),
        ("{setup: [npm, ci]}", "clones.setup", "a list", "one command line"),
        ("{setup: ''}", "clones.setup", "empty", "one command line"),
        ("{copy: .env}", "clones.copy", "", "list of patterns"),
        ("{copy: [.env, /etc/passwd]}", "clones.copy[1]", "out of the repository", "below the"),
        ("{copy: [~/.ssh]}", "clones.copy[0]", "out of the repository", "below the"),
        ("{copy: [a/../../b]}", "clones.copy[0]", "leads out of the folder", "below the"),
        ("{copy: [.]}", "clones.copy[0]", "names no file", "below the"),
        ("{copy: [.sow/run]}", "clones.copy[0]", "belongs to sow", "below the"),
        ("{copy: [x/.git/config]}", "clones.copy[0]", "or git", "below the"),
        ("{setup_timeout: soon}", "clones.setup_timeout", "soon", "number and a unit"),
        ("{setup_timeout: 0s}", "clones.setup_timeout", "longer than 0", "validate"),
        ("{merge-check: x}", "clones.merge-check", "did you mean 'merge_check'", "validate"),
        ("{commit: 3}", "clones.commit", "", "validate"),
        ('{folder: "a\\0b"}', "clones.folder", "NUL", "validate"),
    ],
)
def test_what_cannot_be_used_is_told_with_file_key_and_remedy(
    load, tmp_path, text, key, reason, remedy
):
    with pytest.raises(InvalidConfiguration) as caught:
        load(repository=f"clones: {text}\n")
    assert caught.value.path == tmp_path / "repository.yaml"
    assert (caught.value.key, caught.value.line) == (key, 1)
    assert reason in caught.value.reason
    assert remedy in caught.value.hint


def test_clones_are_no_setting_of_a_user(load, config_path):
    with pytest.raises(InvalidConfiguration, match="unknown key 'clones'"):
        load("clones: {use: always}\n")
