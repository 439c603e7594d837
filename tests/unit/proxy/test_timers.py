"""proxy.timers: who is judged by a timer is heard first."""

import asyncio

from proxy.timers import PatientTimer
from tests.fakes import FakeClock


async def test_a_timer_calls_once_in_its_time():
    called = []
    PatientTimer(0.01, lambda: called.append(1))
    await asyncio.sleep(0.1)
    assert called == [1]


async def test_a_cancelled_timer_does_not_call():
    called = []
    PatientTimer(0.01, lambda: called.append(1)).cancel()
    await asyncio.sleep(0.05)
    assert called == []


async def test_a_timer_that_is_late_lets_others_be_heard_first(monkeypatch):
    monkeypatch.setattr("proxy.timers.HELD_UP_S", 0.05)
    clock, called = FakeClock(0.0), []
    PatientTimer(0.01, lambda: called.append(1), clock)
    clock.now = 100.0
    await asyncio.sleep(0.03)
    assert called == []
    await asyncio.sleep(0.2)
    assert called == [1]
