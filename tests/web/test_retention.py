"""Cohorts as heat tables: retention and lifetime value against the API."""

import re

import pytest

from hosts.web.charts.number_format import ValueFormat
from hosts.web.cohort_table import heat_level
from hosts.web.retention import pool_value_per_person
from tests.fixtures.standard_shop import visible_words

DATES = "start_date=2026-03-02&end_date=2026-03-12"


def heat_cells(page):
    """Head of each row -> pairs of main and small text of its cells."""
    body = page.body[page.body.index("<tbody>") : page.body.index("</tbody>")]
    rows = {}
    for row in body.split("<tr")[1:]:
        head = re.search(r"<th[^>]*>(.*?)</th>", row).group(1)
        rows[head] = re.findall(
            r'<td class="heat h\d+[^"]*">([^<]*)(?:<span class="below">([^<]*)</span>)?', row
        )
    return rows


@pytest.mark.parametrize(
    "parameters",
    [
        "",
        "&granularity=week&include_partial=true",
        "&mode=on_or_after&event_name=page_view",
        "&cohort_by=first_conversion",
    ],
)
async def test_retention_shows_rates_and_people_of_the_api(shop, parameters):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/retention?{shop.dates}{parameters}")
    answer = await shop.read(f"/retention?{DATES}{parameters}")
    rows, rate = heat_cells(page), ValueFormat("ratio")
    assert answer["rows"]
    expected = [
        (rate.format_in_full_or_dash(row["retention_rate"]), str(row["active_persons"]))
        for row in answer["rows"]
    ]
    *cohorts, _ = rows.items()
    assert [cell for _, cells in cohorts for cell in cells] == expected
    assert [cell[0] for cell in rows["All cohorts"]] == [
        rate.format_in_full_or_dash(row["retention_rate"]) for row in answer["averages"]
    ]


async def test_lifetime_value_shows_revenue_per_person_of_the_api(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/retention?{shop.dates}&view=ltv")
    answer = await shop.read(f"/ltv?{DATES}")
    money = ValueFormat("currency", answer["currency"])
    *cohorts, _ = heat_cells(page).items()
    assert [cell for _, cells in cohorts for cell in cells] == [
        (
            money.format_in_full_or_dash(row["cumulative_revenue_per_person"]),
            money.format_in_full_or_dash(row["cumulative_revenue"]),
        )
        for row in answer["rows"]
    ]


@pytest.mark.parametrize("view", ["", "&view=ltv"])
async def test_range_without_new_people_says_so(shop, view):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/retention?from=2024-01-01&to=2024-01-31{view}")
    assert "there are no cohorts" in visible_words(page)


async def test_invalid_cohort_size_is_a_card(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/retention?{shop.dates}&granularity=year")
    assert page.status == 200
    assert 'role="alert"' in page.body


def test_pooled_value_is_unknown_where_a_cohort_is():
    rows = [
        {"period": 0, "partial": False, "cumulative_revenue": 10.0, "cohort_size": 2},
        {"period": 0, "partial": False, "cumulative_revenue": 20.0, "cohort_size": 4},
        {"period": 1, "partial": False, "cumulative_revenue": None, "cohort_size": 2},
        {"period": 2, "partial": True, "cumulative_revenue": 9.0, "cohort_size": 2},
    ]
    assert pool_value_per_person(rows) == {0: 5.0, 1: None}


@pytest.mark.parametrize(("value", "level"), [(None, 0), (0, 0), (0.5, 5), (1, 10), (2, 10)])
def test_heat_grows_with_the_value(value, level):
    assert heat_level(value, 1) == level
