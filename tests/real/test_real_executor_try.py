"""`sow executor try` with real builds: each promise is kept, and the record says so."""

import json

import pytest
from native_trial import Trial
from natives import EVERY
from opened_trial import by_native

pytestmark = [pytest.mark.real]

FIRST = [
    {"run": 'sow agent log "Trial begun"'},
    {"run": "sow phase add trial-forbidden"},
    {"run": "sow task set status paused"},
]
GOES_ON = [
    {"run": 'sow agent log "The word is WORD"', "recall": "maple-[0-9a-f]{6}"},
    {"run": "sow task set status needs_review"},
]
RESUMED = [*FIRST, *GOES_ON, {"say": "That is all."}, *GOES_ON]
"""By how many answers of tools the conversation holds: of the first run's three, Gemini CLI sends
each twice after a resume (measured, 0.61.0)."""
SECOND = [{"run": 'sow agent log "Trial waits"'}, {"run": "sow changes --follow"}]
MODEL = {"Go on with the trial": RESUMED, "Remember the word": FIRST, "": SECOND}
"""What the model says, by a text of the conversation; by nothing for the second task."""


@by_native("tried", *EVERY)
def test_every_promise_is_kept(trial: Trial) -> None:
    trial.tell(of=MODEL)
    done = trial.sow("executor", "try", trial.executor, "--yes", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads(done.stdout)
    results = {each["promise"]: each["result"] for each in record["promises"]}
    assert set(results.values()) == {"held"}, record
    assert record["version"] == trial.native.version
    assert not trial.left()
