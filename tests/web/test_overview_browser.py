"""The overview and Realtime in a real browser: by mouse, by keyboard, without scripts, on a phone and in the dark."""

from urllib.parse import parse_qs, urlsplit

from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from service_core.kernel.clock import system_clock
from service_core.testing.event_builder import EventBuilder
from tests.fixtures.browser_deployment import IN_BROWSER

pytestmark = IN_BROWSER

COUNT_REQUESTS = """
window.asked = 0;
const send = window.fetch;
window.fetch = (...given) => { window.asked += 1; return send(...given); };
null;
"""
"""Ends with no function: the browser would be asked to call it."""


def gallery_address(browser_deployment, path=""):
    return f"{browser_deployment.app}/w/{browser_deployment.gallery.workspace.public_id}{path}"


def query_of(page):
    return parse_qs(urlsplit(page.url).query)


async def test_keys_choose_ranges_and_comparison_and_are_listed(browser_deployment):
    async with browser_deployment.page(await browser_deployment.add_gallery_viewer()) as page:
        await page.goto(gallery_address(browser_deployment))
        await page.keyboard.press("?")
        assert await page.locator("#keys").is_visible()
        assert "Yesterday" in await page.inner_text("#keys")
        await page.keyboard.press("Escape")
        await page.locator("#keys").wait_for(state="hidden")
        await page.keyboard.press("w")
        await page.wait_for_url("**?range=last_7_days")
        await page.keyboard.press("x")
        await page.wait_for_url("**compare=none")
        await page.keyboard.press("/")
        await page.keyboard.type("d")
        assert query_of(page)["range"] == ["last_7_days"]
        await page.keyboard.press("Escape")
        assert not await page.locator("#add-filter[open]").count()
        await page.keyboard.press("?")
        await page.uncheck("#use-keys")
        await page.keyboard.press("Escape")
        await page.locator("#keys").wait_for(state="hidden")
        await page.evaluate("document.activeElement.blur()")
        await page.keyboard.press("d")
        await page.keyboard.press("?")
        await page.locator("#keys").wait_for()
        assert query_of(page)["range"] == ["last_7_days"]


async def test_keys_are_listed_on_pages_with_a_range_bar(browser_deployment):
    async with browser_deployment.page(await browser_deployment.add_gallery_viewer()) as page:
        for path in ("/funnels", "/details/country"):
            await page.goto(gallery_address(browser_deployment, path))
            await page.click("[data-open-keys]")
            await page.locator("#keys").wait_for()
        await page.goto(gallery_address(browser_deployment, "/realtime"))
        assert not await page.locator("[data-open-keys]").count()


async def test_overview_of_a_key_lists_keys_and_stays_when_a_place_on_it_is_opened(browser_deployment):
    key = await create_named_key_clamping_rate_limit_to_plan(
        browser_deployment.store.credentials,
        browser_deployment.initialized_deployment.workspace,
        system_clock(),
        name="Reader of the overview",
    )
    async with browser_deployment.page(signed_in=False) as page:
        await page.goto(f"{browser_deployment.app}/")
        assert not await page.is_visible("[data-open-keys]")
        await page.goto(f"{browser_deployment.app}/#key={key.secret}&range=last_7_days")
        await page.wait_for_selector(".range-bar summary:has-text('Last 7 days')")
        await page.evaluate(COUNT_REQUESTS)
        await page.evaluate(
            "new Promise((done) => { addEventListener('hashchange', done); location.hash = 'content'; })"
        )
        assert await page.evaluate("window.asked") == 0
        await page.click("[data-open-keys]")
        await page.locator("#keys").wait_for()


async def test_link_to_a_place_on_the_overview_does_not_load_it_again(browser_deployment):
    async with browser_deployment.page(await browser_deployment.add_gallery_viewer()) as page:
        await page.goto(gallery_address(browser_deployment))
        await page.evaluate("window.untouched = true; location.hash = 'content'")
        await page.click("#card-devices a:has-text('Browsers')")
        await page.wait_for_selector("#card-devices a[aria-current]:has-text('Browsers')")
        await page.evaluate("location.hash = 'card-devices'")
        assert await page.evaluate("window.untouched") is True


async def test_tab_replaces_its_card_and_stays_open_after_a_further_click(browser_deployment):
    async with browser_deployment.page(await browser_deployment.add_gallery_viewer()) as page:
        await page.goto(gallery_address(browser_deployment))
        await page.evaluate("window.untouched = true")
        await page.click("#card-devices a:has-text('Browsers')")
        await page.wait_for_selector("#card-devices a[aria-current]:has-text('Browsers')")
        assert query_of(page) == {"devices": ["browsers"]}
        assert await page.evaluate("[window.untouched, document.activeElement.innerText]") == [
            True,
            "Browsers",
        ]
        await page.click(".tile a:has-text('Sessions')")
        await page.wait_for_url("**metric=sessions*")
        assert query_of(page)["devices"] == ["browsers"]
        await page.go_back()
        await page.wait_for_selector(".tile.current:has-text('Visitors')")


async def test_days_are_selected_on_the_chart_by_dragging_and_read_by_keys(browser_deployment):
    async with browser_deployment.page(await browser_deployment.add_gallery_viewer()) as page:
        await page.goto(gallery_address(browser_deployment))
        days = await page.locator(".stop").evaluate_all("(all) => all.map((one) => one.dataset.day)")
        await page.locator(".canvas").focus()
        await page.keyboard.press("End")
        await page.keyboard.press("ArrowLeft")
        assert "This period" in await page.inner_text(".plot [role=status]")
        boxes = [await page.locator(".hit").nth(at).bounding_box() for at in (20, 24)]
        first, last = ((box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes)
        await page.mouse.move(*first)
        await page.mouse.down()
        await page.mouse.move(*last, steps=4)
        await page.mouse.up()
        await page.wait_for_url("**from=*")
        assert query_of(page) == {"from": [days[20]], "to": [days[24]]}


async def test_filter_form_suggests_the_values_of_its_dimension(browser_deployment):
    async with browser_deployment.page(await browser_deployment.add_gallery_viewer()) as page:
        await page.goto(gallery_address(browser_deployment))
        await page.click("#add-filter > summary")
        async with page.expect_response("**/filter-values?*dimension=channel*"):
            await page.select_option("#add-filter select[name=filter_dimension]", "channel")
        async with page.expect_response("**/filter-values?*q=paid*") as answered:
            await page.fill("#add-filter input[name=filter_value]", "paid")
        values = (await (await answered.value).json())["values"]
        await page.locator("#add-filter datalist option").first.wait_for(state="attached")
        options = "(all) => all.map((one) => [one.value, one.label])"
        shown = await page.locator("#add-filter datalist option").evaluate_all(options)
        assert shown == [[one["value"], one["label"]] for one in values]
        assert ["paid_search", "Paid search"] in shown


async def test_overview_works_without_javascript(browser_deployment):
    async with browser_deployment.page(
        await browser_deployment.add_gallery_viewer(), java_script_enabled=False
    ) as page:
        await page.goto(gallery_address(browser_deployment))
        await page.click("#card-sources a:has-text('Campaigns')")
        await page.wait_for_selector("#card-sources a[aria-current]:has-text('Campaigns')")
        await page.click("#add-filter > summary")
        await page.select_option("#add-filter select[name=filter_dimension]", "page_path")
        await page.select_option("#add-filter select[name=filter_kind]", "contains")
        await page.fill("#add-filter input[name=filter_value]", "script")
        await page.click("#add-filter button")
        assert "Page contains script" in await page.inner_text(".chips")
        await page.click(".chip .remove")
        assert query_of(page) == {"sources": ["campaigns"]}
        await page.click(".range-bar .arrows summary")
        await page.fill("[name=from]", "2026-01-05")
        await page.click(".dates button")
        assert query_of(page)["from"] == ["2026-01-05"]
        await page.goto(gallery_address(browser_deployment, "/realtime"))
        await page.click("text=Reload")


async def test_realtime_updates_itself_and_keeps_opened_events(browser_deployment):
    gallery = browser_deployment.gallery
    async with browser_deployment.page(await browser_deployment.add_gallery_viewer()) as page:
        await page.clock.install()
        await page.goto(gallery_address(browser_deployment, "/realtime"))
        story = EventBuilder(gallery.workspace.id)
        story._next_seq += 2_000_000  # those of the gallery come before
        story.add_event("realtime_event", at=browser_deployment.service.ports.clock(), visitor="R1")
        await browser_deployment.service.ports.events.append(story.events)
        async with page.expect_response("**part=live"):
            await page.clock.fast_forward(11_000)
        await page.wait_for_selector(".events >> text=Realtime event")
        await page.click("[data-realtime-toggle]")
        assert await page.inner_text("[data-realtime-toggle]") == "Live updates"
        assert await page.get_attribute("[data-realtime-toggle]", "aria-pressed") == "false"


async def test_realtime_leaves_what_a_reader_uses_alone(browser_deployment):
    async with browser_deployment.page(await browser_deployment.add_gallery_viewer()) as page:
        await page.clock.install()
        await page.goto(gallery_address(browser_deployment, "/realtime"))
        await page.evaluate(COUNT_REQUESTS)
        await page.locator("#realtime a").first.focus()
        await page.clock.fast_forward(11_000)
        await page.evaluate("document.activeElement.blur()")
        await page.locator("#realtime .more > summary").first.click()
        await page.evaluate("document.activeElement.blur()")
        await page.clock.fast_forward(11_000)
        assert await page.evaluate("window.asked") == 0
        assert await page.locator("#realtime .more[open]").count() == 1
        await page.locator("#realtime .more > summary").first.click()
        await page.evaluate("document.activeElement.blur()")
        async with page.expect_response("**part=live"):
            await page.clock.fast_forward(11_000)
