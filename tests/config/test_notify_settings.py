"""`notify` in the user's file: what may stand there, and that nothing of it is shown."""

import msgspec
import pytest

from sow.config.config_errors import InvalidConfiguration
from sow.config.effective import effective_settings
from sow.config.load import load_configuration
from sow.config.notify import NotifyCommand
from sow.config.origin import FILE
from sow.schema.config import NotifySection
from sow.schema.notification import MEANINGS, NotifyEvent


def load(tmp_path, user="", repository=""):
    (tmp_path / "user.yaml").write_text(user)
    (tmp_path / "repository.yaml").write_text(repository)
    return load_configuration(
        path=tmp_path / "user.yaml",
        repository_path=tmp_path / "repository.yaml",
        environ={},
        roles=[],
    )


def test_every_event_has_a_key_and_a_meaning():
    assert [field.name for field in msgspec.structs.fields(NotifySection)] == list(NotifyEvent)
    assert list(MEANINGS) == list(NotifyEvent)


def test_both_forms_and_a_key_with_nothing_behind_it(tmp_path):
    text = "notify:\n  paused: tell\n  failed: {run: shout, timeout: 5s}\n  budget:\n"
    configuration = load(tmp_path, text)
    assert configuration.notify == {
        NotifyEvent.PAUSED: NotifyCommand(run="tell", timeout_seconds=30.0),
        NotifyEvent.FAILED: NotifyCommand(run="shout", timeout_seconds=5.0),
    }
    assert configuration.origin("notify", "paused") == FILE


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("notify: {done: secret}", "notify.done"),
        ("notify: {paused: {run: secret, timeout: 0s}}", "notify.paused.timeout"),
        ("notify: {paused: [secret]}", "notify.paused"),
        ("notify: {paused: {ran: secret}}", "notify.paused"),
    ],
)
def test_what_cannot_be_is_refused_without_a_word_of_the_file(tmp_path, text, key):
    with pytest.raises(InvalidConfiguration) as caught:
        load(tmp_path, text)
    assert caught.value.key.startswith(key)
    assert "secret" not in f"{caught.value.message}{caught.value.hint}"


def test_a_repository_cannot_have_it(tmp_path):
    with pytest.raises(InvalidConfiguration) as caught:
        load(tmp_path, repository="notify: {paused: x}")
    assert "a repository cannot set this" in caught.value.message


def test_the_command_is_never_shown(tmp_path):
    settings = list(effective_settings(load(tmp_path, "notify: {paused: curl secret}")))
    (shown,) = [each for each in settings if each.key[0] == "notify"]
    assert (shown.key, shown.value) == (("notify", "paused"), "***")
