"""The builder of funnels, and what it shows against the API."""

import html
import json
import re

import pytest

from hosts.web.charts.number_format import ValueFormat
from service_core.analytics.ports import StoreUnavailable
from tests.fixtures.standard_shop import visible_words

DATES = "start_date=2026-03-02&end_date=2026-03-12"
STEPS = "step1=page_view&step2=add_to_cart&step3=purchase"


def rows_of_table(page, heading):
    """The texts of the cells of the table below a heading."""
    section = page.body[page.body.index(f">{heading}</h2>") :]
    body = section[section.index("<tbody>") : section.index("</tbody>")]
    return [
        [
            " ".join(re.sub(r"<[^>]+>", " ", cell).split())
            for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
        ]
        for row in body.split("<tr")[1:]
    ]


@pytest.mark.parametrize(
    ("parameters", "filters"),
    [
        ("", ""),
        ("&order=any&unit=session&window_days=3", "&order=any&unit=session&window_days=3"),
        ("&f=channel:is:paid_search", "&channel=paid_search"),
        ("&exclude=signup", "&exclude=signup"),
    ],
)
async def test_funnel_shows_the_steps_of_the_api(shop, parameters, filters):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/funnels?{shop.dates}&{STEPS}{parameters}")
    answer = await shop.read(f"/funnel?{DATES}&steps=page_view,add_to_cart,purchase{filters}")
    assert answer["steps"][0]["count"] > 0
    time = ValueFormat("seconds")
    assert [[row[1], row[5], row[6]] for row in rows_of_table(page, "Steps")] == [
        [
            str(step["count"]),
            time.format_in_full_or_dash(step["median_seconds_from_previous"]),
            time.format_in_full_or_dash(step["mean_seconds_from_previous"]),
        ]
        for step in answer["steps"]
    ]


async def test_funnel_is_compared_by_a_dimension(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/funnels?{shop.dates}&{STEPS}&by=channel")
    rows = {row[0]: row[1:] for row in rows_of_table(page, "By channel")}
    answer = await shop.read(f"/funnel?{DATES}&steps=page_view,add_to_cart,purchase&channel=paid_search")
    counts = [str(step["count"]) for step in answer["steps"]]
    assert rows["Paid search"][:-1] == counts
    assert "f=channel%3Ais%3Apaid_search" in page.body


async def test_one_step_asks_for_another_and_costs_no_funnel(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/funnels?{shop.dates}&step1=page_view")
    assert "needs at least two steps" in visible_words(page)
    empty = await person.get(f"{shop.pages}/funnels")
    assert "Choose two to five events" in visible_words(empty)


async def test_first_step_that_nobody_took_is_said(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/funnels?{shop.dates}&step1=nothing&step2=purchase")
    assert "Nobody did “Nothing” in this range" in visible_words(page)


async def test_outage_is_a_card_and_keeps_the_builder(shop, monkeypatch):
    person = await shop.sign_in()

    async def fail(*_):
        raise StoreUnavailable

    monkeypatch.setattr(type(shop.deployment.service.ports.events), "read_funnel", fail)
    page = await person.get(f"{shop.pages}/funnels?{shop.dates}&{STEPS}")
    assert page.status == 200
    assert "could not be read just now" in visible_words(page)
    assert 'name="step1" list="event-names" value="page_view"' in page.body


@pytest.mark.parametrize(("role", "offered"), [("member", True), ("viewer", False)])
async def test_members_save_the_funnel_as_a_report_that_runs(shop, role, offered):
    person = await shop.sign_in(role)
    page = await person.get(f"{shop.pages}/funnels?{shop.dates}&{STEPS}&window_days=7")
    found = re.search(r'name="definition" value="([^"]*)"', page.body)
    assert bool(found) is offered
    if found:
        definition = json.loads(found.group(1).replace("&#34;", '"'))
        report = await shop.gallery.report("Checkout", **definition)
        run = await shop.gallery.send("POST", f"/reports/{report}/run", {})
        answer = await shop.read(f"/funnel?{DATES}&steps=page_view,add_to_cart,purchase&window_days=7")
        assert run["data"]["steps"] == answer["steps"]


async def test_numbers_of_steps_lead_to_as_many_people(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/funnels?{shop.dates}&{STEPS}")
    links = set(re.findall(r'href="([^"]*/funnels/people[^"]*)" data-number>([0-9,]+)</a>', page.body))
    assert len(links) >= 5
    for link, number in links:
        listed = await person.get(html.unescape(link))
        assert listed.status == 200
        count = int(number.replace(",", ""))
        assert listed.body.count("<tr data-record>") == count
        assert (f"<span data-counted>{number}</span> people</h2>" in listed.body) == bool(count)


@pytest.mark.parametrize("step", ["9" * 5_000, "0", "x", ""])
async def test_step_that_a_funnel_does_not_have_is_refused_in_words(shop, step):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/funnels/people?{shop.dates}&{STEPS}&at={step}")
    assert page.status < 500
