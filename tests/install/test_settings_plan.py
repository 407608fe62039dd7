"""What becomes of somebody's settings: a plan as a value, over all settings there can be."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sow.install.claude import is_sows, rules
from sow.install.places import MARKETPLACE
from sow.install.settings_plan import (
    NOTHING,
    AnotherOne,
    Brought,
    Plan,
    Unfit,
    plan_install,
    plan_uninstall,
    source_of,
)

RULES = ("Bash(sow next:*)", "Bash(sow status:*)", "Bash(sow agent spawn:*)")
HERE, BEFORE = "/new/marketplace", "/old/marketplace"
WORDS = st.text("ab{é", max_size=3)
SCALARS = st.none() | st.booleans() | st.integers() | WORDS
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "model": SCALARS,
        "extraKnownMarketplaces": st.dictionaries(WORDS, st.dictionaries(WORDS, SCALARS)),
        "enabledPlugins": st.dictionaries(WORDS, st.booleans()),
        "permissions": st.fixed_dictionaries(
            {},
            optional={
                "allow": st.lists(st.sampled_from([*RULES, "Bash(make:*)"]), unique=True),
                "deny": st.lists(WORDS),
                "defaultMode": WORDS,
            },
        ),
    },
)


def install(settings: dict[str, Any], before: Brought = NOTHING, **changed: Any) -> Plan:
    given_ = {"marketplace": HERE, "rules": RULES, "is_sows": lambda _: False, **changed}
    return plan_install(settings, before, **given_)


def whole(plan: Plan) -> Brought:
    """Return what is on record once the settings are written."""
    return replace(plan.brought, begun=())


@given(SETTINGS)
def test_what_came_goes_again_and_nothing_else(settings: dict[str, Any]) -> None:
    kept = copy.deepcopy(settings)
    there = install(settings)
    assert settings == kept, "what was given stays as it was"
    assert there.settings["enabledPlugins"]["sow@sow"] is True
    assert set(RULES) <= set(there.settings["permissions"]["allow"])
    gone = plan_uninstall(there.settings, there.brought)
    assert gone.settings == kept
    assert list(gone.settings) == list(kept), "in the order in which it stood"
    assert gone.brought == NOTHING


@given(SETTINGS)
def test_a_second_time_changes_nothing(settings: dict[str, Any]) -> None:
    once = install(settings)
    twice = install(once.settings, whole(once))
    assert twice.settings == once.settings
    assert (twice.changes, twice.notes) == ((), ())
    assert plan_uninstall(twice.settings, twice.brought).settings == settings


@given(SETTINGS, st.sampled_from([False, True]))
def test_an_install_that_was_killed_at_any_write_is_completed_by_the_next(
    settings: dict[str, Any], is_written: bool
) -> None:
    first = install(settings)
    again = install(first.settings if is_written else settings, first.brought)
    assert again.settings == first.settings
    assert plan_uninstall(again.settings, again.brought).settings == settings


def test_a_rule_that_was_taken_out_is_not_put_in_again() -> None:
    there = install({})
    there.settings["permissions"]["allow"].remove(RULES[0])
    again = install(there.settings, whole(there))
    assert again.settings["permissions"]["allow"] == list(RULES[1:])
    assert "1 rule is taken out by you before" in again.notes[0]
    assert plan_uninstall(again.settings, again.brought).settings == {}


def test_a_plugin_that_was_switched_off_stays_off_and_its_entry_stays() -> None:
    there = install({})
    there.settings["enabledPlugins"]["sow@sow"] = False
    again = install(there.settings, whole(there))
    assert again.settings["enabledPlugins"] == {"sow@sow": False}
    assert "the plugin is off" in again.notes[0]
    gone = plan_uninstall(again.settings, again.brought)
    assert gone.settings == {"enabledPlugins": {"sow@sow": False}}
    assert "was changed since, and stays" in gone.notes[0]


def test_a_marketplace_that_was_changed_since_stays() -> None:
    there = install({})
    other = {"source": {"source": "github", "repo": "a/b"}}
    there.settings["extraKnownMarketplaces"]["sow"] = other
    gone = plan_uninstall(there.settings, there.brought)
    assert gone.settings == {"extraKnownMarketplaces": {"sow": other}}
    assert "was changed since, and stays" in gone.notes[0]


def test_what_was_there_before_is_the_person_s_and_stays() -> None:
    own = {
        "extraKnownMarketplaces": {"sow": source_of(HERE)},
        "enabledPlugins": {"sow@sow": True},
        "permissions": {"allow": [RULES[1]]},
    }
    there = install(own)
    assert there.brought.allow == (RULES[0], RULES[2])
    assert plan_uninstall(there.settings, there.brought).settings == own


def test_another_sow_moves_the_folder_and_changes_the_rules() -> None:
    old = install({}, marketplace=BEFORE, rules=("Bash(sow gone:*)", RULES[0]))
    new = install(old.settings, old.brought)
    assert new.settings["extraKnownMarketplaces"]["sow"] == source_of(HERE)
    assert new.settings["permissions"]["allow"] == list(RULES)
    assert "1 rule is taken out, of an earlier sow" in new.changes
    assert plan_uninstall(new.settings, new.brought).settings == {}


def test_somebody_else_s_marketplace_of_that_name_is_refused() -> None:
    other = {"extraKnownMarketplaces": {"sow": {"source": {"source": "github", "repo": "a/b"}}}}
    with pytest.raises(AnotherOne, match="is not sow's"):
        install(other)
    mine = {"extraKnownMarketplaces": {"sow": source_of(BEFORE)}}
    taken = install(mine, is_sows=lambda entry: entry == source_of(BEFORE))
    assert taken.brought.marketplace == HERE


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"permissions": []}, "permissions is no object"),
        ({"permissions": {"allow": "all"}}, "permissions.allow is no list"),
        ({"enabledPlugins": None}, "enabledPlugins is no object"),
        ({"extraKnownMarketplaces": 3}, "extraKnownMarketplaces is no object"),
    ],
)
def test_settings_of_another_form_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(Unfit, match=words):
        install(settings)
    with pytest.raises(Unfit, match=words):
        plan_uninstall(settings, replace(install({}).brought))


def test_which_marketplaces_are_sow_s_own(tmp_path: Any) -> None:
    assert is_sows(source_of(str(MARKETPLACE)))
    assert is_sows(source_of("/no/such/folder/marketplace")), "of a sow that was moved or removed"
    assert not is_sows(source_of("/no/such/folder"))
    assert not is_sows(source_of(str(tmp_path)))
    assert not is_sows({"source": {"source": "github", "repo": "a/b"}})
    assert not is_sows("sow")


def test_the_rules_are_of_single_commands_that_lead_and_of_no_person_s() -> None:
    found = rules()
    assert "Bash(sow agent spawn:*)" in found
    assert all(rule.startswith("Bash(sow ") and rule.endswith(":*)") for rule in found)
    for words in ("trust", "install claude", "config edit", "worker"):
        assert f"Bash(sow {words}:*)" not in found
