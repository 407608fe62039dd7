"""What the doctor says of secrets that agents inherit, and of those that they are given."""

import pytest
from doctor.clinic import Clinic

from sow.doctor.secrets import looks_secret


def test_names_that_look_secret() -> None:
    for name in (
        *(
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "PGPASSWORD",
            "DB_PASSWORD",
            "API_KEY",
            "SECRET",
        ),
        *(
            "TOKEN",
            "NPM_TOKEN_2",
            "STRIPE_SECRET_KEY",
            "GH_PAT",
            "SENTRY_DSN",
            "apikey",
            "MY_PASSPHRASE",
        ),
    ):
        assert looks_secret(name, "x"), name
    for name in (
        *(
            "PATH",
            "HOME",
            "SSH_AUTH_SOCK",
            "KEYBOARD",
            "GPG_TTY",
            "MONKEY_PATCH",
            "PASSAGE",
            "TOKEN_FILE",
        ),
        *("GOOGLE_APPLICATION_CREDENTIALS_FILE", "PWD", "EDITOR", "COMPASS"),
    ):
        assert not looks_secret(name, "x"), name
    assert not looks_secret("API_KEY", "")
    assert looks_secret("DATABASE_URL", "postgres://me:pass@host/db")
    assert not looks_secret("DATABASE_URL", "postgres://me@host/db")


@pytest.mark.slow
def test_what_looks_secret_is_named_with_the_line_that_ends_it(clinic: Clinic) -> None:
    keys = {"ANTHROPIC_API_KEY": "sk-1", "AWS_SECRET_ACCESS_KEY": "sk-2", "GH_TOKEN": "sk-3"}
    found = clinic.finding("secrets", **keys)
    assert (found["level"], found["executor"]) == ("note", "claude-code")
    assert found["inherited"] == ["AWS_SECRET_ACCESS_KEY", "GH_TOKEN"]
    line = "env_inherit: [ANTHROPIC_API_KEY]"
    assert f"`{line}` below agents.executors.claude-code in " in found["remedy"]
    assert "sk-" not in clinic.examine(**keys).out
    section = {"env_inherit": ["ANTHROPIC_API_KEY"]}
    clinic.site.configure({"agents": {"executors": {"claude-code": section}}})
    assert [each for each in clinic.findings(**keys) if each["check_name"] == "secrets"] == []


@pytest.mark.slow
def test_a_secret_that_cannot_be_read_is_an_error(clinic: Clinic) -> None:
    key = clinic.site.base / "key"
    key.write_text("sk-0815-4711")
    key.chmod(0o644)
    ran = clinic.site.base / "ran"
    section = {"env_files": {"KEY": str(key)}, "env_commands": {"T": f"touch {ran}"}}
    clinic.site.configure({"agents": {"executors": {"claude-code": section}}})
    found = clinic.finding("secrets")
    assert (found["level"], found["key"]) == ("error", "agents.executors.claude-code.env_files.KEY")
    assert f"chmod 600 {key}" in found["remedy"]
    assert not ran.exists()
