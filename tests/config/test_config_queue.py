"""Where the queue is: the user's file alone says it, and nobody is shown a password."""

import os

import pytest

from sow.config.config_errors import InvalidConfiguration
from sow.config.effective import effective_settings
from sow.config.queue import shown
from sow.paths import may_name_server

URL = "postgresql://me:hush@db.example.org:5433/sow?sslmode=verify-full"


def test_without_a_word_it_is_a_file(load):
    assert load("worker: {concurrency: 2}").queue_url == ""
    assert load("queue:\n").queue_url == ""
    assert load("queue: {url: }").queue_url == ""


def test_an_address_is_taken_and_shown_without_its_password(load):
    configuration = load(f"queue: {{url: '{URL}'}}")
    assert configuration.queue_url == URL
    (setting,) = [each for each in effective_settings(configuration) if each.key[0] == "queue"]
    assert setting.value == "postgresql://me:***@db.example.org:5433/sow?sslmode=verify-full"


def test_what_workers_here_serve_is_the_user_s_word(load):
    configuration = load("queue: {owners: [alice], executors: [claude-code]}")
    assert configuration.served_owners == ("alice",)
    assert configuration.served_executors == ("claude-code",)
    settings = {setting.key: setting.value for setting in effective_settings(configuration)}
    assert settings["queue", "owners"] == ["alice"]
    assert settings["queue", "executors"] == ["claude-code"]
    nobody = load("queue: {owners: [], executors: }")
    assert (nobody.served_owners, nobody.served_executors) == ((), None)
    assert load("worker: {}").served_owners is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("queue: {executors: [claud]}", "there is no executor 'claud'"),
        ("queue: {owners: alice}", "expected a list"),
    ],
)
def test_what_they_cannot_serve_is_refused(load, text, says):
    with pytest.raises(InvalidConfiguration, match=says):
        load(text)


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("postgresql://me@h/d", "postgresql://me@h/d"),
        ("postgresql://me:a%40b@h/d", "postgresql://me:***@h/d"),
        ("postgresql:///d?user=me&password=hush", "postgresql:///d?user=me&password=***"),
        ("postgresql://sow@/d?host=/run/pg", "postgresql://sow@/d?host=/run/pg"),
        ("postgresql://h/d?oauth_client_secret=hush", "postgresql://h/d?oauth_client_secret=***"),
    ],
)
def test_what_is_shown_has_no_password(url, wanted):
    assert shown(url) == wanted


@pytest.mark.parametrize(
    "url",
    [
        "host=h password=hush",
        "mysql://h/d",
        "postgresql:h",
        "postgresql://h:x/d",
        "sow.db",
        "postgresql://me:a@hush@h/d",
        "postgresql://me:1?hush@h/d",
        "postgresql://me:1?a=hush@h/d",
        "postgresql://me:1#hush@h/d",
        "postgresql://me:1/hush@h/d",
        "postgresql://me:/hush@h/d",
        "postgresql://me:hush%@h/d",
        "postgresql://me:a hush@h/d",
        "postgresql://me:a\thush@h/d",
    ],
)
def test_what_is_no_address_is_refused_with_a_remedy(load, url):
    with pytest.raises(InvalidConfiguration) as caught:
        load(f"queue:\n  url: '{url}'\n")
    assert "no address of a PostgreSQL database" in str(caught.value)
    assert "postgresql://USER@HOST/DATABASE" in caught.value.hint
    assert "hush" not in f"{caught.value}{caught.value.hint}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"queue: {URL}", "queue: is no address"),
        (f"queue: {{url: [{URL}]}}", "queue.url: is no address"),
        (f"queue: {{uri: '{URL}'}}", "unknown key 'uri'"),
        (f"queu: {{url: '{URL}'}}", "unknown key 'queu'"),
        (f"queue: {{url: {URL}, url: {URL}}}", "twice"),
        (f"queue: {{url: '{URL}}}", "line"),
    ],
)
def test_what_is_written_wrong_is_told_without_the_password(load, text, says):
    with pytest.raises(InvalidConfiguration) as caught:
        load(f"{text}\n")
    assert says in str(caught.value)
    assert "hush" not in f"{caught.value}{caught.value.hint}"


def test_a_repository_does_not_say_it(load):
    with pytest.raises(InvalidConfiguration, match="queue"):
        load(repository="queue: {url: 'postgresql://h/d'}")


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("", False),
        ("# queue: {url: x}\nworker: {}\n", False),
        ("agents:\n  executors: {}\n", False),
        ("queue: {url: x}\n", True),
        ("\ufeffqueue:\n", True),
        ("worker: {}\n  queue : {url: x}\n", True),
        ('"queue": {url: x}\n', True),
        ("{queue: {url: x}}\n", True),
        ("? queue\n: {url: x}\n", True),
        ("--- {queue: {url: x}}\n", True),
        ("&its queue: {url: x}\n", True),
        ("# queues\n\t# queue: {url: x}\nqueue:\n", True),
    ],
)
def test_a_look_at_its_text_tells_whether_it_may_say_it(config_path, text, may):
    config_path.write_text(text)
    assert may_name_server({"SOW_CONFIG": str(config_path)}) is may


def test_no_file_says_nothing(config_path):
    assert not may_name_server({"SOW_CONFIG": str(config_path)})


def test_neither_a_device_nor_a_pipe_in_its_place_holds_anybody_up(config_path):
    config_path.symlink_to("/dev/zero")
    assert not may_name_server({"SOW_CONFIG": str(config_path)})
    config_path.unlink()
    os.mkfifo(config_path)
    assert not may_name_server({"SOW_CONFIG": str(config_path)})
