import asyncio

import pytest

from repair.admission import AdmissionControl, AdmittedRepairs, RepairTicket, TooManyRepairs
from repair.model import HeldPage, RankedAlternatives
from tests.make import A_MOMENT, a_broken_link

LINK = a_broken_link()


class SlowRepairer:
    """Notes who began; each goes on when all may."""

    def __init__(self):
        self.go_on = asyncio.Event()
        self.begun = []

    async def repair(self, link, *, within_s=None, click=None):
        self.begun.append(link.url)
        await self.go_on.wait()
        return RankedAlternatives(link=link, query="ranked")


class Held:
    async def page(self, url):
        return HeldPage(
            url=url, title="", text="", language="", fetched_at=A_MOMENT, pinned=False, has_copy=True
        )


async def settled():
    for _ in range(10):
        await asyncio.sleep(0)


async def test_past_the_limit_a_link_is_answered_at_once_with_the_saved_copy():
    repairer, admission = SlowRepairer(), AdmissionControl(at_once=2, abreast=2)
    taking = AdmittedRepairs(repairer, Held(), admission)
    waiting = [asyncio.create_task(taking.repair(LINK)) for _ in range(2)]
    await settled()
    assert await taking.repair(LINK) == RankedAlternatives(link=LINK, copy_at=A_MOMENT)
    assert admission.refused == 1
    repairer.go_on.set()
    assert [found.query for found in await asyncio.gather(*waiting)] == ["ranked"] * 2
    assert admission.in_progress == 0


async def test_few_repairs_run_and_the_others_wait_in_order():
    repairer = SlowRepairer()
    taking = AdmittedRepairs(repairer, Held(), AdmissionControl(at_once=50, abreast=2))
    links = [a_broken_link(f"http://school.test/{n}") for n in range(50)]
    waiting = [asyncio.create_task(taking.repair(link)) for link in links]
    await settled()
    assert repairer.begun == [link.url for link in links[:2]]
    repairer.go_on.set()
    await asyncio.gather(*waiting)
    assert repairer.begun == [link.url for link in links]


async def test_a_cancelled_repair_releases_its_place():
    repairer, admission = SlowRepairer(), AdmissionControl(at_once=2, abreast=1)
    waiting = [
        asyncio.create_task(AdmittedRepairs(repairer, Held(), admission).repair(LINK)) for _ in range(2)
    ]
    await settled()
    for task in waiting:  # one at work, one in the queue
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert admission.in_progress == 0
    async with admission.admit():
        assert admission.in_progress == 1


async def test_a_request_beyond_the_limit_is_refused_and_takes_no_place():
    admission = AdmissionControl(at_once=1, abreast=1)
    async with admission.admit():
        with pytest.raises(TooManyRepairs):
            async with admission.admit():
                pass
        assert admission.in_progress == 1


async def test_devices_take_turns_with_each_other():
    admission, order = AdmissionControl(at_once=50, abreast=1), []

    async def work(device, number):
        async with admission.admit(device):
            order.append((device, number))
            await asyncio.sleep(0)

    tasks = [asyncio.create_task(work("greedy", number)) for number in range(20)]
    await settled()
    late = asyncio.create_task(work("other", 0))
    await asyncio.gather(*tasks, late)
    assert order.index(("other", 0)) < len(order) - 5
    assert [number for device, number in order if device == "greedy"] == list(range(20))


async def test_a_full_queue_drops_requests_of_the_busiest_device():
    admission, go_on, done = AdmissionControl(at_once=4, abreast=1), asyncio.Event(), []

    async def work(device):
        async with admission.admit(device):
            await go_on.wait()
        done.append(device)

    greedy = [asyncio.create_task(work("greedy")) for _ in range(10)]
    await settled()
    others = [asyncio.create_task(work("other")) for _ in range(3)]
    await settled()
    go_on.set()
    found = await asyncio.gather(*greedy, *others, return_exceptions=True)
    assert done.count("other") >= 1
    assert done.count("greedy") + done.count("other") == 4
    assert sum(isinstance(each, TooManyRepairs) for each in found) == 9 == admission.refused
    assert admission.in_progress == 0


async def test_a_cancelled_waiter_takes_no_turn():
    admission, go_on = AdmissionControl(at_once=10, abreast=1), asyncio.Event()

    async def work():
        async with admission.admit("a"):
            await go_on.wait()

    tasks = [asyncio.create_task(work()) for _ in range(4)]
    await settled()
    tasks[1].cancel()
    await settled()
    tasks[2].cancel()
    go_on.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert admission.in_progress == 0
    async with asyncio.timeout(1), admission.admit("b"):
        assert admission.in_progress == 1


async def test_a_request_that_several_devices_wait_for_is_due_with_the_first_of_them_and_counts_once():
    admission, order = AdmissionControl(at_once=50, abreast=1), []

    async def work(name, ticket):
        async with admission.admit(ticket=ticket):
            order.append(name)
            await asyncio.sleep(0)

    tickets = [RepairTicket("greedy") for _ in range(20)]
    tasks = [asyncio.create_task(work(number, ticket)) for number, ticket in enumerate(tickets)]
    await settled_until_waiting(tickets[-1])
    for device in ("one", "another", "one"):
        admission.join(tickets[-1], device)
    assert admission.in_progress <= 20
    await asyncio.gather(*tasks)
    assert order.index(19) < 15
    assert sorted(order) == list(range(20))
    assert (admission.in_progress, admission._waiting) == (0, {})


async def settled_until_waiting(ticket):
    while not ticket.is_waiting:
        await asyncio.sleep(0)


async def test_who_joins_a_request_that_runs_already_leaves_nothing_in_the_queue():
    admission, ticket = AdmissionControl(at_once=2, abreast=1), RepairTicket("one")
    async with admission.admit(ticket=ticket):
        admission.join(ticket, "another")
        assert admission._waiting == {}
