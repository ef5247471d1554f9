"""Tasks of the application as a person does them, by mouse or by the keyboard alone."""

import pytest

from service_core.kernel.ids import new_id
from tests.fixtures.browser_deployment import IN_BROWSER

pytestmark = IN_BROWSER


@pytest.fixture
def workspace_address(browser_deployment):
    return browser_deployment.settings


async def press_until_focused(page, selector, most=80):
    """Presses Tab until an element has the focus."""
    for _ in range(most):
        await page.keyboard.press("Tab")
        if await page.evaluate("(wanted) => document.activeElement?.matches(wanted)", selector):
            return
    raise AssertionError(f"{selector} is not reached by Tab")


async def test_filter_visitors_and_save_them_as_a_segment(browser_deployment, workspace_address):
    """ "Keep the visitors on phones at hand, for every page"."""
    name = f"On the phone {new_id().hex[-6:]}"
    async with browser_deployment.page() as page:
        await page.goto(workspace_address)
        await page.click("#add-filter > summary")
        await page.select_option("#add-filter [name=filter_dimension]", "device_type")
        await page.fill("#add-filter [name=filter_value]", "mobile")
        await page.click("#add-filter button")
        await page.click("summary:has-text('Segment: ')")
        await page.click("text=Save filters as a segment")
        await page.fill("[name=name]", name)
        await page.click("button[value=save]")
        await page.click(f"h2 a:has-text('{name}')")
        chosen = page.locator(".range-bar summary", has_text="Segment: ")
        await chosen.wait_for()
        assert name in await chosen.inner_text()


async def test_find_what_follows_an_event_by_keyboard(browser_deployment, workspace_address):
    """ "What do people do after a page view?", without a mouse."""
    async with browser_deployment.page(browser_deployment.eve) as page:
        gallery = browser_deployment.gallery.workspace.public_id
        await page.goto(f"{browser_deployment.app}/w/{gallery}/paths?range=all_time&by=event")
        await press_until_focused(page, "[name=start]")
        await page.keyboard.type("page_view")
        await page.keyboard.press("Enter")
        await page.wait_for_url("**start=page_view**")
        await press_until_focused(page, "a[data-number]")
        number = await page.evaluate("document.activeElement.innerText")
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/paths/sessions**")
        assert await page.inner_text("[data-counted]") == number


async def test_build_a_funnel_and_see_who_dropped_off(browser_deployment):
    """ "Who looked at a page and never signed up?"."""
    async with browser_deployment.page(browser_deployment.eve) as page:
        gallery = browser_deployment.gallery.workspace.public_id
        await page.goto(f"{browser_deployment.app}/w/{gallery}/funnels?range=all_time")
        await page.fill("[name=step1]", "page_view")
        await page.fill("[name=step2]", "signup")
        await page.click("text=Show funnel")
        dropped = page.locator("a[data-number][href*='outcome=dropped']")
        number = await dropped.inner_text()
        await dropped.click()
        await page.wait_for_url("**/funnels/people**")
        assert await page.inner_text("[data-counted]") == number
