"""Models of attribution side by side: the numbers of the API, and the difference to the last touch."""

import html
import re

import pytest

from hosts.web.attribution import BASE_MODEL, choose_models, describe_difference
from hosts.web.charts.number_format import ValueFormat
from hosts.web.value_words import humanize
from service_core.analytics.attribution.models import AttributionModels
from tests.fixtures.standard_shop import visible_words

MONEY = ValueFormat("currency", "USD")
DATES = "start_date=2026-03-02&end_date=2026-03-12"


def table_of(page):
    """Row head -> texts of its cells, without tags; the heads of the columns under an empty key."""
    body = page.body[page.body.index('<table class="records">') : page.body.index("</table>")]
    rows = {}
    for row in body.split("<tr")[1:]:
        cells = [
            " ".join(re.sub(r"<[^>]+>", " ", cell).split())
            for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
        ]
        rows[cells[0]] = cells[1:]
    return rows


async def test_each_model_shows_the_values_of_the_api(shop):
    person = await shop.sign_in()
    models = shop.deployment.service.component(AttributionModels)
    rule_based = [id_ for id_ in models.by_id if id_ not in {"markov", "shapley"}]
    every = "&".join(f"m_{id_}=1" for id_ in models.by_id)
    for metric, unit in (("revenue", MONEY), ("conversions", ValueFormat("number"))):
        page = await person.get(
            f"{shop.pages}/attribution?{shop.dates}&window_days=30&metric={metric}&{every}"
        )
        rows = table_of(page)
        assert rows["Channels"] == [models.by_id[id_].label for id_ in rule_based]
        for position, model in enumerate(rule_based):
            answer = await shop.read(f"/attribution?{DATES}&model={model}&window_days=30")
            for channel in answer["channels"]:
                shown = rows.get(humanize(channel["channel"]))
                expected = unit.format_in_full_or_dash(channel[metric])
                assert (shown[position] if shown else expected).startswith(expected)
                assert shown or channel[metric] == 0
            assert rows["Total"][position] == unit.format_in_full_or_dash(answer["totals"][metric])
            unattributed = unit.format_in_full_or_dash(answer["unattributed"][metric])
            assert rows["Unattributed No visit within the window"][position].startswith(unattributed)


async def test_unknown_money_is_a_dash_and_explained(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/attribution?{shop.dates}")
    assert "—" in table_of(page)["Total"]
    assert "without an exchange rate" in visible_words(page)


async def test_model_without_enough_data_is_named_and_not_shown_as_zero(shop):
    person = await shop.sign_in()
    words = visible_words(await person.get(f"{shop.pages}/attribution?{shop.dates}&m_markov=1&m_shapley=1"))
    assert "Markov chain is not shown." in words
    assert "Shapley value is not shown." in words


async def test_chosen_models_cost_one_request_each(shop, monkeypatch):
    person = await shop.sign_in()
    paths, dispatch = [], shop.deployment.service.dispatch

    async def count(request):
        paths.append(request.path)
        return await dispatch(request)

    monkeypatch.setattr(shop.deployment.service, "dispatch", count, raising=False)
    page = await person.get(f"{shop.pages}/attribution?{shop.dates}&m_linear=1&group_by=campaign")
    assert sorted(paths) == [*["/v1/attribution"] * 2, "/v1/segments"]
    assert table_of(page)["Campaigns"] == ["Last touch", "Linear"]


async def test_range_without_conversions_says_so(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/attribution?from=2025-01-01&to=2025-01-31")
    assert "nothing to attribute" in visible_words(page)


def test_last_touch_is_always_among_the_chosen_models():
    installed = ["first_touch", BASE_MODEL, "linear", "time_decay", "position"]
    assert choose_models(installed, {}, "time_decay") == installed[:-1]
    assert choose_models(installed, {"m_position": "1", "m_unknown": "1"}, "time_decay") == [
        BASE_MODEL,
        "position",
    ]


@pytest.mark.parametrize(
    ("value", "base", "words"),
    [
        (150, 100, ("+50 %", "up")),
        (50, 100, ("-50 %", "down")),
        (100, 100, ("±0 %", "")),
        (5, 0, ("new", "up")),
        (0, 0, ("", "")),
    ],
)
def test_difference_to_the_last_touch(value, base, words):
    assert describe_difference(value, base) == words


@pytest.mark.parametrize("group_by", ["channel", "campaign", "source"])
async def test_each_number_leads_to_journeys_that_add_up_to_it(shop, group_by):
    person = await shop.sign_in()
    page = await person.get(
        f"{shop.pages}/attribution?{shop.dates}&metric=conversions&group_by={group_by}&m_linear=1&m_markov=1"
    )
    links = re.findall(r'href="([^"]*/attribution/journeys[^"]*)" data-number>([^<]+)</a>', page.body)
    assert len(links) > 2
    assert not [link for link, _ in links if "model=markov" in link]
    for link, number in links:
        listed = await person.get(html.unescape(link))
        assert listed.status == 200
        if number == "0":
            assert "No conversions in this range" in visible_words(listed)
        else:
            assert f"<span data-counted>{number}</span> conversions</h2>" in listed.body, link
            parts = re.findall(
                r'</strong> <span class="amount" data-part-of-count>([^<]+)</span>', listed.body
            )
            assert sum(map(float, parts)) == pytest.approx(float(number), abs=0.02 * len(parts))


async def test_journeys_of_an_unknown_row_or_model_are_no_fault(shop):
    person = await shop.sign_in()
    nobody = await person.get(f"{shop.pages}/attribution/journeys?{shop.dates}&model=linear&channel=nowhere")
    assert "No conversions in this range" in visible_words(nobody)
    refused = await person.get(f"{shop.pages}/attribution/journeys?{shop.dates}&model=markov&channel=email")
    assert refused.status == 200
    assert "has no journeys" in visible_words(refused)
