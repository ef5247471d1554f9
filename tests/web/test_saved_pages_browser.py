"""Explore, saved objects, links and rules in a real browser: hostile names, a phone, the dark, no scripts."""

import pytest

from service_core.kernel.ids import new_id
from tests.fixtures.browser_deployment import IN_BROWSER
from tests.fixtures.shared_objects import SharedObjects
from tests.fixtures.xss_payloads import PAYLOADS

pytestmark = IN_BROWSER


@pytest.fixture
def own_objects(browser_deployment):
    """Saves objects in the workspace that Ann owns."""
    objects = SharedObjects(browser_deployment.service)
    objects.workspace = browser_deployment.initialized_deployment.workspace
    objects.week = {"preset": "last_7_days"}
    return objects


async def test_link_is_previewed_created_changed_and_undone_without_scripts(browser_deployment):
    slug = f"spring-{new_id().hex[-8:]}"
    async with browser_deployment.page(java_script_enabled=False) as page:
        await page.goto(f"{browser_deployment.settings}/links/new")
        await page.fill("[name=name]", PAYLOADS[0][:200])
        await page.fill("[name=destination_url]", "https://shop.example/spring")
        await page.fill("[name=slug]", slug)
        await page.click("button[value=preview]")
        assert f"{slug} now leads to https://shop.example/spring" in await page.inner_text("main")
        await page.click("main button[value=save]")
        await page.wait_for_selector("[role=status]:has-text('Created.')")
        await page.wait_for_load_state("load")  # images included
        assert await page.locator(".qr img").evaluate("(image) => image.naturalWidth") > 0
        await page.fill("[name=name]", "Renamed")
        await page.click("main button[value=save] >> nth=0")
        await page.wait_for_selector("h1:has-text('Renamed')")
        await page.click("[role=status] button")
        await page.wait_for_selector("[role=status]:has-text('Change undone.')")
        assert await page.inner_text("h1") == " ".join(PAYLOADS[0][:200].split())


async def test_dashboard_is_filled_by_keyboard(browser_deployment, own_objects):
    name = f"Visitors {new_id().hex[-6:]}"
    await own_objects.report(name)
    async with browser_deployment.page() as page:
        await page.goto(f"{browser_deployment.settings}/dashboards")
        await page.focus("[name=name]")
        await page.keyboard.type("Keyboard board")
        await page.keyboard.press("Enter")
        await page.wait_for_url("**edit=1**")
        await page.focus("[name=report_id]")
        await page.keyboard.type(name)
        await page.keyboard.press("Tab")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await page.wait_for_selector(f".slot h2:has-text('{name}')")
        assert "Saved." in await page.inner_text("[role=status]")


async def test_cards_of_a_dashboard_are_moved_and_resized_by_dragging(browser_deployment, own_objects):
    names = [f"{word} {new_id().hex[-6:]}" for word in ("First", "Second")]
    reports = [await own_objects.report(name) for name in names]
    dashboard = await own_objects.dashboard(reports, "Dragged")
    titles = "[...document.querySelectorAll('.slot h2')].map((one) => one.innerText)"
    async with browser_deployment.page() as page:
        await page.goto(f"{browser_deployment.settings}/dashboards/{dashboard}?edit=1")
        await page.locator("[data-drag=place]").nth(1).hover()
        await page.mouse.down()
        await page.locator(".slot h2").nth(0).hover()
        await page.mouse.up()
        await page.wait_for_selector("[role=status]:has-text('Saved.')")
        assert await page.evaluate(titles) == names[::-1]
        board = await page.locator(".board").bounding_box()
        slot = page.locator(".slot").nth(0)
        size = (await slot.get_attribute("class")).split()[1]
        share, other = (1, "lg") if size != "lg" else (0.34, "sm")
        await slot.locator("[data-drag=size]").hover()
        await page.mouse.down()
        await page.mouse.move(board["x"] + board["width"] * share - 2, 300)
        await page.mouse.up()
        await page.wait_for_selector(f".slot.{other} h2:has-text('{names[1]}')")
        await page.reload()
        assert await page.locator(".slot").nth(0).get_attribute("class") == f"slot {other}"
