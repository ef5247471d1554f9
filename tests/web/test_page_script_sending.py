"""Events of the page script arrive once, whatever happens to page and network."""

import json

import pytest

from tests.fixtures.browser_deployment import IN_BROWSER
from tests.fixtures.tracked_site import wait_for_script

pytestmark = IN_BROWSER


async def test_events_are_sent_when_the_page_is_left(tracked_site):
    async with tracked_site.visited() as page:
        await page.evaluate("touchpoint.track('last')")
        await page.goto("about:blank")
        events = await tracked_site.named("page_view", "last")
    assert events[0]["visitor_id"] == events[1]["visitor_id"]


async def test_unsent_events_are_sent_once_by_a_later_page(tracked_site):
    async with tracked_site.visited() as page:
        await tracked_site.named("page_view")
        await page.context.set_offline(True)
        await page.evaluate("touchpoint.track('lost', { order_id: 'o1' })")
        await page.wait_for_function("localStorage.tp_kept")
        await page.close()
        await page.context.set_offline(False)
        later = await page.context.new_page()
        await later.goto(tracked_site.url("/later"))
        await tracked_site.named("page_view", "lost", "page_view")
        assert await later.evaluate("localStorage.getItem('tp_kept')") is None


@pytest.mark.parametrize("status", [429, 500])
async def test_events_are_retried_when_the_service_is_busy(tracked_site, status):
    tries = []

    async def refuse_once(route):
        tries.append(json.loads(route.request.post_data)["events"])
        await (route.fulfill(status=status, body="{}") if len(tries) == 1 else route.continue_())

    async with tracked_site.visitor() as context:
        await context.route("**/batch", refuse_once)
        page = await context.new_page()
        await page.goto(tracked_site.url())
        await tracked_site.named("page_view")
    assert [event["event_id"] for event in tries[0]] == [event["event_id"] for event in tries[1]]


async def test_rejected_events_are_not_retried(tracked_site):
    async with tracked_site.visited() as page:
        await tracked_site.named("page_view")
        await page.evaluate("touchpoint.track(''); touchpoint.track('x'.repeat(300_000))")
        await page.evaluate("touchpoint.track('good')")
        found = await tracked_site.events(lambda found: len(found) == 2)
        assert found[-1]["event"] == "good"
        await page.wait_for_function("!localStorage.tp_kept")


async def test_invalid_event_affects_neither_page_nor_other_events(tracked_site):
    async with tracked_site.visited() as page:
        await page.evaluate(
            "const loop = {}; loop.loop = loop; touchpoint.track('bad', loop); touchpoint.track('n', { big: 1n })"
        )
        await page.evaluate("touchpoint.track('good'); touchpoint.identify(null); touchpoint.track()")
        events = await tracked_site.named("page_view", "good", "$identify")
    assert {event["event"] for event in events}.isdisjoint({"bad", "n"})


async def test_page_without_storage_access_is_counted(tracked_site):
    tracked_site.policy, tries = "sandbox allow-scripts", []

    async def fail_once(route):
        tries.append(route)
        await (route.abort() if len(tries) == 1 else route.continue_())

    async with tracked_site.visitor() as context:
        await context.route("**/batch", fail_once)
        page = await context.new_page()
        await page.goto(tracked_site.url())
        await wait_for_script(page)
        await page.evaluate("touchpoint.track('x', null)")
        first, second = await tracked_site.named("page_view", "x")
    assert first["visitor_id"] == second["visitor_id"]
    assert first["context"]["session_id"] == second["context"]["session_id"]
