import asyncio

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from proxy.cache.exchange import (
    ANSWERED_BY_ORIGIN,
    AWAITING_ORIGIN,
    STORING,
    TRANSITIONS,
    Exchange,
    ExchangeEvent,
    ExchangeState,
    IllegalTransition,
    RevalidationKind,
    next_state,
)
from tests.caching import NOW, a_request

S, E = ExchangeState, ExchangeEvent
ROWS = [(state, event, found) for state, row in TRANSITIONS.items() for event, found in row.items()]


class FakeSpool:
    abandoned = False

    def abandon(self):
        self.abandoned = True


def an_exchange(**known):
    return Exchange(request=a_request(), requested_at=NOW, **known)


def reachable(start):
    found, fresh = {start}, [start]
    while fresh:
        for following in set(TRANSITIONS[fresh.pop()].values()) - found:
            found.add(following)
            fresh.append(following)
    return found


@pytest.mark.parametrize("state", S)
@pytest.mark.parametrize("event", E)
def test_an_event_leads_where_the_table_says_or_is_refused(state, event):
    expected = TRANSITIONS[state].get(event)
    if state is not S.DONE and event in (E.END, E.FAIL):
        expected = S.DONE if event is E.END else S.FAILED
    exchange = an_exchange(state=state)
    if expected is None:
        with pytest.raises(IllegalTransition, match=f"{event.name} in {state.name}"):
            exchange.handle(event)
        assert exchange.state is state
    else:
        exchange.handle(event)
        assert exchange.state is expected


def test_every_state_is_reached_and_every_event_is_used():
    assert reachable(S.LOOKING_UP) | {S.FAILED, S.DONE} == set(S)
    assert {event for _, event, _ in ROWS} | {E.FAIL, E.END} == set(E)


def test_nothing_of_a_bypass_is_ever_stored():
    assert not reachable(S.BYPASSING) & STORING


def test_what_is_not_to_be_stored_is_not_stored_later():
    assert not reachable(S.PASSING) & STORING
    assert not reachable(S.FAILED) & STORING


def test_only_the_answer_to_our_conditions_confirms_what_is_stored():
    assert [state for state, event, _ in ROWS if event is E.CONFIRM] == [S.REVALIDATING]


def test_the_origin_answers_only_what_was_sent_on():
    heard = {state for state, _, found in ROWS if found in ANSWERED_BY_ORIGIN and state not in STORING}
    assert heard == AWAITING_ORIGIN


def test_nothing_happens_after_the_end():
    for event in E:
        with pytest.raises(IllegalTransition):
            next_state(S.DONE, event)


class AnyEvents(RuleBasedStateMachine):
    """Events in any order, as a mistake in a hook could report them."""

    def __init__(self):
        super().__init__()
        self.exchange = an_exchange()
        self.past = [S.LOOKING_UP]

    @rule(event=st.sampled_from(E))
    def happen(self, event):
        try:
            self.exchange.handle(event)
        except IllegalTransition:
            assert self.exchange.state is self.past[-1]
        else:
            self.past.append(self.exchange.state)

    @invariant()
    def stores_only_what_was_sent_on_and_never_after_it_passed(self):
        if self.exchange.is_storing:
            assert self.past[-2] in (S.FORWARDED, S.REVALIDATING)
            assert not {S.PASSING, S.FAILED, S.BYPASSING} & set(self.past)

    @invariant()
    def says_that_it_is_stored_only_if_it_will_be(self):
        assert self.exchange.cache_status().stored == (self.exchange.state in STORING)


TestAnyEvents = AnyEvents.TestCase


@pytest.mark.parametrize("state", sorted(STORING, key=lambda state: state.name))
def test_what_is_discarded_passes_and_its_spool_is_given_up(state):
    exchange = an_exchange(state=state, spool=FakeSpool())
    exchange.discard()
    assert exchange.state is S.PASSING
    assert exchange.spool.abandoned


def test_discarding_changes_nothing_where_nothing_is_stored():
    exchange = an_exchange(state=S.NOT_MODIFIED)
    exchange.discard()
    assert exchange.state is S.NOT_MODIFIED


def test_a_failure_gives_the_spool_up():
    exchange = an_exchange(state=S.SPOOLING, spool=FakeSpool())
    exchange.fail()
    assert (exchange.state, exchange.detail) == (S.FAILED, "unreachable")
    assert exchange.spool.abandoned


def test_what_is_unproven_is_not_said_to_be_stored():
    assert an_exchange(state=S.BUFFERING).cache_status().stored
    assert not an_exchange(state=S.BUFFERING, unproven=True).cache_status().stored
    assert an_exchange(state=S.SERVING_STORED, renewed=True).cache_status().stored


async def test_the_first_verdict_counts_and_only_for_who_asked_for_one():
    loop = asyncio.get_running_loop()
    ahead = an_exchange(own_request=RevalidationKind.AHEAD, waiter=loop.create_future())
    ahead.hand_over("response")
    ahead.conclude(500)
    ahead.conclude(None)
    assert await ahead.waiter == 500
    again = an_exchange(own_request=RevalidationKind.AGAIN, waiter=loop.create_future())
    again.conclude(500)
    again.hand_over("response")
    assert await again.waiter == "response"
