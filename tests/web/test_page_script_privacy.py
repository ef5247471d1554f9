"""Whoever does not want to be counted by the page script is not, and forms keep their secrets."""

import json

import pytest

from tests.fixtures.served_deployment import IN_BROWSER
from tests.fixtures.shop_site import SIGNAL, STUB, cookies, ready

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
async def test_signals_of_the_browser_are_respected(tracked_site, attributes, signal, value, counts):
    tracked_site.attributes = attributes
    async with tracked_site.visitor(SIGNAL % (signal, value)) as context:
        asked = []
        context.on("request", lambda request: asked.append(request.url))
        page = await context.new_page()
        await page.goto(tracked_site.url())
        await ready(page)
        assert bool(await page.evaluate("touchpoint.track('x')")) is counts
        await page.goto("about:blank")
        if counts:
            await tracked_site.named("page_view", "x")
        else:
            assert [url for url in asked if url.startswith(tracked_site.ingest)] == [
                f"{tracked_site.ingest}/t.js"
            ]
            assert await context.cookies() == []


async def test_whoever_opts_out_stays_out_until_they_opt_in(tracked_site):
    async with tracked_site.visited() as page:
        await tracked_site.named("page_view")
        assert (
            await page.evaluate("touchpoint.track('dropped'); touchpoint.optOut(); touchpoint.track('x')")
            is None
        )
        assert (await cookies(page)).keys() == {"tp_out"}
        await page.reload()
        await ready(page)
        assert await page.evaluate("touchpoint.track('y')") is None
        await page.evaluate("touchpoint.optOut(false); touchpoint.track('back')")
        await tracked_site.named("page_view", "back")
        assert (await cookies(page)).keys() == {"tp_vid", "tp_sid"}


async def test_a_choice_made_before_the_script_is_there_counts_from_the_first_event(tracked_site):
    tracked_site.stub = STUB + "<script>touchpoint.track('x'); touchpoint.optOut();</script>"
    async with tracked_site.visited() as page:
        assert (await cookies(page)).keys() == {"tp_out"}
        await page.goto("about:blank")
    assert await tracked_site.events(lambda found: True) == []


FORM = '<form onsubmit="return false"><input type="password" value="secret"><input type="email" value="%s"><button>Go</button></form>'


async def test_forms_say_who_visits_where_the_page_asks_for_it(tracked_site):
    tracked_site.attributes, tracked_site.body = 'data-auto-identify="true"', FORM % "ann@example.com"
    async with tracked_site.visited() as page:
        await page.click("button")
        await page.click("button")
        found = await tracked_site.named("page_view", "$identify")
    assert found[1]["properties"]["traits"] == {"email": "ann@example.com"}
    assert "secret" not in json.dumps(found)


async def test_forms_say_nothing_otherwise(tracked_site):
    tracked_site.body = FORM % "ann@example.com"
    async with tracked_site.visited() as page:
        await page.click("button")
        await page.evaluate("touchpoint.track('after')")
        await tracked_site.named("page_view", "after")
