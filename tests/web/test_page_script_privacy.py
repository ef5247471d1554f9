"""Whoever does not want to be counted by the page script is not, and forms keep their secrets."""

import json

import pytest

from tests.fixtures.browser_deployment import IN_BROWSER
from tests.fixtures.tracked_site import NAVIGATOR_SIGNAL_SCRIPT, QUEUE_STUB, cookies_by_name, wait_for_script

pytestmark = IN_BROWSER


@pytest.mark.parametrize(
    ("attributes", "signal", "value", "counts"),
    [
        ("", "globalPrivacyControl", "true", False),
        ('data-respect-gpc="false"', "globalPrivacyControl", "true", True),
        ("", "doNotTrack", "'1'", True),
        ('data-respect-dnt="true"', "doNotTrack", "'1'", False),
    ],
)
async def test_browser_privacy_signals_are_respected(tracked_site, attributes, signal, value, counts):
    tracked_site.attributes = attributes
    async with tracked_site.visitor(NAVIGATOR_SIGNAL_SCRIPT % (signal, value)) as context:
        requests = []
        context.on("request", lambda request: requests.append(request.url))
        page = await context.new_page()
        await page.goto(tracked_site.url())
        await wait_for_script(page)
        assert bool(await page.evaluate("touchpoint.track('x')")) is counts
        await page.goto("about:blank")
        if counts:
            await tracked_site.named("page_view", "x")
        else:
            assert [url for url in requests if url.startswith(tracked_site.ingest)] == [
                f"{tracked_site.ingest}/t.js"
            ]
            assert await context.cookies() == []


async def test_opt_out_lasts_until_opt_in(tracked_site):
    async with tracked_site.visited() as page:
        await tracked_site.named("page_view")
        assert (
            await page.evaluate("touchpoint.track('dropped'); touchpoint.optOut(); touchpoint.track('x')")
            is None
        )
        assert (await cookies_by_name(page)).keys() == {"tp_out"}
        await page.reload()
        await wait_for_script(page)
        assert await page.evaluate("touchpoint.track('y')") is None
        await page.evaluate("touchpoint.optOut(false); touchpoint.track('back')")
        await tracked_site.named("page_view", "back")
        assert (await cookies_by_name(page)).keys() == {"tp_vid", "tp_sid"}


async def test_consent_set_before_the_script_loads_applies_to_the_first_event(tracked_site):
    tracked_site.stub = QUEUE_STUB + "<script>touchpoint.track('x'); touchpoint.optOut();</script>"
    async with tracked_site.visited() as page:
        assert (await cookies_by_name(page)).keys() == {"tp_out"}
        await page.goto("about:blank")
    assert await tracked_site.events(lambda found: True) == []


FORM = '<form onsubmit="return false"><input type="password" value="secret"><input type="email" value="%s"><button>Go</button></form>'


async def test_form_identification_works_when_enabled(tracked_site):
    tracked_site.attributes, tracked_site.body = 'data-auto-identify="true"', FORM % "ann@example.com"
    async with tracked_site.visited() as page:
        await page.click("button")
        await page.click("button")
        found = await tracked_site.named("page_view", "$identify")
    assert found[1]["properties"]["traits"] == {"email": "ann@example.com"}
    assert "secret" not in json.dumps(found)


async def test_form_identification_is_off_by_default(tracked_site):
    tracked_site.body = FORM % "ann@example.com"
    async with tracked_site.visited() as page:
        await page.click("button")
        await page.evaluate("touchpoint.track('after')")
        events = await tracked_site.named("page_view", "after")
    assert "$identify" not in {event["event"] for event in events}
    assert "ann@example.com" not in json.dumps(events)
