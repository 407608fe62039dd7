"""What a run has used: each token and each cent counted once, in any order of runs and kills."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sow.attempts.run_usage import base_of, price_of, usage_of
from sow.executors.metering import Meter, Span
from sow.schema.usage import NOTHING, ModelUsage, Price, RunUsage, Tokens, Totals, sum_of

MODEL = "claude-opus-5-5"
PRICE = Price(input=4, output=20, cache_read=0.4, cache_write=5)
PRICES = {MODEL: PRICE}


def totals(tokens: Tokens, usd: float | None = None, *, model: str = MODEL) -> Totals:
    return Totals(usd=usd, models={model: ModelUsage(tokens=tokens, usd=usd)})


def priced(tokens: Tokens) -> Totals:
    return totals(tokens, PRICE.of(tokens))


def meter_of(
    *messages: Tokens, result: Totals | None = None, span: Span | None = Span.SESSION
) -> Meter:
    """Return what a run has told with these messages, and a result if there was one."""
    meter = Meter().with_start(MODEL, span)
    for number, tokens in enumerate(messages):
        meter = meter.with_message(f"m{number}", MODEL, tokens)
    return meter if result is None else meter.with_result(result, sum_of(messages))


FIVE = Tokens(input=5, output=5, cache_read=5, cache_write=5)
TEN = FIVE + FIVE


def test_a_run_of_which_nothing_is_told_is_unknown_and_not_free() -> None:
    run = usage_of(Meter(), (), PRICES)
    assert run == RunUsage(tokens=None, usd=None, is_partial=True, is_unpriced=True)


def test_a_first_run_has_used_what_its_result_tells() -> None:
    run = usage_of(meter_of(FIVE, result=totals(FIVE, 0.5)), (), {})
    assert (run.tokens, run.usd) == (FIVE, 0.5)
    assert (run.is_estimate, run.is_partial, run.is_unpriced) == (False, False, False)


def test_a_resume_whose_totals_count_the_session_has_used_what_was_added() -> None:
    earlier = [totals(FIVE, 0.5)]
    run = usage_of(meter_of(FIVE, result=totals(TEN, 1.25)), earlier, {})
    assert (run.tokens, run.usd) == (FIVE, 0.75)
    assert run.models == {MODEL: ModelUsage(tokens=FIVE, usd=0.75)}


def test_a_resume_whose_totals_count_the_run_has_used_all_of_them() -> None:
    meter = meter_of(FIVE, result=totals(TEN, 1.25), span=Span.RUN)
    run = usage_of(meter, [totals(FIVE, 0.5)], {})
    assert (run.tokens, run.usd) == (TEN, 1.25), "more than its messages tell: of subagents"


@pytest.mark.parametrize(("all_told", "usd"), [(FIVE, 0.5), (TEN, 0.25)])
def test_of_a_version_that_nobody_has_measured_the_figures_decide(
    all_told: Tokens, usd: float
) -> None:
    earlier = [totals(FIVE, 0.25)]
    run = usage_of(meter_of(FIVE, result=totals(all_told, 0.5), span=None), earlier, {})
    assert (run.tokens, run.usd) == (FIVE, usd)


def test_what_the_cli_has_forgotten_of_a_session_is_no_base() -> None:
    """It was killed after its result and before it kept that: it counts on from the run before."""
    forgotten, kept = totals(TEN + FIVE, 3.0), totals(TEN, 1.0)
    meter = meter_of(FIVE, result=totals(TEN + FIVE, 1.5))
    assert base_of(meter, [kept, forgotten]) == kept
    assert usage_of(meter, [kept, forgotten], {}).usd == 0.5


def test_a_killed_run_has_used_at_least_its_messages() -> None:
    run = usage_of(meter_of(FIVE, FIVE), [totals(TEN, 9.0)], {})
    assert (run.tokens, run.usd) == (TEN, None)
    assert (run.is_partial, run.is_unpriced) == (True, True)


def test_a_killed_run_is_priced_by_the_table_and_marked() -> None:
    run = usage_of(meter_of(FIVE), (), PRICES)
    assert (run.usd, run.is_estimate) == (PRICE.of(FIVE), True)
    assert (run.is_partial, run.is_unpriced) == (True, False)


def test_what_came_after_the_last_result_is_counted_besides() -> None:
    meter = meter_of(FIVE, result=totals(FIVE, 0.5)).with_message("later", MODEL, FIVE)
    known = usage_of(meter, (), PRICES)
    assert (known.tokens, known.usd) == (TEN, 0.5 + PRICE.of(FIVE))
    assert (known.is_estimate, known.is_partial, known.is_unpriced) == (True, True, False)
    unknown = usage_of(meter, (), {})
    assert (unknown.usd, unknown.is_partial, unknown.is_unpriced) == (0.5, True, True)


def test_one_message_in_several_lines_counts_once_and_may_grow() -> None:
    meter = Meter().with_start(MODEL, Span.RUN)
    for tokens in (FIVE, FIVE, TEN, FIVE):
        meter = meter.with_message("m", MODEL, tokens)
    assert usage_of(meter, (), {}).tokens == TEN


def test_tokens_without_a_price_are_counted_by_the_table() -> None:
    result = Totals(models={"": ModelUsage(tokens=FIVE)})
    run = usage_of(meter_of(result=result, span=Span.RUN), (), PRICES)
    assert run.models == {MODEL: ModelUsage(tokens=FIVE, usd=PRICE.of(FIVE), is_estimate=True)}
    assert (run.usd, run.is_estimate, run.is_partial) == (PRICE.of(FIVE), True, False)


def test_tokens_of_a_model_that_no_table_names_stay_without_a_price() -> None:
    run = usage_of(meter_of(result=Totals(models={"": ModelUsage(tokens=FIVE)})), (), {})
    assert (run.tokens, run.usd, run.is_unpriced) == (FIVE, None, True)


def test_the_model_of_the_settings_stands_for_one_that_is_not_told() -> None:
    meter = Meter().with_result(Totals(models={"": ModelUsage(tokens=FIVE)}), NOTHING)
    assert usage_of(meter, (), PRICES, model=MODEL).usd == PRICE.of(FIVE)


def test_a_price_that_the_cli_has_guessed_is_an_estimate() -> None:
    guessed = {MODEL: ModelUsage(tokens=FIVE, usd=0.5, is_estimate=True)}
    run = usage_of(meter_of(result=Totals(usd=0.5, models=guessed)), (), {})
    assert (run.usd, run.is_estimate) == (0.5, True)


def test_a_run_that_goes_on_is_not_called_partial() -> None:
    assert not usage_of(meter_of(FIVE), (), {}, ended=False).is_partial


def test_the_context_that_a_name_tells_makes_no_other_price() -> None:
    assert price_of(f"{MODEL}[1m]", PRICES) is PRICE
    assert price_of("another", PRICES) is None


@dataclass(frozen=True)
class OneRun:
    """A run to be: its messages, and how it ends."""

    messages: tuple[Tokens, ...]
    ending: str


COUNT = st.integers(0, 50)
MESSAGE = st.builds(
    Tokens, input=st.integers(1, 50), output=COUNT, cache_read=COUNT, cache_write=COUNT
)
RUNS = st.lists(
    st.builds(
        OneRun,
        messages=st.lists(MESSAGE, min_size=1, max_size=4).map(tuple),
        ending=st.sampled_from(["result", "killed", "killed after its result"]),
    ),
    max_size=8,
)


@given(RUNS, st.sampled_from([Span.RUN, Span.SESSION, None]), st.booleans())
def test_over_a_session_everything_is_counted_once(
    runs: Sequence[OneRun], span: Span | None, keeps_session: bool
) -> None:
    """Whatever is killed, and whether or not a killed CLI has kept what it had told."""
    counts_session = keeps_session if span is None else span is Span.SESSION
    kept, earlier = NOTHING, list[Totals]()
    for run in runs:
        own = sum_of(run.messages)
        if run.ending == "killed":
            seen = usage_of(meter_of(*run.messages, span=span), earlier, PRICES)
            assert seen.tokens == own
            assert seen.usd == pytest.approx(PRICE.of(own))
            continue
        total = priced(kept + own if counts_session else own)
        seen = usage_of(meter_of(*run.messages, result=total, span=span), earlier, PRICES)
        assert seen.tokens == own
        assert seen.usd == pytest.approx(PRICE.of(own))
        earlier.append(total)
        kept = kept if run.ending == "killed after its result" else kept + own


def paid(*messages: tuple[str, Tokens, float | None]) -> Meter:
    """Return what a run has told with these messages, whose CLI tells no totals."""
    meter = Meter().with_start(MODEL, Span.RUN)
    for name, tokens, usd in messages:
        meter = meter.with_message(name, "", tokens, usd)
    return meter


def test_messages_that_carry_their_money_make_the_cost_of_a_run() -> None:
    meter = paid(("a", FIVE, 0.25), ("b", FIVE, 0.5)).with_end()
    run = usage_of(meter, (), PRICES)
    assert run.models == {MODEL: ModelUsage(tokens=TEN, usd=0.75)}
    assert (run.tokens, run.usd) == (TEN, 0.75)
    assert (run.is_estimate, run.is_partial, run.is_unpriced) == (False, False, False)


def test_the_money_of_one_message_counts_once_and_may_grow() -> None:
    meter = paid(("a", FIVE, 0.25), ("a", FIVE, 0.25), ("b", FIVE, 0.5), ("a", TEN, 0.375))
    run = usage_of(meter, (), {}, ended=False)
    assert (run.tokens, run.usd) == (TEN + FIVE, 0.875)


def test_a_run_that_is_cut_off_costs_at_least_what_its_messages_cost() -> None:
    run = usage_of(paid(("a", FIVE, 0.25)), (), {})
    assert (run.usd, run.is_partial, run.is_unpriced) == (0.25, True, False)
    again = paid(("a", FIVE, 0.25)).with_end().with_message("b", "", FIVE, 0.25)
    assert usage_of(again, (), {}).is_partial, "another turn has begun after the result"


def test_only_messages_without_their_money_are_priced_by_the_table() -> None:
    meter = paid(("a", FIVE, 0.25), ("b", FIVE, None)).with_end()
    run = usage_of(meter, (), PRICES)
    assert (run.tokens, run.usd) == (TEN, 0.25 + PRICE.of(FIVE))
    assert (run.is_estimate, run.is_unpriced) == (True, False)
    unknown = usage_of(meter, (), {})
    assert (unknown.usd, unknown.is_unpriced) == (0.25, True)


def test_totals_count_the_money_of_the_messages_before_them() -> None:
    meter = paid(("a", FIVE, 0.25)).with_result(totals(FIVE, 0.5), FIVE)
    run = usage_of(meter, (), {})
    assert (run.tokens, run.usd) == (FIVE, 0.5)
