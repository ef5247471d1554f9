"""A tag that came alone: the UTM values of its link count as sent."""

import json
from urllib.parse import quote
from uuid import uuid4

import pytest

from service_core.ingestion.ports import TaggedLink
from service_core.testing.ingestion_stubs import WORKSPACE_ID
from tests.fixtures.stub_event_stores import StubEventWriter
from tests.fixtures.stub_queues import StubIngestQueue
from tests.ingestion.test_pipeline import (
    ENRICHER,
    IngestPipeline,
    make_workspace_of,
    queued_event,
)

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


async def enriched_rows(*events, utm=UTM):
    store, links = StubEventWriter(), Links(utm)
    await IngestPipeline(
        StubIngestQueue(*events), store, make_workspace_of, ENRICHER, json.loads, links=links
    ).process_batch()
    return list(store.events.values()), links


async def test_event_takes_utm_values_of_its_link():
    (event,), links = await enriched_rows(queued_event(1, url=f"{URL}?lyr=k7m2q9xa", lyr="k7m2q9xa"))
    assert (event.utm_source, event.utm_campaign, event.utm_term) == ("Insta", "spring", None)
    assert (event.attribution_source, event.attribution_medium, event.channel) == (
        "insta",
        "social",
        "organic_social",
    )
    assert (event.lyr, event.touchable) == ("k7m2q9xa", True)
    assert links.asked == [(WORKSPACE_ID, {"k7m2q9xa"})]


async def test_install_referrer_may_hold_the_tag():
    referrer = f"https://play.google.com/?referrer={quote('lyr=k7m2q9xa')}"
    (event,), _ = await enriched_rows(queued_event(1, "app_install", install_referrer_url=referrer))
    assert event.utm_source == "Insta"


@pytest.mark.parametrize("own", [{"utm_source": "mail"}, {"utm_term": "shoes"}])
async def test_own_utm_value_prevents_values_of_the_link(own):
    (event,), links = await enriched_rows(queued_event(1, lyr="k7m2q9xa", **own))
    assert {name: getattr(event, name) for name in UTM if name not in own} == dict.fromkeys(UTM.keys() - own)
    assert links.asked == []


async def test_own_click_id_is_kept_beside_link_values():
    (event,), _ = await enriched_rows(queued_event(1, lyr="k7m2q9xa", gclid="Cj0"))
    assert (event.utm_source, event.gclid, event.attribution_source) == ("Insta", "Cj0", "insta")


@pytest.mark.parametrize(
    "event",
    [queued_event(1, lyr="unknown0"), queued_event(1), queued_event(1, lyr="")],
    ids=["unknown", "none", "empty"],
)
async def test_unknown_link_tag_adds_no_values(event):
    (row,), _ = await enriched_rows(event)
    assert row.utm_source is None


async def test_link_without_utm_values_still_makes_a_touch():
    (event,), _ = await enriched_rows(queued_event(1, lyr="k7m2q9xa"), utm={})
    assert (event.utm_source, event.channel) == (None, "link")


async def test_second_link_click_is_a_touch_and_a_stored_tag_is_not():
    """The address tells: what it holds was sent, though the borrowed values do not stand in it."""
    events, _ = await enriched_rows(
        queued_event(1, url=f"{URL}?lyr=k7m2q9xa", lyr="k7m2q9xa"),
        queued_event(2, url=f"{URL}cart", lyr="k7m2q9xa"),
        queued_event(3, url=f"{URL}?lyr=k7m2q9xa", lyr="k7m2q9xa"),
    )
    assert [event.attribution_carried for event in events] == [False, True, False]


async def test_batch_looks_up_links_once():
    _, links = await enriched_rows(
        *(queued_event(n, lyr="k7m2q9xa" if n % 2 else "other000") for n in range(20))
    )
    assert links.asked == [(WORKSPACE_ID, {"k7m2q9xa", "other000"})]
