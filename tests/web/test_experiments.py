"""The page of experiments against the API."""

import html

import pytest

from service_core.analytics.ports import StoreUnavailable
from service_core.testing.event_builder import EventBuilder, utc_instant
from tests.fixtures.standard_shop import visible_words

DATES = "start_date=2026-03-02&end_date=2026-03-12"


async def add_experiment(shop, name, **sizes_and_buyers):
    """Adds an experiment with the number of persons and of buyers of each variant."""
    story = EventBuilder(shop.gallery.workspace.id)
    story._next_seq += 1_000_000 + 10_000 * len(name)  # those of the gallery come before
    for variant, (size, buyers) in sizes_and_buyers.items():
        for number in range(size):
            visitor = f"{name}-{variant}-{number}"
            data = {"experiment_id": name, "variant": variant}
            story.add_event(
                "experiment_viewed", at=utc_instant("2026-03-04"), visitor=visitor, event_data=data
            )
            if number < buyers:
                story.add_event("signup", at=utc_instant("2026-03-05"), visitor=visitor)
    await shop.deployment.service.ports.events.append(story.events)
    return story


async def test_result_is_said_in_words_with_the_numbers_of_the_api(shop):
    await add_experiment(shop, "buy-box", control=(60, 10), new=(60, 40))
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/experiments?{shop.dates}&experiment=buy-box&goal=signup")
    words = visible_words(page)
    answer = await shop.read(f"/experiments/results?{DATES}&experiment=buy-box&goal=signup")
    control, new = answer["variants"]
    assert (control["converted"], new["converted"]) == (10, 40)
    difference = new["conversion_rate_difference"]
    assert f"{difference['low'] * 100:.1f} to {difference['high'] * 100:.1f} percentage points more" in words
    assert "“new” against “control”" in words
    assert "66.7 %" in words
    assert "Only a difference" in words or "No difference in revenue shown" in words


async def test_small_experiment_says_that_nothing_is_shown_and_money_needs_more_people(shop):
    await add_experiment(shop, "tiny", a=(4, 1), b=(4, 2))
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/experiments?{shop.dates}&experiment=tiny&goal=signup")
    words = visible_words(page)
    assert "No difference in conversion shown" in words
    assert "each variant needs at least 30" in words
    assert "Unknown" in words
    gone = await person.get(f"{shop.pages}/experiments?{shop.dates}&experiment=tiny&control=x")
    assert "No variant is called “x”" in visible_words(gone)


async def test_people_of_several_variants_are_left_out_and_linked(shop):
    story = await add_experiment(shop, "mixed-up", a=(2, 0), b=(2, 0))
    data = {"experiment_id": "mixed-up", "variant": "b"}
    story.events.clear()
    story.add_event(
        "experiment_viewed", at=utc_instant("2026-03-06"), visitor="mixed-up-a-0", event_data=data
    )
    await shop.deployment.service.ports.events.append(story.events)
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/experiments?{shop.dates}&experiment=mixed-up")
    assert "Left out: 1 who saw several variants" in visible_words(page)
    assert f"{shop.pages}/people/mixed-up-a-0" in html.unescape(page.body)


async def test_workspace_without_experiments_is_told_how_to_begin(shop):
    person, pages = await shop.open_empty_workspace()
    page = await person.get(f"{pages}/experiments")
    assert "No experiment in this range" in visible_words(page)
    assert "experiment_viewed" in page.body


async def test_unknown_experiment_and_outage_are_cards(shop, monkeypatch):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/experiments?{shop.dates}&experiment=<b>none</b>")
    assert "Nobody saw “<b>none</b>”" in visible_words(page)
    assert "<b>none" not in page.body

    async def fail(*_):
        raise StoreUnavailable

    monkeypatch.setattr(type(shop.deployment.service.ports.events), "read_experiment", fail)
    page = await person.get(f"{shop.pages}/experiments?{shop.dates}&experiment=x")
    assert page.status == 200
    assert "could not be read just now" in visible_words(page)


@pytest.mark.parametrize("view", ["", "&view=ltv"])
async def test_cohorts_are_broken_down_by_the_chosen_dimension(shop, view):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/retention?{shop.dates}{view}&by=first_touch_channel")
    path = "/ltv" if view else "/retention"
    answer = await shop.read(f"{path}?{DATES}&breakdown=first_touch_channel")
    assert answer["groups"]
    words = visible_words(page)
    assert "by first channel" in words
    assert "Everybody" in words
    for group in answer["groups"]:
        assert f'<td class="value">{group["persons"]}</td>' in page.body
    unknown = await person.get(f"{shop.pages}/retention?{shop.dates}{view}&by=mood")
    assert unknown.status == 200
    assert "Everybody" not in visible_words(unknown)


async def test_filters_that_experiments_ignore_are_named(shop):
    await add_experiment(shop, "ignored", control=(2, 0), new=(2, 0))
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/experiments?{shop.dates}&experiment=ignored&f=country:is:DE")
    assert "This page cannot filter by Country" in visible_words(page)
