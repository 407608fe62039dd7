"""What brings a verdict on the whole, for the guards that ask about it.

Pure. Owns when somebody who may has to judge by their own eyes: an agent whose
review came to no verdict may come to none the next time as well.
"""

from collections.abc import Sequence

from sow.lifecycle.lifecycle_facts import Facts, Remedy

REVIEW = "sow agent review --project"
ACCEPT = 'sow review accept --project --summary "<what you think of it>"'
CORRECT = 'sow review correct --project --file "<file>"'
ENOUGH = 2
"""After so many reviews without a verdict a person is asked, and no further one is named."""


def review_accepts(facts: Facts) -> Sequence[Remedy]:
    """Return what is missing until the whole is accepted, by somebody who may, as it is now."""
    if facts.verdict == "accepted" and facts.verdict_holds:
        why = "an agent has accepted the project, but a person must accept it too"
        return () if facts.verdict_counts else (Remedy(ACCEPT, why),)
    if facts.verdict and not facts.verdict_holds:
        return _judged(facts, "the work has changed since the project review")
    if facts.verdict:
        event = "correct" if facts.state == "reviewing" else "review"
        return (Remedy(f"sow advance {event}", "the review asks for corrections"),)
    return _judged(facts, "nobody has reviewed the project yet")


def review_corrects(facts: Facts) -> Sequence[Remedy]:
    """Return what is missing until the whole is to be corrected."""
    why = "no project review asks for corrections"
    return () if facts.verdict == "corrections" else (Remedy(CORRECT, why),)


def _judged(facts: Facts, why: str) -> Sequence[Remedy]:
    """Return what has the whole judged: by an agent, as long as that may come to something.

    A further review is not named after that, though anybody may start one: whoever runs what is
    named, and may not judge by themselves, would pay for reviews for ever.
    """
    tries = len(facts.vain_reviews)
    if not tries:
        return (Remedy(REVIEW, why),)
    last = facts.vain_reviews[-1]
    vain = f"{tries} reviews have" if tries > 1 else "a review has"
    seen = f"{vain} ended without a verdict: `sow task log {last}`"
    own = (
        Remedy(ACCEPT, f"{seen}; review it yourself"),
        Remedy(CORRECT, "or ask for corrections"),
    )
    return own if tries >= ENOUGH else (Remedy(REVIEW, f"{why}; {seen}"), *own)
