"""How is this number made: the receipt of `POST /receipts` as a page, opened from a tile or from Explore."""

import re
from html import unescape

import pytest

from hosts.composition.compose import Service
from service_core.api.http_messages import ApiResponse

ADDRESS = "/app/w/k3Jx9QmZ2aPr"
WEEK = "from=2026-03-05&to=2026-03-08"


def visible_words(answer):
    return " ".join(answer.text.split())


@pytest.fixture
async def ann(shop_deployment):
    account = await shop_deployment.enrol("ann", "viewer", shop_deployment.gallery)
    assert account is not None
    return await shop_deployment.person().sign_in("ann@example.com")


@pytest.mark.parametrize("opened_from", ["", "/explore"])
async def test_number_opens_its_receipt(shop_deployment, ann, opened_from):
    page = await ann.get(f"{ADDRESS}{opened_from}?{WEEK}&metrics=pageviews&metric=pageviews")
    link = re.search(r'href="([^"]*/receipt\?[^"]*metric=pageviews[^"]*)"', page.body)
    shown = await ann.get(unescape(link[1]))
    assert shown.status == 200
    plan = {"metrics": ["pageviews"], "date_range": {"from": "2026-03-05", "to": "2026-03-08"}}
    key = await shop_deployment.gallery.key()
    status, receipt = await shop_deployment.api(
        "POST", "/v1/receipts", key, {"plan": plan, "metric": "pageviews"}
    )
    assert status == 200
    words = visible_words(shown)
    assert f"{receipt['value']:,} for 5 to 8 Mar 2026" in words
    assert f"{receipt['counted']['records']:,} records add up to this number" in words
    assert "Definition version 1" in words


async def test_ratio_shows_its_formula_and_the_records_of_each_part(ann):
    page = await ann.get(f"{ADDRESS}/receipt?metric=conversion_rate&{WEEK}")
    words = visible_words(page)
    assert "Conversions ÷ Visitors" in words
    assert re.search(r"Contribution.*Contribution", words)


async def test_unknown_number_is_said_to_be_unknown_and_no_sum_of_its_records(ann):
    page = await ann.get(f"{ADDRESS}/receipt?metric=revenue&from=2026-03-02&to=2026-03-12")
    words = visible_words(page)
    assert "Unknown for 2 to 12 Mar 2026" in words
    assert "2 records count." in words
    assert "add up to this number" not in words
    assert "amounts of several currencies do not add up" in words
    assert re.findall(r'data-term="[^"]+">([^<]+)<', page.body) == ["50 EUR", "100 USD"]
    assert "Event ID" in words


async def test_metric_without_receipt_says_so_in_words(ann):
    page = await ann.get(f"{ADDRESS}/receipt?metric=mrr&{WEEK}")
    assert page.status == 200
    assert "The records behind mrr cannot be listed yet" in visible_words(page)


async def test_records_that_cannot_be_read_are_said_to_be_missing(ann, monkeypatch):
    dispatch = Service.dispatch

    async def fail_records(self, request):
        if request.path.endswith("/records"):
            return ApiResponse(503, {}, b'{"error": "Not now"}')
        return await dispatch(self, request)

    monkeypatch.setattr(Service, "dispatch", fail_records)
    page = await ann.get(f"{ADDRESS}/receipt?metric=pageviews&{WEEK}")
    assert page.status == 200
    assert "add up to this number. They are not available" in visible_words(page)
