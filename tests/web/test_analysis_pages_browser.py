"""Pages of events, people and what they did in a real browser: texts of strangers stay text, everything is read on a phone and in the dark."""

import pytest

from service_core.testing.event_builder import EventBuilder
from tests.fixtures.browser_deployment import IN_BROWSER
from tests.fixtures.xss_payloads import PAYLOADS

pytestmark = IN_BROWSER


def gallery_address(browser_deployment, path):
    return f"{browser_deployment.app}/w/{browser_deployment.gallery.workspace.public_id}{path}"


async def test_event_texts_are_escaped_in_events_and_timelines(browser_deployment):
    async with browser_deployment.watched_pages(browser_deployment.eve) as assert_page_shows:
        await assert_page_shows(gallery_address(browser_deployment, "/events"), PAYLOADS[:8])
        await assert_page_shows(gallery_address(browser_deployment, "/events?offset=50"), PAYLOADS[30:40])
        await assert_page_shows(gallery_address(browser_deployment, "/people/V3"), PAYLOADS[3:4])
        await assert_page_shows(
            gallery_address(browser_deployment, "/attribution?group_by=campaign&m_linear=1"), PAYLOADS[:3]
        )


@pytest.mark.parametrize("scripted", [True, False])
async def test_event_opens_to_its_stored_fields(browser_deployment, scripted):
    async with browser_deployment.page(browser_deployment.eve, java_script_enabled=scripted) as page:
        await page.goto(gallery_address(browser_deployment, "/events"))
        await page.locator("[data-event] summary").first.click()
        assert '"event_id"' in await page.locator("[data-event] pre").first.inner_text()
        assert await page.locator("[data-live-toggle]").is_visible() is scripted


async def test_followed_events_appear_and_opened_ones_stay_open(browser_deployment):
    gallery = browser_deployment.gallery
    async with browser_deployment.page(browser_deployment.eve) as page:
        await page.clock.install()
        await page.goto(gallery_address(browser_deployment, "/events"))
        await page.locator("[data-event] summary").nth(1).click()
        opened = await page.locator("[data-event][open]").get_attribute("data-event")
        story = EventBuilder(gallery.workspace.id)
        story._next_seq += 1_000_000  # those of the gallery come before
        story.add_event("followed_event", at=browser_deployment.service.ports.clock(), visitor="L1")
        await browser_deployment.service.ports.events.append(story.events)
        await page.click("[data-live-toggle]")
        await page.wait_for_selector("li.fresh >> text=Followed event")
        assert await page.locator("[data-event][open]").get_attribute("data-event") == opened
        assert await page.inner_text("[data-live-status]") == "1 new event."
        await page.click("[data-live-toggle]")
        assert await page.get_attribute("[data-live-toggle]", "aria-pressed") == "false"
        assert await page.inner_text("[data-live-toggle]") == "Live updates"


async def test_expired_session_stops_live_updates_and_keeps_the_events(browser_deployment):
    async with browser_deployment.page(browser_deployment.eve) as page:
        await page.goto(gallery_address(browser_deployment, "/events"))
        await page.context.clear_cookies()
        await page.click("[data-live-toggle]")
        await page.wait_for_selector("[data-live-status]:has-text('Live updates stopped')")
        assert await page.get_attribute("[data-live-toggle]", "aria-pressed") == "false"
        assert await page.locator("[data-event]").count()
