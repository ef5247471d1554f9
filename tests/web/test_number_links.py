"""No dead number: each number of a page leads to a page that shows the same number and lists as many records."""

import html
import re

import pytest

NUMBER = re.compile(r'href="([^"]*)" data-number>([^<]+)</a>')
COUNTED = re.compile(r"<span data-counted>([^<]+)</span>")
PART = re.compile(r"data-part-of-count>([^<]+)<")
NEXT_PAGE = re.compile(r'rel="next" href="([^"]+)"')
MOST_PAGES = 40
NONE = {"No", "Nobody", "No sessions"}

PAGES = {
    "": 1,
    "?f=channel:is:paid_search": 1,
    "?f=country:is:DE": 1,
    "/funnels?step1=page_view&step2=add_to_cart&step3=purchase": 5,
    "/funnels?step1=page_view&step2=purchase&unit=session&order=any": 3,
    "/funnels?step1=page_view&step2=purchase&f=channel:is:paid_search": 3,
    "/paths?start=page_view&by=event": 4,
    "/paths?start=purchase&by=event&direction=previous": 4,
    "/attribution?metric=conversions": 4,
    "/attribution?metric=conversions&group_by=campaign&m_linear=1": 4,
}
"""Address of a page -> how many numbers it has at least."""


def to_number(text):
    return 0.0 if text in NONE else float(text.replace(",", ""))


async def count_records(person, page):
    """How many records a list has on all of its pages, or the sum of their parts of the number."""
    total = 0.0
    for _ in range(MOST_PAGES):
        parts = PART.findall(page.body)
        total += sum(map(to_number, parts)) if parts else page.body.count("data-record>")
        following = NEXT_PAGE.search(page.body)
        if following is None:
            return total
        page = await person.get(html.unescape(following[1]))
    raise AssertionError("The list does not end")


@pytest.mark.parametrize(("path", "least"), PAGES.items())
async def test_each_number_leads_to_the_same_number_of_records(shop, path, least):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}{path}{'&' if '?' in path else '?'}{shop.dates}")
    numbers = [(html.unescape(address), text) for address, text in NUMBER.findall(page.body)]
    assert len(numbers) >= least
    for address, text in dict.fromkeys(numbers):
        listed = await person.get(address)
        assert listed.status == 200, address
        shown = COUNTED.findall(listed.body)
        assert [to_number(one) for one in shown or ["No"]] == [to_number(text)], address
        assert await count_records(person, listed) == pytest.approx(to_number(text), abs=0.02), address


async def test_rows_below_the_chart_lead_to_their_days(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}?{shop.dates}&compare=none")
    rows = re.findall(
        r'<th scope="row"><a href="(\?from=[^"]+)">[^<]+</a></th><td[^>]*>([^<]+)</td>', page.body
    )
    assert len(rows) == 11
    for link, text in rows[:4]:
        day = await person.get(f"{shop.pages}{html.unescape(link)}")
        tile = re.search(r">Visitors</a>\s*<strong>(?:<a[^>]*>)?([^<]+)", day.body)
        assert tile[1] == text, link


async def test_rows_of_cut_weeks_lead_to_the_days_within_the_range(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}?from=2026-02-25&to=2026-03-11&interval=week&compare=none")
    links = [
        html.unescape(link) for link in re.findall(r'<th scope="row"><a href="(\?from=[^"]+)">', page.body)
    ]
    days = [re.search(r"from=([0-9-]+)&to=([0-9-]+)", link).groups() for link in links]
    assert (days[0][0], days[-1][1]) == ("2026-02-25", "2026-03-11")
    assert 'data-first-day="2026-02-25" data-last-day="2026-03-11"' in page.body
