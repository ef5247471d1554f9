"""Tasks of the application as a person does them, by mouse or by the keyboard alone."""

from contextlib import asynccontextmanager

import pytest
import pytest_asyncio

from service_core.access.members.models import Account, Member
from service_core.access.roles import Role
from service_core.analytics.connections.models import (
    Asset,
    ConnectedAccount,
    Connection,
    ConnectionStatus,
    ProviderKind,
)
from service_core.kernel.clock import system_clock
from service_core.kernel.ids import new_id
from tests.fixtures.browser_deployment import IN_BROWSER
from tests.fixtures.shared_objects import SharedObjects

pytestmark = IN_BROWSER

WEEK = "from=2026-03-02&to=2026-03-12"
"""Query parameters of a range that holds all events of the shop."""


class TaskShop:
    """The shop of the standard world in the browser deployment, and its owner."""

    def __init__(self, deployment, objects):
        self.deployment, self.objects = deployment, objects

    @classmethod
    async def open(cls, deployment):
        now, store = system_clock(), deployment.store
        objects = await SharedObjects(deployment.service).open(now)
        account = ConnectedAccount("act_1", "Main", (Asset("1234", "Shop pixel"),))
        await store.connections.save_connection_keeping_created_at(
            Connection(
                objects.workspace.id,
                "meta",
                ProviderKind.ADS,
                ConnectionStatus.CONNECTED,
                now,
                (account,),
            )
        )
        return cls(deployment, objects)

    async def add_owner(self):
        """Returns a new owner: writes are counted per account, so tests do not spend those of others."""
        now, store = system_clock(), self.deployment.store
        owner = Account(new_id(), f"{new_id().hex}@example.com", "Tess", now)
        await store.accounts.save_account_unless_email_taken(owner)
        await store.members.save_member_unless_no_owner_left(
            Member(self.objects.workspace.id, owner.id, Role.OWNER, now), now
        )
        return owner

    @asynccontextmanager
    async def open_page(self, path=""):
        """A page of the shop's workspace in the browser of a new owner."""
        async with self.deployment.page(await self.add_owner()) as page:
            await page.goto(f"{self.deployment.app}/w/{self.objects.workspace.public_id}{path}")
            yield page


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shop(browser_deployment):
    return await TaskShop.open(browser_deployment)


@pytest.fixture
def workspace_address(browser_deployment):
    return browser_deployment.settings


async def press_until_focused(page, selector, most=250):
    """Presses Tab until an element has the focus."""
    for _ in range(most):
        await page.keyboard.press("Tab")
        if await page.evaluate("(wanted) => document.activeElement?.matches(wanted)", selector):
            return
    raise AssertionError(f"{selector} is not reached by Tab")


async def press_on(page, selector, key="Enter"):
    """Goes to an element by Tab and presses a key on it."""
    await press_until_focused(page, selector)
    await page.keyboard.press(key)


async def open_focused_number(page, selector, target):
    """Opens a number by the keyboard; the page it leads to shows it again."""
    number = "0"
    while number in ("0", "$0.00"):
        await press_until_focused(page, selector)
        number = await page.evaluate("document.activeElement.innerText")
    await page.keyboard.press("Enter")
    await page.wait_for_url(target)
    assert await page.inner_text("[data-counted]") == number


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
        dropped = page.locator("a[data-number][href*='outcome=dropped']").first
        number = await dropped.inner_text()
        await dropped.click()
        await page.wait_for_url("**/funnels/people**")
        assert await page.inner_text("[data-counted]") == number


async def test_copy_the_script_of_the_site_by_keyboard(shop):
    """ "Put Touchpoint on my site"."""
    async with shop.open_page("/start") as page:
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await press_on(page, "button[data-copy=snippet]")
        await page.wait_for_selector("button:has-text('Copied')")
        copied = await page.evaluate("navigator.clipboard.readText()")
        assert shop.objects.workspace.public_id in copied


async def test_find_which_campaign_brought_conversions_and_save_it_as_a_report(shop):
    """ "Which campaign brought the orders of that week? Keep the answer"."""
    async with shop.open_page(f"?{WEEK}") as page:
        await page.click("#card-sources a:has-text('Campaigns')")
        await page.wait_for_selector("#card-sources a[aria-current]:has-text('Campaigns')")
        row = page.locator("#card-sources .rows a").first
        campaign = await row.inner_text()
        await row.click()
        await page.wait_for_selector(f".chip:has-text('{campaign}')")
        await page.click(".tile a:has-text('Conversions')")
        await page.wait_for_selector(".tile.current:has-text('Conversions')")
        await page.click("text=Open in Explore")
        await page.fill("form[action$='/reports'] [name=name]", f"Orders of {campaign}")
        await page.click("text=Save report")
        await page.wait_for_selector(f"h1:has-text('Orders of {campaign}')")
        assert "Created." in await page.inner_text("[role=status]")


async def test_pause_live_updates_by_keyboard(shop):
    """ "Hold the live page still while I read"."""
    async with shop.open_page("/realtime") as page:
        await press_on(page, "[data-realtime-toggle]")
        await page.wait_for_selector("[data-realtime-toggle][aria-pressed=false]")
        assert await page.locator("[data-realtime-toggle][aria-pressed=true]").count() == 0


async def test_group_visitors_by_country_and_open_a_number_by_keyboard(shop):
    """ "Where do visitors come from, and who are they?", without a mouse."""
    async with shop.open_page(f"/explore?{WEEK}&chart=table") as page:
        await press_until_focused(page, "select[name=dimensions]")
        await page.keyboard.type("Country")
        await press_on(page, "form button.primary")
        await page.wait_for_url("**dimensions=country**")
        await open_focused_number(page, "td a[data-number]", "**/receipt**")
        assert await page.locator("[data-record]").count()


async def test_see_lifetime_value_of_cohorts_by_keyboard(shop):
    """ "What is a customer worth over time?"."""
    async with shop.open_page(f"/retention?{WEEK}") as page:
        await press_on(page, "nav a[href*='view=ltv']")
        await page.wait_for_url("**view=ltv**")
        assert "Lifetime value" in await page.inner_text("nav.tabs [aria-current]")
        assert await page.locator("table.heat-table td").count()


async def test_open_the_journeys_behind_a_credit_by_keyboard(shop):
    """ "Which visits led to these conversions?"."""
    async with shop.open_page(f"/attribution?{WEEK}&metric=conversions") as page:
        await open_focused_number(page, "td a[data-number]", "**/attribution/journeys**")
        assert await page.locator("[data-record]").count()


async def test_find_purchases_and_read_one_event_whole(shop):
    """ "What did this order send?"."""
    async with shop.open_page(f"/events?{WEEK}") as page:
        await page.fill("[name=event_name]", "purchase")
        await page.click("form[role=search] button.primary")
        await page.wait_for_url("**event_name=purchase**")
        await page.locator("[data-event] summary").first.click()
        assert '"event_name": "purchase"' in await page.locator("[data-event] pre").first.inner_text()


async def test_find_a_person_and_see_what_led_to_the_order(shop):
    """ "How did Ada come to buy?"."""
    async with shop.open_page(f"/people?{WEEK}") as page:
        await page.fill("[name=search]", "U-ada")
        await page.click("form[role=search] button.primary")
        await page.wait_for_url("**search=U-ada**")
        await page.locator("tr[data-record] th a").first.click()
        await page.wait_for_url("**/people/U-ada**")
        await page.click("text=1 year")
        conversion = page.locator(".visits .conversion").first
        await conversion.wait_for()
        assert "$100.00" in await conversion.inner_text()
        assert await conversion.locator(".touches li.credited").count() >= 1


async def test_open_the_orders_behind_revenue_by_keyboard(shop):
    """ "Which payments make this revenue?"."""
    async with shop.open_page(f"/revenue?{WEEK}") as page:
        await open_focused_number(page, "dd a[data-number]", "**/receipt**")
        assert await page.locator("tr[data-record]").count()


async def test_write_an_analysis_with_a_report_in_it(shop):
    """ "Explain the week to the team"."""
    await shop.objects.report("Visitors of the week")
    async with shop.open_page("/analyses/new") as page:
        await page.fill("[name=title]", "The week")
        await page.fill("[name=body_md]", "# What happened\n\nIt *rose*.")
        await page.select_option("[name=add_report]", label="Visitors of the week")
        await page.click("button[value=save]")
        await page.wait_for_selector("h1:has-text('The week')")
        assert "It rose." in await page.inner_text("main")
        assert await page.locator("section.card[aria-label='Visitors of the week']").count() == 1


async def test_create_a_tracking_link_by_keyboard(shop):
    """ "A short link for the podcast", without a mouse."""
    async with shop.open_page("/links/new") as page:
        await press_until_focused(page, "[name=name]")
        await page.keyboard.type("Podcast")
        await page.keyboard.press("Tab")
        await page.keyboard.type("https://shop.example/podcast")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("h1:has-text('Podcast')")
        assert await page.locator(".qr img").count()


async def test_preview_a_conversion_rule_before_it_sends(shop):
    """ "What would Meta get for each order?"."""
    async with shop.open_page("/rules/new") as page:
        await page.fill("[name=name]", "Orders to Meta")
        await page.fill("[name=trigger_event]", "purchase")
        await page.select_option("[name=platform]", "meta")
        await page.fill("[name=platform_event]", "Purchase")
        await page.click("button[value=preview]")
        await page.wait_for_selector("text=nothing is saved yet")
        await page.click("main button[value=save]")
        await page.wait_for_selector("h1:has-text('Orders to Meta')")
        assert "Purchase" in await page.inner_text("main")


async def test_connect_pause_and_resume_a_provider(shop):
    """ "Read my ads; stop for a while; go on"."""
    async with shop.open_page("/settings/connections") as page:
        card = page.locator("#meta")
        await card.locator("[aria-label='Pause Meta']").click()
        await card.locator("[aria-label='Resume Meta']").wait_for()
        assert "Paused" in await card.inner_text()
        await card.locator("[aria-label='Resume Meta']").click()
        await card.locator("[aria-label='Pause Meta']").wait_for()


async def test_choose_a_file_to_import(shop):
    """ "Bring in last year's sign-ups"."""
    async with shop.open_page("/imports") as page:
        await page.select_option("[name=format]", "csv")
        await page.click("text=Continue to upload")
        file = {"name": "signups.csv", "mimeType": "text/csv", "buffer": b"event,user_id\nsignup,u1\n"}
        await page.set_input_files("[name=file]", files=[file])
        chosen = await page.evaluate("document.querySelector('[name=file]').files[0].name")
        assert chosen == "signups.csv"
        assert "Waiting for the file" in await page.inner_text("main")


async def test_rename_the_workspace_and_undo_it_by_keyboard(shop):
    """ "Oh, that was the wrong name", without a mouse."""
    async with shop.open_page("/settings/general") as page:
        before = await page.input_value("[name=name]")
        await press_until_focused(page, "main [name=name]")
        await page.keyboard.type("Wrong name")
        await press_on(page, "main form button[value=save]")
        await page.wait_for_selector("[role=status] button:has-text('Undo')")
        assert await page.input_value("[name=name]") == "Wrong name"
        await press_on(page, "[role=status] button")
        await page.wait_for_selector("[role=status]:has-text('Change undone.')")
        assert await page.input_value("[name=name]") == before


async def test_share_a_report_with_somebody_without_an_account(shop):
    """ "Show it to the agency"."""
    await shop.objects.report("For the agency")
    async with shop.open_page("/shared?find=For+the+agency") as page:
        await page.click("button:has-text('Create public link')")
        link = await page.inner_text("code.secret")
        async with shop.deployment.page(signed_in=False) as other:
            await other.goto(link)
            assert await other.inner_text("h1") == "For the agency"


async def test_take_back_what_a_program_did_by_keyboard(shop):
    """ "What did this program change? Take it all back", without a mouse."""
    await shop.objects.annotation("Taken back")
    async with shop.open_page("/audit") as page:
        await press_on(page, "form[action$='/audit/rollback'] button")
        await page.wait_for_selector("li:has-text('Taken back')")
        await press_on(page, "main button.danger")
        await page.wait_for_url("**/audit?done=*")
        assert "Taken back" in await page.inner_text("main")


async def test_go_to_a_page_by_the_command_palette(shop):
    """ "Take me to the funnels", from anywhere, without a mouse."""
    async with shop.open_page("/people") as page:
        await page.keyboard.press("Control+k")
        await page.wait_for_selector("#palette[open] .found a")
        await page.keyboard.type("Funn")
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/funnels")
        assert "Funnel" in await page.inner_text("h1")


async def test_search_works_without_scripts(shop):
    """ "Where was that report?"."""
    await shop.objects.report("Hidden treasure")
    async with shop.deployment.page(await shop.add_owner(), java_script_enabled=False) as page:
        await page.goto(f"{shop.deployment.app}/w/{shop.objects.workspace.public_id}")
        await page.click("a[data-palette]")
        await page.fill("main [name=q]", "Hidden")
        await page.click("main form button")
        await page.click(".found a:has-text('Hidden treasure')")
        await page.wait_for_selector("h1:has-text('Hidden treasure')")
        assert "/reports/" in page.url
