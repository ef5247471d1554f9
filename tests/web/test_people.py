"""The list of people and the page of a person."""

import re
from datetime import timedelta

import pytest

from hosts.web import people
from hosts.web.value_words import person_path
from tests.fixtures.standard_shop import visible_words

DATES = "start_date=2026-03-02&end_date=2026-03-12"


def names_in_list(page):
    return re.findall(r'<th scope="row"><a href="[^"]*">([^<]*)</a>', page.body)


def names_of_answer(answer):
    return [
        user["name"] or user["email"] or user["user_id"] or user["visitor_id"] for user in answer["users"]
    ]


@pytest.mark.parametrize(
    ("parameters", "filters"),
    [
        ("", ""),
        ("&sort=revenue", "&sort=revenue"),
        ("&search=ada", "&search=ada"),
        ("&identified=true", "&identified=true"),
        ("&identified=false", "&identified=false"),
        ("&f=country:is:DE", "&country=DE"),
        ("&sort=nonsense", ""),
    ],
)
async def test_people_are_listed_as_the_api_lists_them(shop, parameters, filters):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/people?{shop.dates}{parameters}")
    answer = await shop.read(f"/users?{DATES}{filters}")
    assert answer["users"]
    assert names_in_list(page) == names_of_answer(answer)


async def test_people_pages_follow_each_other(shop, monkeypatch):
    monkeypatch.setattr(people, "PAGE_SIZE", 1)
    person = await shop.sign_in()
    first = await person.get(f"{shop.pages}/people?{shop.dates}")
    following = re.search(r'rel="next" href="([^"]+)"', first.body).group(1).replace("&amp;", "&")
    second = await person.get(following)
    answer = await shop.read(f"/users?{DATES}")
    assert names_in_list(first) + names_in_list(second) == names_of_answer(answer)[:2]


async def test_pages_end_where_the_api_does(shop, monkeypatch):
    monkeypatch.setattr(people, "PAGE_SIZE", 1)
    monkeypatch.setattr(people, "MAX_PAGE_END", 1)
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/people?{shop.dates}")
    assert 'rel="next"' not in page.body
    assert "Only the first 1 people can be paged" in visible_words(page)


async def test_person_page_shows_money_and_the_touch_with_the_credit(shop):
    viewer = await shop.sign_in()
    page = await viewer.get(f"{shop.pages}/people/U-ada")
    answer = await shop.read("/users/U-ada")
    words = visible_words(page)
    assert "<h1>Ada</h1>" in page.body
    for text in ("ada@example.com", "A1", "google / cpc · spring (Paid search)", "Last non-direct touch"):
        assert text in words
    [touch] = [
        touch
        for conversion in answer["conversions"]
        for touch in conversion["attribution"]["touches"]
        if touch["weight"]
    ][:1]
    assert f"{touch['weight'] * 100:.1f} %" in words
    assert f"${answer['user']['lifetime']['revenue']:,.2f}" in words
    assert page.body.count('<div class="conversion">') == len(answer["conversions"])


async def test_person_is_found_by_any_id_and_missing_ones_are_not_found(shop):
    viewer = await shop.sign_in()
    for address in ("people/A1", "people/U-ada", "people/id?id=U-ada"):
        assert "<h1>Ada</h1>" in (await viewer.get(f"{shop.pages}/{address}")).body
    assert (await viewer.get(f"{shop.pages}/people/nobody")).status == 404
    assert (await viewer.get(f"{shop.pages}/people/id?id=%00")).status == 404


async def test_days_choose_how_far_the_timeline_looks_back(shop):
    shop.deployment.clock.now += timedelta(days=60)
    viewer = await shop.sign_in()
    recent = await viewer.get(f"{shop.pages}/people/U-ada?days=30")
    assert "Nothing in the last 30 days" in visible_words(recent)
    assert "google / cpc" in visible_words(await viewer.get(f"{shop.pages}/people/U-ada?days=90"))


@pytest.mark.parametrize(
    ("id_", "path"),
    [
        ("U-ada", "/people/U-ada"),
        ("ann@example.com", "/people/ann%40example.com"),
        ("..", "/people/id?id=.."),
        ("a/b c", "/people/id?id=a%2Fb+c"),
        ("ü", "/people/id?id=%C3%BC"),
    ],
)
def test_ids_that_a_path_changes_stand_in_the_query(id_, path):
    assert person_path({"user_id": id_, "visitor_id": "v"}) == path
