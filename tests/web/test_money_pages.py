"""Revenue, subscriptions, ads and profit: the numbers of the API, and what is missing in words."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest

from hosts.web.profit import hour_aligned_span
from hosts.web.subscriptions import build_movement_lines
from hosts.web.view_state import read_view_state
from service_core.analytics.connections.models import ConnectionStatus
from service_core.analytics.ports import StoreUnavailable
from tests.commerce.ads.ad_spend_data import (
    ad,
    ad_campaign,
    ad_group,
    connect_ad_platform,
    save_spend,
    spend_row,
)
from tests.commerce.subscriptions.subscription_data import (
    MONTHLY,
    connect_revenue_provider,
    save_subscription_facts,
)
from tests.fixtures.standard_shop import visible_words

DATES = "start_date=2026-03-02&end_date=2026-03-12"
PAGES = ("revenue", "subscriptions", "ads", "profit")


class Arguments(dict):
    def getlist(self, name):
        return [self[name]] if name in self else []


@pytest.mark.parametrize("basis", ["refund", "order"])
async def test_revenue_page_shows_the_amounts_of_the_api(shop, basis):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/revenue?from=2026-03-02&to=2026-03-06&refund_basis={basis}")
    answer = await shop.read(f"/revenue?start_date=2026-03-02&end_date=2026-03-06&refund_basis={basis}")
    words, combined = visible_words(page), answer["combined"]
    assert (combined["refunds"] == 25) is (basis == "order")
    for field in ("revenue", "net_revenue", "refunds"):
        assert f"${combined[field]:,.2f}" in words
    assert "Tracked events" in words


async def test_unknown_revenue_is_said_in_words_with_the_way_out(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/revenue?{shop.dates}")
    answer = await shop.read(f"/revenue?{DATES}")
    words = visible_words(page)
    assert answer["combined"]["revenue"] is None
    assert "unknown" in words
    assert "in a currency without an exchange rate" in words
    assert "deployers/exchange-rates" in page.body


@pytest.mark.parametrize(
    ("path", "words", "address"),
    [
        ("revenue", "No revenue provider is connected", "/settings/connections"),
        ("subscriptions", "No subscriptions yet", "/settings/connections"),
        ("ads", "No ad platform is connected", "/settings/connections"),
        ("profit", "No item costs are known", "deployers/item-costs"),
    ],
)
async def test_money_pages_of_a_new_workspace_say_what_to_connect(shop, path, words, address):
    person, pages = await shop.open_empty_workspace()
    page = await person.get(f"{pages}/{path}")
    assert page.status == 200
    assert words in visible_words(page)
    assert re.search(rf'<a class="button[^"]*" href="[^"]*{address}', page.body)


async def test_profit_page_shows_the_parts_of_the_api(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/profit?from=2026-03-02&to=2026-03-05")
    answer = await shop.read(
        "/commerce-metrics?start_date=2026-03-02T05:00:00Z&end_date=2026-03-06T05:00:00Z"
    )
    words = visible_words(page)
    assert f"Net revenue ${answer['net_revenue']:,.2f}" in words
    assert answer["profit"] is None
    assert "Profit unknown" in words


async def open_advertised_shop(shop):
    """The workspace with a connected ad platform: two campaigns, a group and an ad of the first."""
    owner = SimpleNamespace(workspace=shop.gallery.workspace, service=shop.deployment.service)
    await connect_ad_platform(owner, "meta", read=shop.deployment.clock())
    day, spring = date(2026, 3, 4), {"impressions": 8000, "clicks": 200, "conversions": 4}
    await save_spend(
        owner,
        spend_row("meta", ad_campaign("c1", "spring"), day, spend=100_00, conversion_value=250_00, **spring),
        spend_row("meta", ad_campaign("c2", "autumn"), day, spend=40_00),
        spend_row("meta", ad_group("g1"), day, spend=60_00),
        spend_row("meta", ad_group("g2", of="c2"), day, spend=30_00),
        spend_row("meta", ad("a1"), day, spend=55_00),
    )


async def test_ads_page_leads_from_campaigns_to_groups_to_ads(shop):
    person = await shop.sign_in()
    await open_advertised_shop(shop)
    page = await person.get(f"{shop.pages}/ads?from=2026-03-02&to=2026-03-08")
    words = visible_words(page)
    assert "Spend $140.00" in words
    assert "spring Meta · meta act_1 · Active $100.00 8,000 200 4 $250.00 2.50x" in words
    assert "autumn Meta · meta act_1 · Active $40.00 — — — — —" in words
    groups = await person.get(f"{shop.pages}/ads?from=2026-03-02&to=2026-03-08&level=group&campaign_id=c1")
    assert "$60.00" in visible_words(groups)
    assert "$30.00" not in visible_words(groups)
    assert "level=ad&amp;campaign_id=c1&amp;group_id=g1" in groups.body
    ads = await person.get(
        f"{shop.pages}/ads?from=2026-03-02&to=2026-03-08&level=ad&campaign_id=c1&group_id=g1"
    )
    assert "$55.00" in visible_words(ads)


async def test_ads_page_of_a_connection_that_cannot_be_read_does_not_say_that_no_ads_ran(shop):
    owner = SimpleNamespace(workspace=shop.gallery.workspace, service=shop.deployment.service)
    await connect_ad_platform(owner, "meta", read=None, status=ConnectionStatus.EXPIRED)
    person = await shop.sign_in()
    words = visible_words(await person.get(f"{shop.pages}/ads?{shop.dates}"))
    assert "it is not known which ads ran" in words
    assert "No ads ran in this range" not in words


async def test_subscriptions_page_shows_mrr_movements_and_who_subscribed(shop):
    person = await shop.sign_in()
    owner = SimpleNamespace(workspace=shop.gallery.workspace, service=shop.deployment.service)
    await connect_revenue_provider(owner)
    begun = datetime(2026, 3, 4, 12, tzinfo=UTC)
    await save_subscription_facts(
        owner, replace(MONTHLY, at=begun, started_at=begun, identity=(("user_id", "U-ada"),))
    )
    page = await person.get(f"{shop.pages}/subscriptions?{shop.dates}")
    answer = await shop.read(f"/subscriptions?{DATES}")
    words = visible_words(page)
    assert answer["summary"]["mrr"] == 10
    for text in ("MRR $10.00", "New +$10.00", "MRR at the end $10.00", "pro Stripe Active"):
        assert text in words
    assert f'{shop.pages}/people/U-ada"' in page.body
    canceled = await person.get(f"{shop.pages}/subscriptions?{shop.dates}&status=canceled")
    assert "No subscription matches" in visible_words(canceled)


@pytest.mark.parametrize("path", PAGES)
async def test_store_outage_is_a_card_on_money_pages(shop, path, monkeypatch):
    person = await shop.sign_in()

    async def fail(*_):
        raise StoreUnavailable

    for name in ("aggregate", "list_subscriptions"):
        for port in (shop.deployment.service.ports.events, shop.deployment.service.ports.workspace):
            if hasattr(port, name):
                monkeypatch.setattr(type(port), name, fail)
    page = await person.get(f"{shop.pages}/{path}?{shop.dates}")
    assert page.status == 200


@pytest.mark.parametrize("path", PAGES)
async def test_money_pages_are_for_members_only(shop, path):
    stranger = await shop.deployment.person().get(f"{shop.pages}/{path}")
    assert stranger.location.startswith("/app/sign-in")


@pytest.mark.parametrize(
    ("zone", "now", "dates", "start", "end"),
    [
        ("UTC", "2026-03-12T12:30", ("2026-03-10", "2026-03-12"), "2026-03-10T00:00", "2026-03-12T12:00"),
        ("UTC", "2026-03-12T12:30", ("2026-03-01", "2026-03-02"), "2026-03-01T00:00", "2026-03-03T00:00"),
        ("Asia/Kathmandu", "2026-03-12T12:30", ("2026-03-01", "2026-03-01"), "2026-02-28T18:00", "2026-03-01T19:00"),
        ("UTC", "2026-03-12T00:10", ("2026-03-12", "2026-03-12"), "2026-03-12T00:00", "2026-03-12T00:00"),
    ],
)  # fmt: skip
def test_profit_covers_whole_hours_up_to_now(zone, now, dates, start, end):
    instant = datetime.fromisoformat(now).replace(tzinfo=UTC)
    state = read_view_state(Arguments({"from": dates[0], "to": dates[1]}), ZoneInfo(zone), instant)
    workspace = type("Workspace", (), {"zone": ZoneInfo(zone)})
    expected = tuple(datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (start, end))
    assert hour_aligned_span(state, workspace, instant) == expected


def test_movements_lead_from_the_start_to_the_end():
    values = {"start_mrr": 100.0, "new": 50.0, "expansion": 0.0, "reactivation": 0.0}
    values |= {"contraction": -10.0, "churn": -40.0, "fx": 0.0, "end_mrr": 100.0}
    lines = {line.label: line for line in build_movement_lines(values, "USD")}
    assert (lines["New"].text, lines["New"].left, lines["New"].width) == ("+$50.00", 66.67, 33.33)
    assert (lines["Churn"].text, lines["Churn"].is_loss) == ("-$40.00", True)
    assert lines["MRR at the end"].is_total
    for field in values:
        assert build_movement_lines(values | {field: None}, "USD") == []
