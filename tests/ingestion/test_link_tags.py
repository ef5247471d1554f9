"""A tag that came alone: the UTM values of its link count as sent."""

import json
from urllib.parse import quote
from uuid import uuid4

import pytest

from service_core.ingestion.ports import TaggedLink
from service_core.testing.ingestion_stubs import WORKSPACE_ID
from tests.ingestion.test_pipeline import ENRICHER, IngestPipeline, Stored, Waiting, sent, shop

UTM = {"utm_source": "Insta", "utm_medium": "social", "utm_campaign": "spring"}
URL = "https://shop.example/"


class Links:
    """One link of the workspace, and how often anybody asked."""

    def __init__(self, utm):
        self.link = TaggedLink(uuid4(), "Reel", targets_app=False, utm=utm)
        self.asked = []

    async def links_by_tag(self, workspace_id, tags):
        self.asked.append((workspace_id, frozenset(tags)))
        return {tag: self.link for tag in tags if tag == "k7m2q9xa" and workspace_id == WORKSPACE_ID}


async def rows(*events, utm=UTM):
    store, links = Stored(), Links(utm)
    await IngestPipeline(Waiting(*events), store, shop, ENRICHER, json.loads, links=links).process_batch()
    return list(store.events.values()), links


async def test_the_values_of_the_link_are_those_of_the_event():
    (event,), links = await rows(sent(1, url=f"{URL}?lyr=k7m2q9xa", lyr="k7m2q9xa"))
    assert (event.utm_source, event.utm_campaign, event.utm_term) == ("Insta", "spring", None)
    assert (event.attribution_source, event.attribution_medium, event.channel) == (
        "insta",
        "social",
        "organic_social",
    )
    assert (event.lyr, event.touchable) == ("k7m2q9xa", True)
    assert links.asked == [(WORKSPACE_ID, {"k7m2q9xa"})]


async def test_an_install_referrer_may_hold_the_tag():
    referrer = f"https://play.google.com/?referrer={quote('lyr=k7m2q9xa')}"
    (event,), _ = await rows(sent(1, "app_install", install_referrer_url=referrer))
    assert event.utm_source == "Insta"


@pytest.mark.parametrize("own", [{"utm_source": "mail"}, {"utm_term": "shoes"}])
async def test_one_value_of_its_own_is_enough_to_borrow_none(own):
    (event,), links = await rows(sent(1, lyr="k7m2q9xa", **own))
    assert {name: getattr(event, name) for name in UTM if name not in own} == dict.fromkeys(UTM.keys() - own)
    assert links.asked == []


async def test_a_click_id_of_its_own_stays_beside_them():
    (event,), _ = await rows(sent(1, lyr="k7m2q9xa", gclid="Cj0"))
    assert (event.utm_source, event.gclid, event.attribution_source) == ("Insta", "Cj0", "insta")


@pytest.mark.parametrize(
    "event", [sent(1, lyr="unknown0"), sent(1), sent(1, lyr="")], ids=["unknown", "none", "empty"]
)
async def test_without_a_link_there_is_nothing_to_borrow(event):
    (row,), _ = await rows(event)
    assert row.utm_source is None


async def test_a_link_without_values_is_a_link_all_the_same():
    (event,), _ = await rows(sent(1, lyr="k7m2q9xa"), utm={})
    assert (event.utm_source, event.channel) == (None, "link")


async def test_a_second_click_on_the_link_is_a_touch_again_and_a_kept_tag_is_none():
    """The address tells: what it holds was sent, though the borrowed values do not stand in it."""
    events, _ = await rows(
        sent(1, url=f"{URL}?lyr=k7m2q9xa", lyr="k7m2q9xa"),
        sent(2, url=f"{URL}cart", lyr="k7m2q9xa"),
        sent(3, url=f"{URL}?lyr=k7m2q9xa", lyr="k7m2q9xa"),
    )
    assert [event.attribution_carried for event in events] == [False, True, False]


async def test_a_batch_asks_once():
    _, links = await rows(*(sent(n, lyr="k7m2q9xa" if n % 2 else "other000") for n in range(20)))
    assert links.asked == [(WORKSPACE_ID, {"k7m2q9xa", "other000"})]
